"""The confusion matrix as a picture: an SVG string that needs no plotting library."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_COLOUR = "#0072B2"
_MOST_NUMBERED = 40  # beyond this many rows or columns, numbers would not be legible
_LONGEST_NAME = 28
# XML has no way to write these, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def confusion_svg(
    counts: NDArray[np.int64], classes: Sequence[str], clusters: Sequence[str]
) -> str:
    """Return an ``<svg>`` element with a cell for each class (row) and cluster (column).

    A cell is as dark as its share of the class; empty cells are left out. Names may hold anything:
    they are escaped.

    Parameters
    ----------
    counts : array of shape (n_classes, n_clusters)
        Texts of each class in each cluster.
    classes, clusters : sequences of str
        Names of rows and columns.
    """
    if counts.shape != (len(classes), len(clusters)) or not counts.size:
        raise ValueError(
            f"counts is {counts.shape} for {len(classes)} classes and {len(clusters)} clusters: "
            "give a row for each class and a column for each cluster."
        )
    numbered = max(counts.shape) <= _MOST_NUMBERED
    cell = 34 if numbered else max(4, 1000 // max(counts.shape))
    font = 12 if numbered else min(12, cell)
    left = 24 + int(0.62 * font * max(len(_short(name)) for name in classes))
    top = 24 + int(0.62 * font * max(len(_short(name)) for name in clusters))
    width, height = left + cell * len(clusters) + 12, top + cell * len(classes) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="{font}" '
        'fill="currentColor">',
        "<title>Texts of each true class (row) in each cluster (column)</title>",
        *(_name(name, left - 6, top + cell * (i + 0.5), 0) for i, name in enumerate(classes)),
        *(_name(name, left + cell * (j + 0.5), top - 6, 90) for j, name in enumerate(clusters)),
        f'<rect x="{left}" y="{top}" width="{cell * len(clusters)}" '
        f'height="{cell * len(classes)}" fill="none" stroke="currentColor" stroke-opacity="0.3"/>',
    ]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    for i, j in np.argwhere(counts > 0):
        x, y = left + cell * int(j), top + cell * int(i)
        tip = f"{classes[i]}, cluster {clusters[j]}: {counts[i, j]} texts"
        parts.append(_cell(x, y, cell, float(shares[i, j]), tip))
        if numbered:
            parts.append(_number(x + cell / 2, y + cell / 2, int(counts[i, j]), shares[i, j] > 0.5))
    parts.append("</svg>")
    return "\n".join(parts)


def _cell(x: int, y: int, size: int, share: float, tip: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="{_COLOUR}" '
        f'fill-opacity="{0.06 + 0.94 * share:.3f}"><title>{_escape(tip)}</title></rect>'
    )


def _number(x: float, y: float, count: int, on_dark: bool) -> str:
    colour = "#fff" if on_dark else "currentColor"
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="11" text-anchor="middle" '
        f'dominant-baseline="central" pointer-events="none">{count}</text>'
    )


def _name(name: str, x: float, y: float, angle: int) -> str:
    """Return a row's name, or a column's, which is turned and reads upwards."""
    turn = f' transform="rotate(-{angle} {x:g} {y:g})"' if angle else ""
    anchor = "start" if angle else "end"
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" dominant-baseline="central"{turn}>'
        f"{_escape(_short(name))}<title>{_escape(name)}</title></text>"
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _escape(text: str) -> str:
    return html.escape(_NOT_XML.sub("\ufffd", text))
