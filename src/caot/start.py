"""The clusters that training starts from: K-means as in the paper, or what neighbours suggest."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist

from caot.kmeans import kmeans
from caot.neighbours import Neighbours, usual_count

logger = logging.getLogger("caot.start")

StartKind: TypeAlias = Literal["kmeans", "neighbours"]

# Rows that are linked; their distances take eight bytes a pair, twice. The others join afterwards.
LINKED_ROWS = 8_000
# By so much more modularity linkage must win: it may find one great cluster and scattered texts.
_CLEARLY = 0.02


@dataclass(frozen=True, slots=True)
class StartSettings:
    """How the first clusters are found.

    ``kind`` "kmeans" clusters the embeddings; "neighbours" does so too, unless average linkage of
    the smoothed embeddings clearly suits the graph of neighbours better than K-means of the same
    does. Of ``restarts`` runs of K-means the best is taken.
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


def starting_clusters(
    vectors: NDArray[np.float32],
    n_clusters: int,
    settings: StartSettings,
    neighbours: Neighbours | None = None,
    *,
    random_state: int,
) -> NDArray[np.int64]:
    """Return first labels of n samples, (n,), in 0 .. k - 1.

    Parameters
    ----------
    vectors
        Embeddings, (n, width).
    neighbours
        Their neighbours; only "neighbours" needs them.
    """
    runs = {"n_init": settings.restarts, "random_state": random_state}
    if settings.kind == "kmeans":
        return kmeans(vectors, n_clusters, **runs).labels
    if neighbours is None:
        count = usual_count(len(vectors), n_clusters)
        neighbours = Neighbours.of(vectors, count, random_state=random_state)
    smoothed = neighbours.smooth(vectors)
    linked = average_linkage(smoothed, n_clusters, random_state=random_state)
    rounded = kmeans(smoothed, n_clusters, n_init=3, random_state=random_state).labels
    link_fit, round_fit = neighbours.modularity(linked), neighbours.modularity(rounded)
    told = f"modularity {link_fit:.3f} by average linkage, {round_fit:.3f} by K-means"
    if link_fit > round_fit + _CLEARLY:
        logger.info("first clusters: average linkage (%s)", told)
        return linked
    logger.info("first clusters: K-means (%s)", told)
    return kmeans(vectors, n_clusters, **runs).labels


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
    merges = linkage(pdist(unit[rows], "cosine"), "average")
    linked = _groups(merges, len(rows), n_clusters)
    if n == len(rows):
        return linked
    sums = np.zeros((n_clusters, unit.shape[1]), dtype=np.float32)
    np.add.at(sums, linked, unit[rows])
    means = sums / np.bincount(linked, minlength=n_clusters)[:, None]
    labels: NDArray[np.int64] = (unit @ means.T).argmax(axis=1)
    labels[rows] = linked
    return labels


def _groups(merges: NDArray[np.float64], n: int, n_clusters: int) -> NDArray[np.int64]:
    """Return the groups of n samples when k of them are left, (n,)."""
    done = n - n_clusters
    parts = merges[:done, :2].astype(np.int64)
    whole = np.repeat(np.arange(n, n + done), 2)
    edges = coo_array((np.ones(2 * done), (parts.ravel(), whole)), shape=(n + done, n + done))
    _, labels = connected_components(edges, directed=False)
    return labels[:n].astype(np.int64)
