"""Colours of clusters: apart from each other also to colour-blind eyes, in light and dark.

Colours are chosen in OKLab, where distances look as large as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# What linear RGB looks like without red, green or blue cones (Machado et al., 2009).
_BLINDNESS = np.array(
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ]
).reshape(3, 3, 3)
# How much lighter a colour is on a dark page.
_LIGHTER_BY = 0.15
# Red-green blindness is common and halves the room, so it counts, but not fully.
_BLIND_WEIGHT = 1.35
_NEAR = 40


@dataclass(frozen=True, slots=True)
class Colour:
    """One cluster's colour on a light page and on a dark one, as #rrggbb."""

    light: str
    dark: str


def palette(places: NDArray[np.float64]) -> tuple[Colour, ...]:
    """Return a colour for each cluster; clusters that are neighbours on the map differ most.

    Parameters
    ----------
    places
        Where each cluster lies on the map, (k, 2), in units of about the map's width; the most
        important cluster first.
    """
    rgb, dark, apart = _candidates()
    chosen = _spread(apart, len(places))
    order = _assign(apart[np.ix_(chosen, chosen)], places)
    picked = chosen[order]
    return tuple(Colour(_hex(rgb[i]), _hex(dark[i])) for i in picked)


@cache
def _candidates() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return calm colours in linear RGB, (m, 3), their versions for a dark page, and distances."""
    lightness, chroma, hue = np.meshgrid(
        np.linspace(0.44, 0.74, 7),
        [0.055, 0.095, 0.135],
        np.linspace(0, 2 * np.pi, 36, endpoint=False),
        indexing="ij",
    )
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=-1).reshape(-1, 3)
    rgb, dark = _to_rgb(lab), _to_rgb(lab + np.array([_LIGHTER_BY, 0, 0]))
    both = np.concatenate([rgb, dark], axis=1)
    inside = ((both > -0.01) & (both < 1.01)).all(axis=1)
    rgb, dark = rgb[inside].clip(0, 1), dark[inside].clip(0, 1)
    return rgb, dark, np.minimum(_distances(rgb), _distances(dark))


def _to_rgb(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    lms = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    linear: NDArray[np.float64] = lms @ np.linalg.inv(_TO_LMS).T
    return linear


def _to_lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    lab: NDArray[np.float64] = np.cbrt(rgb.clip(0, 1) @ _TO_LMS.T) @ _TO_LAB.T
    return lab


def _distances(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how different colours look (m, m), to the eyes that see the least difference."""
    seen = [_to_lab(rgb), *(_BLIND_WEIGHT * _to_lab(rgb @ lacking.T) for lacking in _BLINDNESS)]
    squares = [((lab[:, None] - lab[None]) ** 2).sum(axis=2) for lab in seen]
    least: NDArray[np.float64] = np.sqrt(np.min(squares, axis=0))
    return least


def _spread(apart: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return k candidates, each the farthest from those before; repeated when they run out."""
    chosen = [int(apart.sum(axis=1).argmax())]
    nearest = apart[chosen[0]].copy()
    for _ in range(min(k, len(apart)) - 1):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, apart[chosen[-1]])
    return np.resize(np.array(chosen, dtype=np.int64), k)


def _assign(apart: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which colour each cluster gets: the nearer two clusters, the more apart."""
    k = len(places)
    away = np.linalg.norm(places[:, None] - places[None], axis=2)
    closeness = np.exp(-away / 0.15) + 0.05
    order = np.zeros(k, dtype=np.int64)
    free = np.ones(k, dtype=np.bool_)
    for cluster in range(k):
        if cluster:
            # Farther ones hardly count, and with all of them this would take the cube of k.
            near = np.argsort(away[cluster, :cluster], kind="stable")[:_NEAR]
            worst = (apart[:, order[near]] / closeness[cluster, near]).min(axis=1)
            order[cluster] = int(np.where(free, worst, -1).argmax())
        free[order[cluster]] = False
    return order


def _hex(linear: NDArray[np.float64]) -> str:
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = np.rint(255 * encoded).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"
