"""K-means on embeddings: the labels of the warm-up, and the first look at imbalance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

# Beyond this many rows, full passes cost more than the rest of the training.
_MINI_BATCH_BEYOND = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Labels (n,) int64 and centres (k, d) float32 of a K-means run."""

    labels: NDArray[np.int64]
    centers: NDArray[np.float32]


def kmeans(
    embeddings: NDArray[np.float32], n_clusters: int, *, n_init: int, random_state: int
) -> Partition:
    """Return the best of ``n_init`` runs of K-means by inertia; mini-batches for large data."""
    kind = KMeans if len(embeddings) <= _MINI_BATCH_BEYOND else MiniBatchKMeans
    model = kind(n_clusters=n_clusters, n_init=n_init, random_state=random_state)
    with warnings.catch_warnings():
        # Fewer distinct points than clusters: the caller checks that, with a better message.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(embeddings)
    return Partition(labels.astype(np.int64), model.cluster_centers_.astype(np.float32))
