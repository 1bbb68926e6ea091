"""Spherical K-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.cluster import kmeans_plusplus

from caot.baselines.base import Vectors
from caot.baselines.frozen import FrozenMethod
from caot.baselines.heads import Centroids
from caot.inputs import Inputs
from caot.vectors import unit_rows


class _Run(NamedTuple):
    """Unit centres (k, width) and the mean cosine of the rows with theirs."""

    centers: Vectors
    cosine: float


@dataclass(eq=False, repr=False, kw_only=True)
class SphericalKMeans(FrozenMethod):
    """K-means that compares directions alone: centres have length one, nearness is the cosine.

    Parameters
    ----------
    n_init
        Starts, of which the one with the greatest mean cosine is taken.
    max_iter
        The most rounds of a start.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.frozen.FrozenMethod`.

    References
    ----------
    Dhillon and Modha. Concept Decompositions for Large Sparse Text Data Using Clustering.
    Machine Learning, 2001.
    """

    n_init: int = 10
    max_iter: int = 300

    _least: ClassVar[dict[str, int]] = {**FrozenMethod._least, "n_init": 1, "max_iter": 1}

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Centroids:
        unit = unit_rows(vectors)
        # Seeds next to each other must not share starts.
        seeds = np.random.SeedSequence(self.random_state).generate_state(self.n_init)
        runs = [spherical_kmeans(unit, self.n_clusters, int(seed), self.max_iter) for seed in seeds]
        best = max(runs, key=lambda run: run.cosine)
        return Centroids.of(vectors, best.centers, cosine=True)


def spherical_kmeans(unit: Vectors, n_clusters: int, seed: int, max_iter: int) -> _Run:
    """Alternate between the most similar centre and the direction of each cluster's sum.

    Parameters
    ----------
    unit
        (n, width) rows of length one.
    n_clusters, seed, max_iter
        Number of centres, seed of the start, most rounds.
    """
    centers: Vectors = unit_rows(kmeans_plusplus(unit, n_clusters, random_state=seed)[0])
    labels = np.full(len(unit), -1)
    for _ in range(max_iter):
        cosines = unit @ centers.T
        nearest = cosines.argmax(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        members = scipy.sparse.csr_array(
            (np.ones(len(unit), unit.dtype), (labels, np.arange(len(unit)))),
            shape=(n_clusters, len(unit)),
        )
        sums: Vectors = np.asarray(members @ unit, dtype=np.float32)
        empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
        # A centre that lost its rows starts again at those that fit theirs worst.
        sums[empty] = unit[np.argsort(cosines.max(axis=1), kind="stable")[: len(empty)]]
        centers = unit_rows(sums)
    return _Run(centers, float((unit @ centers.T).max(axis=1).mean()))
