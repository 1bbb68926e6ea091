"""How training went, as a row of small charts over the iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caot.report.charts import Band, Chart, Scale, plot_scales

if TYPE_CHECKING:
    from caot.training import History

_HEIGHT = 180
# More points than pixels only blur the line.
_MOST_POINTS = 240
# A name needs about this many pixels a letter.
_LETTER = 6.0

_LOSSES = (
    ("loss", "Total loss", "the weighted sum that is minimised"),
    ("instance_loss", "Instance loss", "two views of a text are drawn together"),
    ("attention_loss", "Attention loss", "similar texts are drawn together"),
    ("pseudo_label_loss", "Pseudo-label loss", "predictions follow their targets"),
)


def training_charts(history: History) -> tuple[Chart, ...]:
    """Return charts of the losses that had a part, the change rate (Eq. 28) and the objective."""
    n_iter = len(history.loss)
    if n_iter == 0:
        return ()
    iterations = np.arange(n_iter)
    charts = [
        _line_chart(title, meaning, iterations, getattr(history, name), history.stage)
        for name, title, meaning in _LOSSES
        if np.isfinite(getattr(history, name)).any()
    ]
    charts += [
        _line_chart(
            title, meaning, history.target_iteration, values, history.stage, percent=percent
        )
        for title, meaning, values, percent in (
            (
                "Change rate",
                "pseudo-labels that differ from the text's last one",
                history.change_rate,
                True,
            ),
            ("Transport objective", "what the pseudo-labels minimise", history.objective, False),
        )
        if np.isfinite(values).any()
    ]
    return tuple(charts)


def stage_bounds(stage: NDArray[np.str_]) -> list[tuple[str, int, int]]:
    """Return name, first iteration and the one after the last, of each run of a stage."""
    changes = np.flatnonzero(stage[1:] != stage[:-1]) + 1
    starts = [0, *changes.tolist()]
    ends = [*changes.tolist(), len(stage)]
    return [(str(stage[a]), a, b) for a, b in zip(starts, ends, strict=True)]


def _line_chart(
    title: str,
    meaning: str,
    iterations: NDArray[np.int64],
    values: NDArray[np.float64],
    stage: NDArray[np.str_],
    *,
    percent: bool = False,
) -> Chart:
    x_values, y_values = thin(iterations, values)
    finite = y_values[np.isfinite(y_values)]
    low, high = float(finite.min()), float(finite.max())
    if percent:
        low = 0.0
    room = (high - low) * 0.06 or abs(high) * 0.1 or 0.1
    x, y = plot_scales(
        (0, max(len(stage), 1)), (low if percent else low - room, high + room), _HEIGHT
    )
    known = values[np.isfinite(values)]
    first, last = float(known[0]), float(known[-1])
    shown = "{:.1%}" if percent else "{:.3g}"
    return Chart(
        title=title,
        summary=f"{meaning}: {shown.format(first)} → {shown.format(last)}",
        x_title="iteration",
        x_ticks=x.ticks(4),
        y_ticks=y.ticks(4, percent=percent),
        bands=_bands(stage, x),
        path=path(x_values, y_values, x, y),
        height=_HEIGHT,
    )


def _bands(stage: NDArray[np.str_], x: Scale) -> tuple[Band, ...]:
    bands = []
    for name, first, end in stage_bounds(stage):
        width = round(x(end) - x(first), 1)
        has_room = width > _LETTER * len(name) + 8
        bands.append(Band(x(first), width, name if has_room else ""))
    return tuple(bands)


def thin(
    iterations: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return at most 240 points, each the mean of its neighbours; NaN where all of them are."""
    n_bins = min(len(values), _MOST_POINTS)
    bins = np.arange(len(values)) * n_bins // len(values)
    finite = np.isfinite(values)
    counts = np.bincount(bins, finite, minlength=n_bins)
    sums = np.bincount(bins, np.where(finite, values, 0), minlength=n_bins)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    middles = np.bincount(bins, iterations, minlength=n_bins) / np.bincount(bins, minlength=n_bins)
    return middles, means


def path(x_values: NDArray[np.float64], y_values: NDArray[np.float64], x: Scale, y: Scale) -> str:
    """Return an SVG path through the points, broken where a value is missing."""
    parts: list[str] = []
    is_drawing = False
    for at, value in zip(x_values.tolist(), y_values.tolist(), strict=True):
        if np.isfinite(value):
            parts.append(f"{'L' if is_drawing else 'M'}{x(at):g} {y(value):g}")
        is_drawing = bool(np.isfinite(value))
    return "".join(parts)
