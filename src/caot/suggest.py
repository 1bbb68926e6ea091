"""How many clusters? A curve over K from embeddings alone, and the range that it recommends."""

from __future__ import annotations

import dataclasses
import logging
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.neighbors import kneighbors_graph

from caot.kmeans import kmeans
from caot.metrics import adjusted_rand
from caot.vectors import unit_rows

logger = logging.getLogger("caot.suggest")

Rows = NDArray[np.float32]

MAX_K = 200
TOLERANCE = 0.1
"""The recommended range holds the values of K whose score is within this share of the best."""

_MIN_DISTINCT = 8
_STEP = 1.2  # ratio of neighbouring K on the grid
_N_COMPONENTS = 64  # keeps about two thirds of the variance of sentence embeddings
_N_NEIGHBOURS = 15
_SILHOUETTE_ROWS = 2000
_WEAK = 0.2  # below this score the structure is hardly more than that of noise


@dataclasses.dataclass(frozen=True, slots=True)
class KPoint:
    """What speaks for one number of clusters; 0 is no better than chance, 1 perfect.

    Attributes
    ----------
    n_clusters
        K.
    stability
        Adjusted Rand index of K-means fitted to two halves of the data, less what the same data
        without dependence between components reach, as a share of what was possible.
    silhouette
        Mean silhouette with cosine distances.
    modularity
        Share of nearest-neighbour pairs inside clusters, less that expected by chance.
    score
        Geometric mean of the three (0 where one is negative), smoothed along the curve.
    """

    n_clusters: int
    stability: float
    silhouette: float
    modularity: float
    score: float


@dataclasses.dataclass(frozen=True, slots=True)
class KSuggestion:
    """A curve over K, the recommended range ``low`` to ``high``, the best K, and why."""

    curve: tuple[KPoint, ...]
    low: int
    high: int
    best: int
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**dataclasses.asdict(self), "curve": [dataclasses.asdict(p) for p in self.curve]}

    def frame(self) -> pd.DataFrame:
        """Return the curve, one row a value of K."""
        return pd.DataFrame([dataclasses.asdict(point) for point in self.curve])


def suggest_k(
    embeddings: ArrayLike,
    *,
    k_values: Iterable[int] | None = None,
    random_state: int = 0,
    max_samples: int = 5000,
    n_repeats: int = 3,
) -> KSuggestion:
    """Recommend a range for the number of clusters of ``embeddings``, without labels.

    For each K, K-means on halves of the data says how stable the clusters are, and K-means on all
    of it how separated. Rows are scaled to unit length, reduced to 64 principal components, and
    equal rows count once.

    Parameters
    ----------
    embeddings : array of shape (n, d)
        One row a text.
    k_values : integers, optional
        The values to try; by default a geometric grid from 2 to 200 or a tenth of the rows.
    random_state : int
        Seeds the sample, the halves and K-means: the same seed gives the same answer.
    max_samples : int
        The most rows that are looked at. Clusters with a few texts among many thousands are not
        seen in a sample.
    n_repeats : int
        Pairs of halves for each K.

    Returns
    -------
    KSuggestion
        A hint, not a truth: where topics have subtopics, several K are right.
    """
    _check_counts(max_samples=(max_samples, 2 * _MIN_DISTINCT), n_repeats=(n_repeats, 1))
    rng = np.random.default_rng(random_state)
    unit = _distinct_unit_rows(embeddings, max_samples, rng)
    values = _k_values(k_values, len(unit))
    rows = _components(unit, random_state)
    # Each component keeps its values, but they no longer hang together: no clusters.
    reference = np.stack([rng.permutation(column) for column in rows.T], axis=1)
    halves = [rng.permutation(len(rows)) for _ in range(n_repeats)]
    separation = _Separation(rows, rng)
    measures: list[tuple[float, float, float]] = []
    for k in values:
        stability = _corrected(_agreement(rows, k, halves), _agreement(reference, k, halves))
        labels = kmeans(rows, k, n_init=1, random_state=random_state).labels
        measures.append((stability, separation.silhouette(labels), separation.modularity(labels)))
        logger.debug("K = %d: stability, silhouette, modularity %s", k, measures[-1])
    scores = _smooth(values, np.cbrt(np.prod(np.maximum(measures, 0.0), axis=1)))
    curve = tuple(
        KPoint(k, *triple, float(score))
        for k, triple, score in zip(values, measures, scores, strict=True)
    )
    return _recommend(curve)


def _check_counts(**counts: tuple[int, int]) -> None:
    for name, (value, least) in counts.items():
        if operator.index(value) < least:
            raise ValueError(f"{name} is {value}: give at least {least}.")


def _distinct_unit_rows(embeddings: ArrayLike, max_samples: int, rng: np.random.Generator) -> Rows:
    """Return the distinct rows of a random sample, scaled to unit length, in random order."""
    array = np.asarray(embeddings)
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"embeddings has shape {array.shape}: give one row a text, (n, d).")
    sample = array[rng.permutation(len(array))[:max_samples]].astype(np.float32)
    if not np.isfinite(sample).all():
        raise ValueError("embeddings hold NaN or infinite values: encode these texts again.")
    unit: Rows = unit_rows(sample)
    first = np.unique(unit, axis=0, return_index=True)[1]
    if len(first) < _MIN_DISTINCT:
        raise ValueError(
            f"There are {len(first)} distinct embeddings, too few to compare numbers of clusters: "
            f"give at least {_MIN_DISTINCT}, or choose K by hand."
        )
    return unit[np.sort(first)]


