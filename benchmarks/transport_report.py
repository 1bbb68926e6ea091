"""The record of the transport benchmark as tables and as a plot of its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from benchmarks.records import print_table
from benchmarks.transport_problems import Case

# Distinct to colour-blind readers, and each with a marker of its own (Okabe and Ito's palette).
_STYLES = {
    "POT sinkhorn_log": ("POT sinkhorn_log, 100 steps", "#999999", "s"),
    "alternating": ("caot, alternating", "#E69F00", "^"),
    "joint": ("caot, joint", "#0072B2", "o"),
}
_AXES = {
    "n_samples": "number of samples n (k = {0[n_clusters]})",
    "n_clusters": "number of clusters k (n = {0[n_samples]})",
}


def print_report(record: Mapping[str, Any]) -> None:
    """Print speed, early stopping and memory as tables."""
    for entry in record["speed"]:
        _print_speed(entry)
    _print_stopping(record["stopping"])
    _print_memory(record["memory"])


def _print_speed(entry: Mapping[str, Any]) -> None:
    aim = f"; aim for 100 steps: ≥ {entry['aim']:g}×" if entry["aim"] else ""
    aim += {True: ", met", False: ", missed", None: ""}[entry["aim_met"]]
    rows = []
    for name, row in entry["contenders"].items():
        steps = [str(row.get(key, "")) for key in ("n_outer", "n_inner", "status")]
        agreement = f"{row['agreement']:.1%}" if "agreement" in row else ""
        speed = f"{row['speedup']:.1f}×"
        rows.append([name, f"{row['milliseconds']:.2f}", speed, *steps, agreement])
    header = ["solver", "ms", "speed", "outer", "inner", "status", "same labels"]
    print_table(Case(**entry["case"]).name + aim, header, rows)


def _print_stopping(entries: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for entry in entries:
        case = Case(**entry["case"])
        batches = f"{case.name}, {case.sizes}, margin {case.margin:g}"
        for name, row in entry["schemes"].items():
            shares = [f"{row['converged']:.0%}", f"{row['stopped_early']:.0%}"]
            steps = [f"{row['n_outer']:.1f}", f"{row['n_inner']:.1f}", f"{row['mass_change']:.1e}"]
            rows.append([batches, name, *shares, *steps, f"{entry['agreement']:.1%}"])
    header = ["batches", "scheme", "converged", "early", "outer", "inner", "b moves", "same labels"]
    print_table("Early stopping, means over random batches", header, rows)


def _print_memory(memory: Mapping[str, Any]) -> None:
    rows = []
    for name, row in memory["schemes"].items():
        sizes = zip(row["seconds"], row["peak_bytes"], strict=True)
        cells = [f"{seconds:.2f} s, {peak / 1e6:.0f} MB" for seconds, peak in sizes]
        slope = f"{row['bytes_per_sample']:.0f} (R² = {row['r_squared']:.5f})"
        rows.append([name, *cells, slope])
    header = ["scheme", *(f"n = {n:,}" for n in memory["n_samples"]), "bytes a sample"]
    print_table(f"Whole data, 15 neighbours, k = {memory['n_clusters']}", header, rows)


def plot_cost(growth: Mapping[str, Any], path: Path) -> None:
    """Draw one panel for each axis of ``growth`` and write it to ``path`` as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(10, 4), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(growth), sharey=True, squeeze=False)[0]
        for panel, (axis, measured) in zip(panels, growth.items(), strict=True):
            _draw(panel, axis, measured)
        panels[0].set_ylabel("milliseconds a solve")
        panels[0].legend(frameon=False)
        figure.savefig(path, dpi=120)


def _draw(panel: Axes, axis: str, measured: Mapping[str, Any]) -> None:
    cases = measured["cases"]
    values = [case[axis] for case in cases]
    for name, (label, colour, marker) in _STYLES.items():
        cost = [case["milliseconds"][name] for case in cases]
        panel.plot(values, cost, color=colour, marker=marker, markersize=5, label=label)
    panel.set(xscale="log", yscale="log", xlabel=_AXES[axis].format(cases[0]))
    panel.set_xticks(values)
    panel.tick_params(labelsize=9)
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.grid(axis="y", alpha=0.25)
    limit = measured["dense_up_to"]
    if axis == "n_samples" and values[0] <= limit < values[-1]:
        first_sparse = min(value for value in values if value > limit)
        edge = (limit * first_sparse) ** 0.5
        panel.axvline(edge, color="0.7", linewidth=1, linestyle=":")
        side: dict[str, Any] = {
            "transform": panel.get_xaxis_transform(),
            "color": "0.4",
            "fontsize": 9,
        }
        panel.text(edge / 1.08, 0.02, "dense similarity", ha="right", **side)
        panel.text(edge * 1.08, 0.02, "15 neighbours", ha="left", **side)
