"""What training begins with: first clusters, by K-means as in the paper or by neighbours."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from caot.kmeans import breathing_kmeans, kmeans
from caot.neighbours import Neighbours, usual_count

logger = logging.getLogger("caot.start")

StartKind: TypeAlias = Literal["kmeans", "neighbours"]

# Rows that are linked; their distances take eight bytes a pair, twice. The others join afterwards.
LINKED_ROWS = 8_000
# By so much more modularity linkage must win: it may find one great cluster and scattered texts.
_CLEARLY = 0.02
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class StartSettings:
    """How the first clusters are found.

    ``kind`` "kmeans" is K-means; "neighbours" smooths vectors over neighbours, and takes K-means or
    average linkage, whichever suits the graph of neighbours better. ``restarts`` is of "kmeans",
    which takes the best of so many runs.
    """

    kind: StartKind = "kmeans"
    restarts: int = 10

    def __post_init__(self) -> None:
        if self.kind not in ("kmeans", "neighbours"):
            msg = f"start must be 'kmeans' or 'neighbours', got {self.kind!r}"
            raise ValueError(msg)
        if self.restarts < 1:
            msg = f"kmeans_restarts must be at least 1, got {self.restarts}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """What training begins with: first clusters of n samples, (n,), and their neighbours, if any.

    Clusters are numbered 0 .. k - 1. ``vectors``, (n, width), are what they were found by.
    ``modularity`` tells how well they cut the graph of neighbours (Eq. 34); NaN where they were
    found without asking it.
    """

    clusters: NDArray[np.int64]
    neighbours: Neighbours | None
    vectors: NDArray[np.float32]
    modularity: float = math.nan


def begin(
    vectors: NDArray[np.float32],
    n_clusters: int,
    settings: StartSettings,
    *,
    with_neighbours: bool,
    random_state: int,
) -> Beginning:
    """Find the first clusters of n samples, and their neighbours where those are needed.

    Parameters
    ----------
    vectors
        Embeddings, with words beside them or without, (n, width).
    with_neighbours
        Whether neighbours are needed although the first clusters do not ask them.
    """
    neighbours = None
    if with_neighbours or settings.kind == "neighbours":
        count = usual_count(len(vectors), n_clusters)
        neighbours = Neighbours.of(vectors, count, random_state=random_state)
    if neighbours is None or settings.kind == "kmeans":
        restarts = settings.restarts
        usual = kmeans(vectors, n_clusters, n_init=restarts, random_state=random_state)
        return Beginning(usual.labels, neighbours, vectors)
    smoothed = neighbours.smooth(vectors)
    if n_clusters > LINKED_ROWS:  # than rows that could be linked
        rounded = breathing_kmeans(smoothed, n_clusters, random_state=random_state).labels
        return Beginning(rounded, neighbours, vectors, neighbours.modularity(rounded))
    linked = average_linkage(smoothed, n_clusters, random_state=random_state)
    rounded = breathing_kmeans(smoothed, n_clusters, random_state=random_state).labels
    link_fit, round_fit = neighbours.modularity(linked), neighbours.modularity(rounded)
    use_linkage = link_fit > round_fit + _CLEARLY
    logger.info(
        "first clusters: %s (modularity %.3f by average linkage, %.3f by K-means)",
        "average linkage" if use_linkage else "K-means",
        link_fit,
        round_fit,
    )
    if use_linkage:
        return Beginning(linked, neighbours, vectors, link_fit)
    return Beginning(rounded, neighbours, vectors, round_fit)


def average_linkage(
    unit: NDArray[np.float32], n_clusters: int, *, random_state: int
) -> NDArray[np.int64]:
    """Merge samples, the two most similar groups first, until k groups are left.

    The similarity of groups is the mean cosine of their members. Unlike K-means this finds large
    and small clusters side by side. Beyond 8,000 rows that many are linked, drawn at random, and
    the others join the group that they are most similar to.

    Parameters
    ----------
    unit
        Vectors of length 1, (n, width).
    """
    n = len(unit)
    rows = np.arange(n)
    if n > LINKED_ROWS:
        drawn = np.random.default_rng(random_state).choice(n, LINKED_ROWS, replace=False)
        rows = np.sort(drawn)
    merges = linkage(_cosine_distances(unit[rows]), "average")
    linked = _groups(merges, len(rows), n_clusters)
    if n == len(rows):
        return linked
    sums = np.zeros((n_clusters, unit.shape[1]), dtype=np.float32)
    np.add.at(sums, linked, unit[rows])
    means = sums / np.bincount(linked, minlength=n_clusters)[:, None]
    labels: NDArray[np.int64] = (unit @ means.T).argmax(axis=1)
    labels[rows] = linked
    return labels


def _cosine_distances(unit: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the distances of all pairs of rows, in the order of scipy's ``pdist``.

    Products of whole blocks take a fraction of the time that ``pdist`` takes for its pairs.
    """
    n, filled = len(unit), 0
    distances = np.empty(n * (n - 1) // 2)
    for start in range(0, n, _ROWS_AT_ONCE):
        block = 1.0 - unit[start : start + _ROWS_AT_ONCE] @ unit[start:].T
        for row, values in enumerate(block):
            later = values[row + 1 :]
            distances[filled : filled + len(later)] = later
            filled += len(later)
    return distances


def _groups(merges: NDArray[np.float64], n: int, n_clusters: int) -> NDArray[np.int64]:
    """Return the groups of n samples when k of them are left, (n,)."""
    done = n - n_clusters
    parts = merges[:done, :2].astype(np.int64)
    whole = np.repeat(np.arange(n, n + done), 2)
    edges = coo_array((np.ones(2 * done), (parts.ravel(), whole)), shape=(n + done, n + done))
    _, labels = connected_components(edges, directed=False)
    return labels[:n].astype(np.int64)