def _k_values(k_values: Iterable[int] | None, n_rows: int) -> list[int]:
    """Return the values to try, ascending; a half of the rows must hold each of them."""
    if k_values is None:
        top = min(MAX_K, max(n_rows // 10, min(10, n_rows // 4)))
        n_steps = round(np.log(top / 2) / np.log(_STEP)) if top > 2 else 0
        return sorted({round(k) for k in np.geomspace(2, top, n_steps + 1)})
    values = sorted({operator.index(k) for k in k_values})
    if not values or values[0] < 2 or values[-1] > n_rows // 2:
        raise ValueError(
            f"k_values is {values}: give integers from 2 to {n_rows // 2}, half of the {n_rows} "
            "distinct rows looked at."
        )
    return values


def _components(unit: Rows, random_state: int) -> Rows:
    """Return the principal components (n, at most 64), which hold the clusters and less noise."""
    n_components = min(_N_COMPONENTS, *unit.shape)
    reduced = PCA(n_components, svd_solver="randomized", random_state=random_state)
    return np.ascontiguousarray(reduced.fit_transform(unit), dtype=np.float32)


def _agreement(rows: Rows, k: int, halves: list[NDArray[np.int64]]) -> float:
    """Return the mean adjusted Rand index of two K-means, one of each half, on the second."""
    return float(np.mean([_agree_once(rows[order], k, seed) for seed, order in enumerate(halves)]))


def _agree_once(rows: Rows, k: int, seed: int) -> float:
    first, second = np.array_split(rows, 2)
    centers = kmeans(first, k, n_init=1, random_state=seed).centers
    own = kmeans(second, k, n_init=1, random_state=seed).labels
    foreign = np.argmin((centers**2).sum(axis=1) - 2 * second @ centers.T, axis=1)
    return adjusted_rand(foreign, own)


def _corrected(agreement: float, reference: float) -> float:
    """Return the agreement beyond the reference, as a share of what was possible."""
    return (agreement - reference) / max(1 - reference, 1e-9)


class _Separation:
    """Silhouette and modularity of labels of the same rows, with distances computed once."""

    def __init__(self, rows: Rows, rng: np.random.Generator) -> None:
        self._sample = rng.permutation(len(rows))[:_SILHOUETTE_ROWS]
        self._distances = pairwise_distances(rows[self._sample], metric="cosine")
        np.fill_diagonal(self._distances, 0.0)
        near = kneighbors_graph(rows, min(_N_NEIGHBOURS, len(rows) // 4))
        self._graph = csr_array(near + near.T)
        self._degrees = np.asarray(self._graph.sum(axis=1)).ravel()

    def silhouette(self, labels: NDArray[np.int64]) -> float:
        """Return the mean silhouette of the sample; 0 where it falls into one cluster."""
        seen = labels[self._sample]
        if not 2 <= len(np.unique(seen)) < len(seen):
            return 0.0
        return float(silhouette_score(self._distances, seen, metric="precomputed"))

    def modularity(self, labels: NDArray[np.int64]) -> float:
        """Return the share of edges inside clusters, less that of a random graph."""
        edges = self._graph.tocoo()
        total = self._degrees.sum()
        inside = edges.data[labels[edges.row] == labels[edges.col]].sum() / total
        shares = np.bincount(labels, weights=self._degrees) / total
        return float(inside - np.square(shares).sum())


def _smooth(values: list[int], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each score averaged with those of nearby K, which evens out the luck of K-means.

    A K that is one step of the default grid away has half the weight, one far away has none.
    """
    steps = np.log(values) / np.log(_STEP)
    weights = 0.5 ** np.square(steps[:, None] - steps)
    smooth: NDArray[np.float64] = weights @ scores / weights.sum(axis=1)
    return smooth


def _recommend(curve: tuple[KPoint, ...]) -> KSuggestion:
    """Return the best K, and the run of values around it that are nearly as good.

    Where the best is weak, the run is the whole curve: a narrow one would promise too much.
    """
    scores = np.array([point.score for point in curve])
    best = int(scores.argmax())
    good = (scores >= (1 - TOLERANCE) * scores[best]) | (scores[best] < _WEAK)
    below, above = np.flatnonzero(~good[:best]), np.flatnonzero(~good[best:])
    low = int(below[-1]) + 1 if below.size else 0
    high = best + int(above[0]) - 1 if above.size else len(curve) - 1
    return KSuggestion(
        curve=curve,
        low=curve[low].n_clusters,
        high=curve[high].n_clusters,
        best=curve[best].n_clusters,
        reason=_reason(curve, low, best, high),
    )


def _reason(curve: tuple[KPoint, ...], low: int, best: int, high: int) -> str:
    point = curve[best]
    found = (
        f"K = {point.n_clusters} scores best ({point.score:.2f}): stability "
        f"{point.stability:.2f}, silhouette {point.silhouette:.2f}, modularity "
        f"{point.modularity:.2f}."
    )
    if point.score < _WEAK:
        return f"{found} No K stands out: choose it by how fine the answer should be."
    first, last = curve[low].n_clusters, curve[high].n_clusters
    found += f" From {first} to {last} the score is within {TOLERANCE:.0%} of that."
    if high == len(curve) - 1 and len(curve) > 1:
        found += f" K = {last} is the largest tried: larger ones may be as good."
    return found
