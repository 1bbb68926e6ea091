"""The nearest neighbours of every sample, and what they say about clusters (Eqs. 33 to 35)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

# Among so many rows, drawn at random, neighbours are looked for: the cost stays linear in the rows.
CANDIDATES = 20_000
_ROWS_AT_ONCE = 1024
_USUAL = 10


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The row numbers of the m nearest neighbours of n samples, by cosine, (n, m).

    The samples themselves are not among them. Beyond 20,000 samples the neighbours are the nearest
    of that many, drawn at random.
    """

    index: NDArray[np.int32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32], count: int, *, random_state: int = 0) -> Self:
        """Find the neighbours of the rows of ``vectors``, (n, width)."""
        n = len(vectors)
        among = np.arange(n)
        if n > CANDIDATES:
            drawn = np.random.default_rng(random_state).choice(n, CANDIDATES, replace=False)
            among = np.sort(drawn)
        count = min(count, len(among) - 1)
        candidates = unit_rows(vectors[among])
        index = np.empty((n, count), dtype=np.int32)
        for start in range(0, n, _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, n))
            cosines = unit_rows(vectors[rows]) @ candidates.T
            _, own, itself = np.intersect1d(rows, among, assume_unique=True, return_indices=True)
            cosines[own, itself] = -np.inf  # a row is no neighbour of itself
            nearest = torch.topk(torch.from_numpy(cosines), count, sorted=False).indices
            index[rows] = among[nearest.numpy()]
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


def usual_count(n_samples: int, n_clusters: int) -> int:
    """Return how many neighbours to ask: ten, or half of a mean cluster where that is less."""
    return min(_USUAL, max(2, n_samples // (2 * n_clusters)))


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows divided by their length; a row of zeros stays."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    unit: NDArray[np.float32] = rows / lengths
    return unit
