"""K-means on embeddings: the labels of the warm-up, and the first look at imbalance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances

# Centres settle on this many rows; all restarts on more would cost more than the training.
SAMPLE_ROWS = 20_000
# Centres that breathing K-means adds and takes away at once, at first; and the least gain that
# makes it go on, as a share of the inertia.
_BREATH, _GAIN = 5, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Labels (n,) int64 and centres (k, d) float32 of a K-means run."""

    labels: NDArray[np.int64]
    centers: NDArray[np.float32]


def kmeans(
    embeddings: NDArray[np.float32],
    n_clusters: int,
    *,
    n_init: int,
    max_iter: int = 300,
    random_state: int,
) -> Partition:
    """Return the best of ``n_init`` runs of K-means, of ``max_iter`` iterations, by inertia.

    Beyond 20,000 rows the centres come from that many, drawn at random, and every row goes to the
    nearest of them.
    """
    model = KMeans(n_clusters, n_init=n_init, max_iter=max_iter, random_state=random_state)
    return _partition(embeddings, _fitted(model, _sample(embeddings, n_clusters, random_state)))


def breathing_kmeans(
    embeddings: NDArray[np.float32], n_clusters: int, *, random_state: int
) -> Partition:
    """Return a K-means partition whose centres were moved to where they are of use.

    K-means ends in the local minimum that its first centres lead to: two clusters share a centre
    while another has two, which restarts mend only by luck. Here centres are added where the error
    is largest, as many are taken away where they are missed least, and K-means settles anew each
    time; fewer at a time once that gains nothing, until it gains nothing with one (Fritzke, The
    breathing k-means algorithm, 2020). Large data are sampled as in `kmeans`.
    """
    rows = _sample(embeddings, n_clusters, random_state)
    best = _fitted(KMeans(n_clusters=n_clusters, n_init=1, random_state=random_state), rows)
    rng = np.random.default_rng(random_state)
    breath = min(_BREATH, n_clusters, len(rows) - n_clusters)
    while breath > 0:
        more = _settled(rows, _with_more(rows, best.cluster_centers_, breath, rng))
        fewer = _settled(rows, _with_fewer(rows, more.cluster_centers_, breath))
        if fewer.inertia_ < (1 - _GAIN) * best.inertia_:
            best = fewer
        else:
            breath -= 1
    return _partition(embeddings, best)


def _with_more(
    rows: NDArray[np.float32],
    centers: NDArray[np.float32],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Add centres beside those with the largest error."""
    nearest, distances = _two_nearest(rows, centers)
    error = np.bincount(nearest, weights=distances[:, 0], minlength=len(centers))
    worst = centers[np.argsort(-error)[:count]]
    # A hundredth of the distance that a sample usually has.
    step = 0.01 * np.sqrt(error.sum() / rows.size) * rng.standard_normal(worst.shape)
    return np.vstack([centers, worst + step.astype(centers.dtype)])


def _with_fewer(
    rows: NDArray[np.float32], centers: NDArray[np.float32], count: int
) -> NDArray[np.float32]:
    """Take away the centres without which the error would grow least.

    The centre next to one that goes will have to take its samples: it stays, if it can.
    """
    nearest, distances = _two_nearest(rows, centers)
    use = np.bincount(nearest, weights=distances[:, 1] - distances[:, 0], minlength=len(centers))
    apart = euclidean_distances(centers)
    np.fill_diagonal(apart, np.inf)
    gone: list[int] = []
    needed: set[int] = set()
    for center in np.argsort(use).tolist():
        if len(gone) < count and center not in needed:
            gone.append(center)
            if len(needed) < len(centers) - count:  # enough others can still go
                needed.add(int(apart[center].argmin()))
    return np.delete(centers, gone, axis=0)


def _two_nearest(
    rows: NDArray[np.float32], centers: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nearest centre of each row, and the squared distances of the nearest two."""
    squared = euclidean_distances(rows, centers, squared=True)
    every, nearest = np.arange(len(rows)), squared.argmin(axis=1)
    first = squared[every, nearest]
    squared[every, nearest] = np.inf
    return nearest, np.stack([first, squared.min(axis=1)], axis=1)


def _settled(rows: NDArray[np.float32], centers: NDArray[np.float32]) -> KMeans:
    return _fitted(KMeans(n_clusters=len(centers), init=centers, n_init=1), rows)


def _fitted(model: KMeans, rows: NDArray[np.float32]) -> KMeans:
    with warnings.catch_warnings():
        # Fewer distinct points than clusters: the caller checks that, with a better message.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows)


def _partition(embeddings: NDArray[np.float32], model: KMeans) -> Partition:
    """Return the labels of all rows, of which the model may have seen a sample."""
    centers = model.cluster_centers_.astype(np.float32)
    labels = model.labels_
    if len(labels) < len(embeddings):
        labels = pairwise_distances_argmin(embeddings, centers)
    return Partition(labels.astype(np.int64), centers)


def _sample(
    embeddings: NDArray[np.float32], n_clusters: int, random_state: int
) -> NDArray[np.float32]:
    count = max(SAMPLE_ROWS, n_clusters)
    if len(embeddings) <= count:
        return embeddings
    rng = np.random.default_rng(random_state)
    return embeddings[np.sort(rng.choice(len(embeddings), count, replace=False))]
