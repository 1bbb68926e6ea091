"""The records of the speed benchmark as one picture, a panel for each part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from benchmarks.speed_fits import BERTOPIC, KMEANS, OURS, OURS_VECTORS
from benchmarks.speed_prediction import PADDED, SENTENCE
from benchmarks.speed_steps import ALL, PUBLIC, TOP

Record = Mapping[str, Any]

# Distinct to colour-blind readers (Okabe and Ito's palette).
_OURS, _OTHERS, _PUBLISHED = "#0072B2", "#999999", "#D55E00"
_FITS = {
    KMEANS: ("#999999", "s"),
    OURS: ("#0072B2", "o"),
    OURS_VECTORS: ("#56B4E9", "D"),
    BERTOPIC: ("#D55E00", "^"),
}
_NAMES = {"stackoverflow": "StackOverflow", "tweet": "Tweet"}


def plot_records(records: Mapping[str, Record], path: Path) -> None:
    """Draw the parts that have a record, two panels a row, and write them to ``path`` as PNG."""
    panels: dict[str, Callable[[Axes, Record], None]] = {
        "steps": _draw_steps,
        "prediction": _draw_prediction,
        "fits": _draw_fits,
        "growth": _draw_growth,
    }
    shown = [part for part in panels if part in records]
    n_rows, n_columns = (len(shown) + 1) // 2, min(2, len(shown))
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(6.5 * n_columns, 3.8 * n_rows), layout="constrained")
        FigureCanvasAgg(figure)
        # Figures of their own: the long names of one panel take no room from the panel below.
        parts = figure.subfigures(n_rows, n_columns, squeeze=False).ravel()
        for part, place in zip(shown, parts, strict=False):
            panels[part](place.subplots(), records[part])
        figure.savefig(path, dpi=120)


def _bars(panel: Axes, names: Sequence[str], values: Sequence[float], ours: Sequence[bool]) -> None:
    colours = [_OURS if own else _OTHERS for own in ours]
    bars = panel.barh(range(len(names)), values, color=colours)
    panel.bar_label(bars, [f"{value:.3g}×" for value in values], padding=3)
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.margins(x=0.15)


def _draw_steps(panel: Axes, record: Record) -> None:
    names, values, ours = [], [], []
    for entry in record["data"]:
        data = _NAMES.get(entry["data"], entry["data"])
        for contender in (PUBLIC, ALL, TOP):
            names.append(f"{data}, {contender}")
            values.append(entry["contenders"][contender]["speedup"])
            ours.append(contender != PUBLIC)
    _bars(panel, names, values, ours)
    panel.set(title="A fine-tuning step", xlabel="times as fast as public code's pattern")


def _draw_prediction(panel: Axes, record: Record) -> None:
    rows = record["contenders"]
    values = [row["speedup"][SENTENCE] for row in rows.values()]
    _bars(panel, list(rows), values, [name not in (SENTENCE, PADDED) for name in rows])
    panel.set(title="Prediction", xlabel="times as fast as encode + K-means")


def _draw_fits(panel: Axes, record: Record) -> None:
    sizes = record["sizes"]
    values = [entry["n_texts"] for entry in sizes]
    for name, (colour, marker) in _FITS.items():
        if any(name not in entry["contenders"] for entry in sizes):
            continue
        rows = [entry["contenders"][name] for entry in sizes]
        times = [row["seconds"] for row in rows]
        label = f"{name}: {rows[-1]['accuracy']:.0%}"
        panel.plot(values, times, color=colour, marker=marker, markersize=5, label=label)
    panel.set(xscale="log", yscale="log", ylabel="seconds", xlabel="number of texts")
    panel.set_title("A whole fit on given embeddings")
    _plain_ticks(panel, values)
    title = f"accuracy on\n{values[-1]:,} texts"
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    panel.legend(frameon=False, fontsize=8, title=title, title_fontsize=9, **beside)


def _draw_growth(panel: Axes, record: Record) -> None:
    values = [row["n_texts"] for row in record["rows"]]
    curves = {
        "whole fit": (record["growth"], _OURS, "o"),
        "training steps": (record["training_growth"], "#56B4E9", "D"),
    }
    if len(values) == len(record["published_growth"]):
        curves["published, on a GPU"] = (record["published_growth"], _PUBLISHED, "^")
    for (method, rival), marker in zip(record.get("rivals", {}).items(), "sv", strict=False):
        curves[f"whole fit of {method.upper()}"] = (rival["growth"], _OTHERS, marker)
    for label, (growth, colour, marker) in curves.items():
        panel.plot(values, growth, color=colour, marker=marker, markersize=5, label=label)
    panel.set(xscale="log", ylabel=f"time, {values[0]:,} texts = 1", xlabel="number of texts")
    panel.set_ylim(bottom=0)
    panel.set_title(f"Growth; memory {record['kb_per_text']:.1f} kB a text")
    _plain_ticks(panel, values)
    panel.legend(frameon=False, fontsize=8)


def _plain_ticks(panel: Axes, values: Sequence[int]) -> None:
    panel.set_xticks(values)
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.grid(axis="y", alpha=0.25)
