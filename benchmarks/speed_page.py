"""The tables of the page's section on speed, from the records alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "speed"
_TOP, _ALL, _FROZEN = "caot, top two layers", "caot, all layers", "caot, frozen encoder"
_NAMES = {"stackoverflow": "StackOverflow", "tweet": "Tweet"}


def record(part: str) -> dict[str, Any]:
    """Return the record of a part."""
    found: dict[str, Any] = json.loads((RESULTS / f"{part}.json").read_text(encoding="utf-8"))
    return found


def step_rows() -> list[str]:
    """Return a row for each data set: how many times faster a step is, and transport's share."""
    rows = []
    for entry in record("steps")["data"]:
        ours = entry["contenders"]
        speeds = [f"{ours[kind]['speedup']:.1f} ×" for kind in (_ALL, _TOP)]
        shares = [f"{100 * ours[kind]['transport_share']:.1f} %" for kind in (_ALL, _TOP, _FROZEN)]
        rows.append(f"| {_NAMES[entry['data']]} | {' | '.join(speeds + shares)} |")
    return rows


def prediction_rows() -> list[str]:
    """Return a row for each way to predict: texts a second, and two ratios."""
    rows = []
    for name, found in record("prediction")["contenders"].items():
        ratios = [f"{ratio:.2f} ×" for ratio in found["speedup"].values()]
        rows.append(f"| {name} | {found['texts_per_second']:.0f} | {' | '.join(ratios)} |")
    return rows


def fit_rows() -> list[str]:
    """Return a row for each number of texts: accuracy and seconds of each method."""
    rows = []
    for size in record("fits")["sizes"]:
        cells = [
            f"{100 * found['accuracy']:.1f} %, {found['seconds']:.0f} s"
            for found in size["contenders"].values()
        ]
        rows.append(f"| {size['n_texts']:,} | {' | '.join(cells)} |")
    return rows


def growth_rows() -> list[str]:
    """Return a row for each number of texts: seconds, growth and peak memory."""
    rows = record("growth")["rows"]
    first = rows[0]["seconds"]
    return [
        f"| {row['n_texts']:,} | {row['seconds']:.0f} | {row['seconds'] / first:.2f} | "
        f"{row['encoding_seconds']:.0f} | {row['peak_mb']:.0f} |"
        for row in rows
    ]


def rival_rows() -> list[str]:
    """Return a row for each number of texts: seconds and growth of the methods beside ours."""
    found = record("growth").get("rivals", {}).values()
    lines: list[str] = []
    for rows in zip(*(rival["rows"] for rival in found), strict=True):
        cells = [
            f"{row['seconds']:.0f} | {row['seconds'] / rival['rows'][0]['seconds']:.2f}"
            for row, rival in zip(rows, found, strict=True)
        ]
        lines.append(f"| {rows[0]['n_texts']:,} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print all rows, to be put into the page."""
    for rows in (step_rows(), prediction_rows(), fit_rows(), growth_rows(), rival_rows()):
        print("\n".join(rows), end="\n\n")


if __name__ == "__main__":
    main()
