"""Which texts stand for a cluster, which are in doubt, and which clusters are near."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from caot.vectors import unit_rows

_RELEVANCE = 0.6  # nearness to the centre against difference from the examples before
_POOL = 10  # candidates for each example asked for
_MIN_POOL = 50


def cluster_means(
    embeddings: NDArray[np.floating], codes: NDArray[np.int64], n_clusters: int
) -> NDArray[np.floating]:
    """Return the mean of each cluster's embeddings, (k, d)."""
    sizes = np.bincount(codes, minlength=n_clusters)
    weights = (1 / sizes[codes]).astype(embeddings.dtype)
    members = scipy.sparse.csr_array(
        (weights, (codes, np.arange(len(codes)))), shape=(n_clusters, len(codes))
    )
    return np.asarray(members @ embeddings)


def nearest_clusters(
    means: NDArray[np.floating], clusters: Sequence[int], n_nearest: int
) -> list[tuple[tuple[int, float], ...]]:
    """Return for each cluster the others whose means have the greatest cosine with its own."""
    unit = unit_rows(means)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, : min(n_nearest, len(clusters) - 1)]
    return [
        tuple((clusters[j], float(np.clip(cosines[i, j], -1, 1))) for j in row)
        for i, row in enumerate(order.tolist())
    ]


def choose_examples(
    texts: Sequence[str],
    embeddings: NDArray[np.floating],
    codes: NDArray[np.int64],
    means: NDArray[np.floating],
    n_examples: int,
) -> list[tuple[int, ...]]:
    """Choose typical, different texts of each cluster by maximal marginal relevance.

    Candidates are the distinct texts nearest to the centre; each example is near to it and far
    from those chosen before.
    """
    unit = unit_rows(embeddings)
    nearness = np.einsum("nd,nd->n", unit, unit_rows(means)[codes])
    pool = max(_MIN_POOL, _POOL * n_examples)
    return [
        _diverse(unit, nearness, _distinct(texts, rows, pool), n_examples)
        for rows in _rows_by_cluster(codes, -nearness, len(means))
    ]


def choose_doubtful(
    texts: Sequence[str],
    margins: NDArray[np.floating],
    codes: NDArray[np.int64],
    n_clusters: int,
    n_doubtful: int,
) -> list[tuple[int, ...]]:
    """Choose the distinct texts of each cluster with the smallest margins, (n,)."""
    return [
        tuple(_distinct(texts, rows, n_doubtful))
        for rows in _rows_by_cluster(codes, margins, n_clusters)
    ]


def margins(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return each text's probability of its cluster less the greatest of another one, (n,)."""
    rows = np.arange(len(labels))
    others = probabilities.copy()
    others[rows, labels] = -np.inf
    difference: NDArray[np.floating] = probabilities[rows, labels] - others.max(axis=1)
    return difference


def _rows_by_cluster(
    codes: NDArray[np.int64], key: NDArray[np.floating], n_clusters: int
) -> Iterator[list[int]]:
    """Yield each cluster's rows by ascending key."""
    order = np.lexsort((key, codes))
    ends = np.cumsum(np.bincount(codes, minlength=n_clusters))
    for rows in np.split(order, ends[:-1]):
        yield rows.tolist()


def _distinct(texts: Sequence[str], rows: Iterable[int], count: int) -> list[int]:
    """Return the first rows whose texts differ by more than case and spaces; no empty ones."""
    seen = {""}
    chosen: list[int] = []
    for row in rows:
        if len(chosen) == count:
            break
        folded = " ".join(texts[row].casefold().split())
        if folded not in seen:
            seen.add(folded)
            chosen.append(row)
    return chosen


def _diverse(
    unit: NDArray[np.floating],
    nearness: NDArray[np.floating],
    candidates: list[int],
    count: int,
) -> tuple[int, ...]:
    vectors, relevance = unit[candidates], nearness[candidates]
    redundancy = np.zeros(len(candidates), dtype=unit.dtype)
    chosen: list[int] = []
    for _ in range(min(count, len(candidates))):
        score = _RELEVANCE * relevance - (1 - _RELEVANCE) * redundancy
        score[chosen] = -np.inf
        best = int(np.argmax(score))
        redundancy = np.maximum(redundancy, vectors @ vectors[best])
        chosen.append(best)
    return tuple(candidates[i] for i in chosen)
