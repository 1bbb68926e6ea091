"""The records of the speed benchmark as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.records import print_table
from benchmarks.speed_prediction import PADDED, SENTENCE
from benchmarks.speed_steps import PUBLIC

Record = Mapping[str, Any]


def print_part(part: str, record: Record) -> None:
    """Print the record of one part."""
    printers: dict[str, Callable[[Record], None]] = {
        "steps": _print_steps,
        "prediction": _print_prediction,
        "fits": _print_fits,
        "growth": _print_growth,
    }
    printers[part](record)


def _print_steps(record: Record) -> None:
    header = ["", "ms", "speed", "needed", "transport", "allowed"]
    for entry in record["data"]:
        rows = []
        for name, row in entry["contenders"].items():
            needed, limit = record["required"].get(name), record["transport_share_limit"].get(name)
            rows.append(
                [
                    name,
                    f"{row['milliseconds']:.0f}",
                    f"{row['speedup']:.1f}×",
                    "" if needed is None else f"{needed:g}×, {_met(row['required_met'])}",
                    f"{row['transport_share']:.1%}",
                    "" if limit is None else f"{limit:.0%}, {_met(row['transport_share_met'])}",
                ]
            )
        title = f"A step on {entry['data']}, {entry['mean_tokens']:.1f} tokens a text; with its "
        title += "part of the lower layers, computed once, the top two layers are "
        title += f"{entry['lower_layers_once']['speedup_with_its_part']:.1f}× as fast"
        print_table(f"{title} as {PUBLIC}", header, rows)


def _print_prediction(record: Record) -> None:
    rows = []
    for name, row in record["contenders"].items():
        met = row["required_met"]
        same = "" if row["same_labels"] is None else f"{row['same_labels']:.2%}"
        speeds = [
            f"{row['speedup'][other]:.2f}×" + ("" if met is None else f", {_met(met[other])}")
            for other in (SENTENCE, PADDED)
        ]
        rows.append([name, f"{row['texts_per_second']:.0f}", *speeds, same])
    header = ["", "texts a second", "to encode + K-means", "to padding", "same labels"]
    print_table(f"Labels for {record['n_texts']:,} texts", header, rows)
    for trial in record["trials"]:
        if not trial["accepted"]:
            print(f"{trial['backend']} is not used: {trial['reason']}")


def _print_fits(record: Record) -> None:
    rows = []
    for entry in record["sizes"]:
        for name, row in entry["contenders"].items():
            shares = [f"{row['accuracy']:.1%}", f"{row['nmi']:.1%}"]
            found = [f"{row['n_found']:.0f}", f"{row['without_cluster']:.0%}"]
            rows.append([name, f"{entry['n_texts']:,}", f"{row['seconds']:.1f}", *shares, *found])
    header = ["", "texts", "seconds", "accuracy", "NMI", "clusters", "without one"]
    print_table("Fits on the same embeddings", header, rows)
    for missing in record["missing"]:
        print(f"not measured: {missing}")


def _print_growth(record: Record) -> None:
    parts = ("seconds", "before_training_seconds", "training_seconds", "after_training_seconds")
    rows = [
        [
            f"{row['n_texts']:,}",
            *(f"{row[part]:.1f}" for part in parts),
            f"{whole:.2f}",
            f"{steps:.2f}",
            f"{row['encoding_seconds']:.0f}",
            f"{row['peak_mb']:.0f}",
        ]
        for row, whole, steps in zip(
            record["rows"], record["growth"], record["training_growth"], strict=True
        )
    ]
    header = ["texts", "seconds", "before", "steps", "after", "growth", "of steps", "encoding, s"]
    slope = f"{record['kb_per_text']:.1f} kB a text"
    if record["r_squared"] is not None:
        slope += f" (R² = {record['r_squared']:.4f})"
    published = " : ".join(f"{value:.2f}" for value in record["published_growth"])
    title = f"{record['max_iter']} iterations on embeddings; {slope}; published growth {published}"
    print_table(title, [*header, "peak, MB"], rows)
    for method, rival in record.get("rivals", {}).items():
        cells = [[f"{row['n_texts']:,}", f"{row['seconds']:.1f}"] for row in rival["rows"]]
        rows = [[*cell, f"{g:.2f}"] for cell, g in zip(cells, rival["growth"], strict=True)]
        print_table(f"{method}, the same iterations", ["texts", "seconds", "growth"], rows)
    mapped = record["mapped"]
    n_rows, width = mapped["shape"]
    print(
        f"\n{n_rows:,} × {width} memory-mapped, {mapped['max_iter']} iterations: "
        f"{mapped['seconds']:.0f} s, peak {mapped['peak_gb']:.2f} GB, below "
        f"{mapped['limit_gb']:g} GB: {_met(mapped['limit_met'])}"
    )


def _met(value: bool) -> str:
    return "met" if value else "missed"
