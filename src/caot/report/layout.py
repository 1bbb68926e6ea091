"""Where the clusters lie on the map, and what colour they have there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from caot.report.palette import Colour, palette

# The names' places are sought among so many points of a cluster, by so many nearest ones.
_MOST_POINTS = 2000
_LEAST_NEAREST = 5
_NEAREST_SHARE = 0.1
# The middle of the grid of whole numbers in which places are written.
_HALF = 32767


@dataclass(frozen=True, slots=True, eq=False)
class MapLayout:
    """The map in whole numbers from 0 to 65534, the shape of the point cloud kept.

    Attributes
    ----------
    places
        (n, 2) place of each text.
    anchors
        (k, 2) the text in the densest part of each cluster, where its name is written.
    colours
        k colours.
    """

    places: NDArray[np.int64]
    anchors: NDArray[np.int64]
    colours: tuple[Colour, ...]


def lay_out_map(
    coordinates: NDArray[np.float32], positions: NDArray[np.int64], sizes: NDArray[np.int64]
) -> MapLayout:
    """Return the layout of n texts in k clusters.

    Parameters
    ----------
    coordinates
        (n, 2).
    positions
        (n,) each text's cluster as a number from 0 to k − 1, or −1 for none.
    sizes
        (k,) texts in each cluster; larger ones choose their colour first.
    """
    exact = coordinates.astype(np.float64)
    low, high = exact.min(axis=0), exact.max(axis=0)
    reach = float((high - low).max()) / 2 or 1.0
    units = (exact - (low + high) / 2) / reach  # within [-1, 1]
    anchors = np.array([_densest(units[positions == j]) for j in range(len(sizes))])
    anchors = anchors.reshape(-1, 2)
    by_size = np.argsort(-sizes, kind="stable")
    colours: list[Colour] = [Colour("", "")] * len(sizes)
    for cluster, colour in zip(by_size, palette(anchors[by_size] / 2), strict=True):
        colours[cluster] = colour
    return MapLayout(_whole(units), _whole(anchors), tuple(colours))


def _densest(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point whose nearest ones are nearest, in a small cluster its most central one."""
    if not len(points):
        return np.zeros(2)
    sample = points[:: -(-len(points) // _MOST_POINTS)]
    n_nearest = min(len(sample) - 1, max(_LEAST_NEAREST, int(_NEAREST_SHARE * len(sample))))
    nearest = np.arange(1, n_nearest + 2)  # a point's nearest is itself
    distances = np.asarray(cKDTree(sample).query(sample, k=nearest)[0])  # (m, 1 + n_nearest)
    middle: NDArray[np.float64] = sample[distances.mean(axis=1).argmin()]
    return middle


def _whole(units: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint((units + 1) * _HALF).astype(np.int64)
