"""A head for methods that label the texts of a fit and nothing else."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor, nn

from caot.baselines.heads import Arguments, Centroids, Head, Vectors
from caot.shares import NO_CLUSTER

# Enough to tell texts apart; a search tree wants few dimensions.
_N_MARKS = 12
# Of the spread of the marks: far above rounding, far below the distance of two texts.
_SAME = 1e-4


class Remembered(Head):
    """Texts of the fit keep their label; others go to the nearest centre.

    Fitted vectors are recognised by a random projection to a few numbers, so that their texts need
    not be kept. Noise has no share in any cluster: its row is −∞ throughout.

    Parameters
    ----------
    n_clusters, width, n_seen : int
        Number and length of the centres, and how many distinct vectors are remembered.
    """

    labels: Tensor

    def __init__(self, n_clusters: int, width: int, n_seen: int) -> None:
        super().__init__()
        self.n_clusters, self.width, self.n_seen = n_clusters, width, n_seen
        self.centroids = Centroids(n_clusters, width)
        size = min(_N_MARKS, width)
        self.projection = nn.Parameter(torch.zeros(width, size), requires_grad=False)
        self.marks = nn.Parameter(torch.zeros(n_seen, size), requires_grad=False)
        self.register_buffer("labels", torch.zeros(n_seen, dtype=torch.int64))

    @classmethod
    def of(
        cls, vectors: Vectors, labels: NDArray[np.int64], n_clusters: int, random_state: int
    ) -> Remembered:
        """Remember the labels (n,) of vectors (n, width); equal vectors must have equal labels."""
        first = np.sort(np.unique(vectors, axis=0, return_index=True)[1])
        head = cls(n_clusters, vectors.shape[1], len(first))
        rng = np.random.default_rng(random_state)
        projection = rng.standard_normal(head.projection.shape) / math.sqrt(vectors.shape[1])
        head.centroids = Centroids.of_labels(vectors, labels, n_clusters)
        head.projection.copy_(torch.from_numpy(projection))
        head.marks.copy_(torch.from_numpy(vectors[first]) @ head.projection)
        head.labels = torch.from_numpy(labels[first])
        return head

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return the log-shares of the clusters, (n, k)."""
        log_shares = self.centroids.predict(embeddings)
        rows, labels = self._recognised(embeddings)
        is_noise = labels == NO_CLUSTER
        log_shares[rows[is_noise]] = -torch.inf
        rows, labels = rows[~is_noise], labels[~is_noise]
        # The label takes the place of the nearest centre, and that takes the label's.
        nearest = log_shares[rows].argmax(dim=1)
        best, own = log_shares[rows, nearest], log_shares[rows, labels]
        log_shares[rows, nearest] = own
        log_shares[rows, labels] = best
        return log_shares

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        return {"n_clusters": self.n_clusters, "width": self.width, "n_seen": self.n_seen}

    def _recognised(self, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows that were fitted, and their labels."""
        marks = self.marks.cpu().numpy()
        asked = (embeddings @ self.projection).cpu().numpy()
        near = _SAME * float(marks.std())
        distance, place = cKDTree(marks).query(asked, distance_upper_bound=max(near, 1e-12))
        known = np.isfinite(distance)
        rows = torch.from_numpy(np.flatnonzero(known)).to(embeddings.device)
        found = torch.from_numpy(np.asarray(place, dtype=np.int64)[known]).to(embeddings.device)
        return rows, self.labels[found]


def consistent(vectors: Vectors, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give equal vectors the label of the first of them."""
    _, first, place = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    same: NDArray[np.int64] = labels[first[place.reshape(-1)]].astype(np.int64)
    return same
