"""The nearest neighbours of every sample, and what they say about clusters (Eqs. 33 to 35)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from caot.kmeans import kmeans
from caot.vectors import unit_rows

Rows: TypeAlias = NDArray[np.int64]


# Up to so many rows neighbours are looked for among all of them; of more, in cells of rows that lie
# together, so many rows on average, and in those around them until so many rows are searched.
ALL_ROWS = 20_000
_CELL_ROWS = 400
_SEARCHED = 4_000
_CELL_ITER = 5  # of the K-means that finds the cells: they need not be the best
_ROWS_AT_ONCE = 1024
_USUAL = 10


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The row numbers of the m nearest neighbours of n samples, by cosine, (n, m).

    The samples themselves are not among them. Beyond 20,000 samples a few neighbours are missed for
    others that are nearly as near.
    """

    index: NDArray[np.int32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32], count: int, *, random_state: int = 0) -> Self:
        """Find the neighbours of the rows of ``vectors``, (n, width)."""
        unit = unit_rows(vectors)
        everyone = np.arange(len(unit))
        many = len(unit) > ALL_ROWS
        searches = _cells(unit, random_state) if many else [(everyone, everyone)]
        index = np.empty((len(unit), min(count, len(unit) - 1)), dtype=np.int32)
        for rows, among in searches:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                some = rows[start : start + _ROWS_AT_ONCE]
                index[some] = _nearest(unit, some, among, index.shape[1])
        return cls(index)

    def smooth(self, vectors: NDArray[np.float32], rounds: int = 2) -> NDArray[np.float32]:
        """Return unit vectors to which each sample's neighbours were added (Eq. 33), (n, width)."""
        smoothed = unit_rows(vectors)
        for _ in range(rounds):
            before, smoothed = smoothed, np.empty_like(smoothed)
            for start in range(0, len(vectors), _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                around = before[self.index[rows]].mean(axis=1)
                smoothed[rows] = unit_rows(before[rows] + around)
        return smoothed

    def modularity(self, labels: NDArray[np.int64]) -> float:
        """Return how well clusters cut the graph of neighbours (Eq. 34); at most 1."""
        n, count = self.index.shape
        inside = float(np.mean(labels[self.index] == labels[:, None]))
        degree = count + np.bincount(self.index.ravel(), minlength=n)
        mass = np.bincount(labels, weights=degree) / degree.sum()
        return inside - float(np.sum(mass**2))

    def votes(
        self, labels: NDArray[np.int64], rows: NDArray[np.int64], n_clusters: int
    ) -> NDArray[np.float32]:
        """Return which share of the neighbours of some rows is in each cluster, (rows, k)."""
        theirs = labels[self.index[rows]]
        places = np.arange(len(rows))[:, None] * n_clusters + theirs
        counts = np.bincount(places.ravel(), minlength=len(rows) * n_clusters)
        shares: NDArray[np.float32] = (counts / theirs.shape[1]).astype(np.float32)
        return shares.reshape(len(rows), n_clusters)


def _cells(unit: NDArray[np.float32], random_state: int) -> Iterator[tuple[Rows, Rows]]:
    """Divide many rows into cells; yield the rows of each, and those to find their neighbours in.

    The cost grows with the number of rows, not with its square.
    """
    n_cells = len(unit) // _CELL_ROWS
    found = kmeans(unit, n_cells, n_init=1, max_iter=_CELL_ITER, random_state=random_state)
    sizes = np.bincount(found.labels, minlength=n_cells)
    cells = np.split(np.argsort(found.labels, kind="stable"), np.cumsum(sizes)[:-1])
    apart = euclidean_distances(found.centers)
    np.fill_diagonal(apart, -1.0)  # a cell itself comes first, also where centres are equal
    rng = np.random.default_rng(random_state)
    for rows, around in zip(cells, np.argsort(apart, axis=1), strict=True):
        enough = int(np.searchsorted(np.cumsum(sizes[around]), _SEARCHED)) + 1
        among = np.concatenate([cells[cell] for cell in around[:enough]])
        if len(among) > ALL_ROWS:  # as if a great part of the texts were alike
            among = rng.choice(among, ALL_ROWS, replace=False)
        yield rows, among


def _nearest(unit: NDArray[np.float32], rows: Rows, among: Rows, count: int) -> Rows:
    """Return the nearest of ``among`` to each of some rows, but not itself, (rows, count)."""
    cosines = unit[rows] @ unit[among].T
    _, own, itself = np.intersect1d(rows, among, assume_unique=True, return_indices=True)
    cosines[own, itself] = -np.inf
    nearest = torch.topk(torch.from_numpy(cosines), count, sorted=False).indices
    found: Rows = among[nearest.numpy()]
    return found


def usual_count(n_samples: int, n_clusters: int) -> int:
    """Return how many neighbours to ask: ten, or half of a mean cluster where that is less."""
    return min(_USUAL, max(2, n_samples // (2 * n_clusters)))
