"""Pictures as plain geometry, which the template draws as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 360, 215
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 16, 14, 38


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis, at a pixel."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; ``cluster`` is the number of its colour, −1 for the neutral one."""

    x: float
    y: float
    width: float
    height: float
    cluster: int
    title: str


@dataclass(frozen=True, slots=True)
class Span:
    """A vertical range with a dot at its middle value."""

    x: float
    low: float
    high: float
    middle: float
    cluster: int
    title: str


@dataclass(frozen=True, slots=True)
class Band:
    """A part of the horizontal axis with a name; the name is empty where it has no room."""

    x: float
    width: float
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One picture, in pixels of a canvas of ``width`` × ``height``."""

    title: str
    summary: str
    x_title: str
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    bars: tuple[Bar, ...] = ()
    spans: tuple[Span, ...] = ()
    bands: tuple[Band, ...] = ()
    path: str = ""
    rule: Tick | None = None
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def left(self) -> int:
        """Left end of the plot."""
        return _LEFT

    @property
    def right(self) -> int:
        """Right end of the plot."""
        return self.width - _RIGHT

    @property
    def top(self) -> int:
        """Upper end of the plot."""
        return _TOP

    @property
    def bottom(self) -> int:
        """Lower end of the plot."""
        return self.height - _BOTTOM


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value, to a tenth."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, count: int = 5, *, percent: bool = False) -> tuple[Tick, ...]:
        """Return about ``count`` marks at round values."""
        values = nice_values(self.low, self.high, count)
        step = values[1] - values[0] if len(values) > 1 else abs(self.high) or 1.0
        return tuple(Tick(self(v), _tick_label(v, step, percent)) for v in values)


def nice_values(low: float, high: float, count: int) -> list[float]:
    """Return round values (1, 2 or 5 times a power of ten apart) within [low, high]."""
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _tick_label(value: float, step: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.0f}%"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{decimals}f}"


def plot_scales(
    x_range: tuple[float, float], y_range: tuple[float, float], height: int = HEIGHT
) -> tuple[Scale, Scale]:
    """Return the scales of both axes of a chart."""
    return (
        Scale(*x_range, _LEFT, WIDTH - _RIGHT),
        Scale(*y_range, height - _BOTTOM, _TOP),
    )


def size_chart(
    sizes: NDArray[np.int64], labels: Sequence[str], order: Sequence[int], total: int
) -> Chart:
    """Return columns of the cluster sizes, the largest first, with the even share as a line."""
    k = len(sizes)
    x, y = plot_scales((0, k), (0, float(sizes.max()) * 1.05))
    slot = (x.end - x.start) / k
    gap = min(3.0, slot * 0.2)
    bars = tuple(
        Bar(
            x=round(x(rank) + gap / 2, 2),
            y=y(sizes[j]),
            width=round(slot - gap, 2),
            height=round(y.start - y(sizes[j]), 1),
            cluster=j,
            title=f"{labels[j]}: {sizes[j]:,} texts, {sizes[j] / total:.1%}",
        )
        for rank, j in enumerate(order)
    )
    even = float(sizes.mean())
    return Chart(
        title="How large the clusters are",
        summary=(
            f"Sizes of {k} clusters, from {sizes.max():,} down to {sizes.min():,} texts; "
            f"an even share would be {even:,.0f}."
        ),
        x_title="clusters, largest first",
        y_ticks=y.ticks(),
        bars=bars,
        rule=Tick(y(even), f"even share {even:,.0f}"),
    )


def confidence_chart(confidence: NDArray[np.float64], n_bins: int = 20) -> Chart:
    """Return a histogram of the confidence of all texts."""
    edges = np.linspace(0, 1, n_bins + 1)
    counts, _ = np.histogram(confidence.clip(0, 1), bins=edges)
    x, y = plot_scales((0, 1), (0, float(counts.max()) * 1.05))
    bars = tuple(
        Bar(
            x=round(x(low) + 1, 1),
            y=y(count),
            width=round(x(high) - x(low) - 2, 1),
            height=round(y.start - y(count), 1),
            cluster=-1,
            title=f"{100 * low:.0f}–{100 * high:.0f}%: {count:,} texts",
        )
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    return Chart(
        title="How sure the model is",
        summary=(
            f"Histogram of confidence: the median is {np.median(confidence):.0%}, "
            f"{(confidence < 0.5).mean():.1%} of the texts are below 50%."
        ),
        x_title="confidence of a text",
        x_ticks=x.ticks(5, percent=True),
        y_ticks=y.ticks(),
        bars=bars,
    )


def spread_chart(
    confidence: NDArray[np.float64],
    positions: NDArray[np.int64],
    labels: Sequence[str],
    order: Sequence[int],
) -> Chart:
    """Return for each cluster the range that holds the middle 80% of its confidences."""
    x, y = plot_scales((0, len(order)), (0, 1))
    spans = []
    for rank, j in enumerate(order):
        low, middle, high = np.quantile(confidence[positions == j], [0.1, 0.5, 0.9])
        spans.append(
            Span(
                x=x(rank + 0.5),
                low=y(low),
                high=y(high),
                middle=y(middle),
                cluster=j,
                title=f"{labels[j]}: median {middle:.0%}, 80% between {low:.0%} and {high:.0%}",
            )
        )
    return Chart(
        title="How sure it is in each cluster",
        summary="Median confidence of each cluster, with the range of the middle 80% of its texts.",
        x_title="clusters, largest first",
        y_ticks=y.ticks(percent=True),
        spans=tuple(spans),
    )
