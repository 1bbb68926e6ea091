"""K-means on embeddings: the labels of the warm-up, and the first look at imbalance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

# Centres settle on this many rows; all restarts on more would cost more than the training.
SAMPLE_ROWS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Labels (n,) int64 and centres (k, d) float32 of a K-means run."""

    labels: NDArray[np.int64]
    centers: NDArray[np.float32]


def kmeans(
    embeddings: NDArray[np.float32], n_clusters: int, *, n_init: int, random_state: int
) -> Partition:
    """Return the best of ``n_init`` runs of K-means by inertia.

    Beyond 20,000 rows the centres come from that many, drawn at random, and every row goes to the
    nearest of them.
    """
    rows = _sample(len(embeddings), random_state)
    model = KMeans(n_clusters=n_clusters, n_init=n_init, random_state=random_state)
    with warnings.catch_warnings():
        # Fewer distinct points than clusters: the caller checks that, with a better message.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(embeddings if rows is None else embeddings[rows])
    centers = model.cluster_centers_.astype(np.float32)
    if rows is not None:
        labels = pairwise_distances_argmin(embeddings, centers)
    return Partition(labels.astype(np.int64), centers)


def _sample(n_rows: int, random_state: int) -> NDArray[np.int64] | None:
    if n_rows <= SAMPLE_ROWS:
        return None
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n_rows, SAMPLE_ROWS, replace=False))
