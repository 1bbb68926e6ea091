"""The paper's figures, drawn from records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from caot.bench import suites
from caot.bench.cells import Cell
from caot.bench.datasets import DATASETS
from caot.bench.document import Picture
from caot.bench.records import CellRecord
from caot.bench.summaries import Results
from caot.bench.tables import learning_cell, row_title
from caot.bench.variants import GRIDS, VARIANTS

_NAMES = {"epsilon": "ε1", "imbalance": "ε2", "consistency": "ε3", "contrast_weight": "λ"}
_COLOURS = ("#3366aa", "#dd7722", "#228855", "#aa3377", "#777777", "#aa9911", "#5599cc", "#553388")


def _faithful(**changes: Any) -> Cell:  # noqa: ANN401 - any part of a cell
    return replace(Cell("", "caot-faithful", max_iter=1000), **changes)


def draw_sensitivity(results: Results, figure: Any) -> bool:  # noqa: ANN401 - matplotlib's
    """Draw accuracy along the four grids; return whether there was anything to draw."""
    drawn = False
    panels = figure.subplots(1, 4, sharey=True)
    for axes, (parameter, values) in zip(panels, GRIDS.items(), strict=True):
        for colour, data in zip(_COLOURS, suites.FOUR, strict=False):
            found = [
                results.summary(_faithful(dataset=data, variant=f"{parameter}={value:g}"))
                for value in values
            ]
            points = [(place, s.mean) for place, s in enumerate(found) if s is not None]
            if points:
                drawn = True
                axes.plot(*zip(*points, strict=True), "o-", color=colour, label=_title(data))
        axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        axes.set_xlabel(_NAMES[parameter])
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy, %")
    if drawn:
        panels[0].legend(frameon=False, fontsize=8)
    return drawn


def draw_convergence(results: Results, figure: Any) -> bool:  # noqa: ANN401
    """Draw the change rate over the interactive stage, and its end apart."""
    drawn = False
    left, right = figure.subplots(1, 2)
    for colour, data in zip(_COLOURS, suites.EIGHT, strict=True):
        for record in results.of(_faithful(dataset=data, max_iter=2000))[:1]:
            width, values = record.content["change_rate"]["bin"], record.content["change_rate"]
            rates = [100 * value for value in values["values"]]
            steps = [width * (place + 0.5) for place in range(len(rates))]
            late = len(rates) * 4 // 5
            left.plot(steps, rates, color=colour, label=_title(data), linewidth=1)
            right.plot(steps[late:], rates[late:], color=colour, linewidth=1)
            drawn = True
    for axes in (left, right):
        axes.set_xlabel("iteration of the interactive stage")
        axes.grid(alpha=0.3)
    left.set_ylabel("change rate, %")
    if drawn:
        left.legend(frameon=False, fontsize=8)
    return drawn


def draw_features(results: Results, figure: Any) -> bool:  # noqa: ANN401
    """Draw the NS measure over training, method by method, mean and range over seeds."""
    drawn = False
    panels = figure.subplots(1, 2)
    learning = [learning_cell(method) for method in ("caot-faithful", *suites.RIVALS)]
    kinds = [_faithful(), *learning]
    for axes, data in zip(panels, ("searchsnippets", "googlenews-ts"), strict=True):
        axes.set_title(_title(data))
        axes.set_xlabel("share of the iterations, %")
        axes.grid(alpha=0.3)
        for colour, kind in zip(_COLOURS, kinds, strict=False):
            found = results.of(replace(kind, dataset=data))
            records = [record for record in found if record.content.get("ns")]
            if records:
                drawn = True
                _draw_ns(axes, records, colour, row_title(kind))
    panels[0].set_ylabel("NS")
    if drawn:
        names = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
        names |= dict(zip(*reversed(panels[1].get_legend_handles_labels()), strict=True))
        place = {"loc": "outside lower center", "ncols": 1}
        figure.legend(names.values(), names.keys(), frameon=False, fontsize=8, **place)
    return drawn


def _draw_ns(axes: Any, records: list[CellRecord], colour: str, title: str) -> None:  # noqa: ANN401
    points = records[0].content["ns"]
    last = max(points[-1]["iteration"], 1)
    steps = [100 * point["iteration"] / last for point in points]
    curves = [[point["value"] or 0.0 for point in r.content["ns"]] for r in records]
    columns = list(zip(*curves, strict=True))
    axes.plot(steps, [sum(c) / len(c) for c in columns], color=colour, label=title)
    lowest, highest = [min(c) for c in columns], [max(c) for c in columns]
    axes.fill_between(steps, lowest, highest, color=colour, alpha=0.2)


def draw_couplings(results: Results, figure: Any) -> bool:  # noqa: ANN401
    """Draw the soft targets of five samples of each class, kind by kind."""
    kinds = ("prediction", "adaptive", "full")
    panels = figure.subplots(3, 1, sharex=True)
    drawn = False
    for axes, variant in zip(panels, kinds, strict=True):
        axes.set_title(VARIANTS[variant].title if variant != "full" else "consistent", fontsize=9)
        records = results.of(_faithful(dataset="stackoverflow", variant=variant))
        for record in records:
            if "coupling" in record.content:
                matrix = record.content["coupling"]["matrix"]
                axes.imshow(_sorted_clusters(matrix), aspect="auto", cmap="Blues", vmin=0, vmax=1)
                drawn = True
        axes.set_ylabel("cluster")
    panels[-1].set_xlabel("sample, five of each class")
    return drawn


def _sorted_clusters(matrix: list[list[float]]) -> list[list[float]]:
    """Return samples as columns, and clusters as rows in the order that samples reach them."""
    plan = np.asarray(matrix).T  # (k, samples)
    n_classes = plan.shape[0]
    by_class = plan.reshape(n_classes, n_classes, -1).sum(axis=2)
    clusters, classes = linear_sum_assignment(by_class, maximize=True)
    ordered: list[list[float]] = plan[clusters[np.argsort(classes)]].tolist()
    return ordered


def _title(data: str) -> str:
    return DATASETS[data].title


_FIGURES: Mapping[str, tuple[str, str, tuple[float, float], Callable[[Results, Any], bool]]] = {
    "The effect of ε1, ε2, ε3 and λ": (
        "sensitivity.svg",
        "Accuracy along the paper's grids",
        (12, 3),
        draw_sensitivity,
    ),
    "Convergence": (
        "convergence.svg",
        "Change rate of the pseudo-labels; on the right its last fifth",
        (10, 3.5),
        draw_convergence,
    ),
    "The quality of the representations": (
        "ns.svg",
        "NS over each method's training, mean and range over seeds; above 1 where texts of "
        "different classes have negative cosines",
        (9, 4),
        draw_features,
    ),
    "Kinds of pseudo-labels": (
        "couplings.svg",
        "Soft targets of five StackOverflow samples of each class",
        (9, 6),
        draw_couplings,
    ),
}


def draw_figures(results: Results, folder: Path) -> dict[str, Picture]:
    """Draw what there are records for; return section title → picture."""
    from matplotlib import rc_context  # noqa: PLC0415 - the extra "plots"
    from matplotlib.figure import Figure  # noqa: PLC0415

    drawn: dict[str, Picture] = {}
    for title, (name, caption, size, draw) in _FIGURES.items():
        figure = Figure(figsize=size, layout="constrained")
        if draw(results, figure):
            folder.mkdir(parents=True, exist_ok=True)
            # The same records give the same file.
            with rc_context({"svg.hashsalt": "caot"}):
                figure.savefig(folder / name, metadata={"Date": None})
            drawn[title] = Picture(name, caption)
    return drawn
