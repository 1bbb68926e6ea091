"""From texts and their clusters to a description of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caot.describe.checks import (
    ABSTAINED,
    check_settings,
    checked_labels,
    checked_matrix,
    checked_probabilities,
)
from caot.describe.keywords import cluster_keywords
from caot.describe.labels import make_labels
from caot.describe.languages import resolve_stop_words
from caot.describe.members import (
    choose_doubtful,
    choose_examples,
    cluster_means,
    margins,
    nearest_clusters,
)
from caot.describe.values import ClusterDescription, Description
from caot.texts import as_texts


def describe(
    texts: Iterable[str],
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    embeddings: ArrayLike,
    *,
    n_keywords: int = 10,
    n_examples: int = 5,
    n_doubtful: int = 5,
    n_nearest: int = 3,
    stop_words: str | Iterable[str] | None = "auto",
    ngram_range: tuple[int, int] = (1, 2),
) -> Description:
    """Describe clusters by keywords, a label, typical and doubtful texts, and near clusters.

    Texts labelled -1, which were given to no cluster, are part of no description; they only count
    in the shares. Ids need not be consecutive: clusters without texts are left out.

    Parameters
    ----------
    texts : iterable of str
        The n texts.
    labels : array of shape (n,)
        Each text's cluster, or -1.
    probabilities : array of shape (n, k) or None
        Column j belongs to cluster j. Without them the confidence is NaN and no text in doubt.
    embeddings : array of shape (n, d)
        The texts' vectors.
    n_keywords, n_examples, n_doubtful, n_nearest : int
        The most keywords, examples, doubtful texts and near clusters of a cluster.
    stop_words : "auto", str, iterable of str or None
        Words that are no keywords: the function words of the texts' languages ("auto"), of a
        language by its code ("de"), of several, the words given, or none.
    ngram_range : (int, int)
        The least and the most words of a keyword.
    """
    check_settings(
        ngram_range,
        n_keywords=n_keywords,
        n_examples=n_examples,
        n_doubtful=n_doubtful,
        n_nearest=n_nearest,
    )
    given = as_texts(texts)
    all_labels = checked_labels(labels, len(given))
    all_vectors = checked_matrix("embeddings", embeddings, len(given))
    table = None if probabilities is None else checked_probabilities(probabilities, all_labels)
    rows = np.flatnonzero(all_labels != ABSTAINED)
    if not len(rows):
        return Description(())

    kept, vectors = [given[row] for row in rows.tolist()], all_vectors[rows]
    ids, codes = np.unique(all_labels[rows], return_inverse=True)
    clusters: list[int] = ids.tolist()
    keywords = cluster_keywords(
        kept,
        codes,
        len(clusters),
        n_keywords=n_keywords,
        stop_words=resolve_stop_words(stop_words, kept),
        ngram_range=ngram_range,
    )
    means = cluster_means(vectors, codes, len(clusters))
    examples = choose_examples(kept, vectors, codes, means, n_examples)
    nearest = nearest_clusters(means, clusters, n_nearest)
    names = make_labels(clusters, keywords, _by_cluster(kept, codes, len(clusters)))
    kept_table = None if table is None else table[rows]
    confidence, doubtful = _certainty(kept, kept_table, all_labels[rows], codes, n_doubtful)
    sizes = np.bincount(codes)
    return Description(
        tuple(
            ClusterDescription(
                cluster=cluster,
                label=names[i],
                keywords=keywords[i],
                size=int(sizes[i]),
                share=float(sizes[i] / len(given)),
                mean_confidence=confidence[i],
                examples=_numbers(rows, examples[i]),
                doubtful=_numbers(rows, doubtful[i]),
                nearest=nearest[i],
            )
            for i, cluster in enumerate(clusters)
        )
    )


def _certainty(
    texts: Sequence[str],
    probabilities: NDArray[np.floating] | None,
    labels: NDArray[np.int64],
    codes: NDArray[np.int64],
    n_doubtful: int,
) -> tuple[list[float], list[tuple[int, ...]]]:
    """Return each cluster's mean confidence and its texts in doubt."""
    sizes = np.bincount(codes)
    if probabilities is None:
        return [math.nan] * len(sizes), [()] * len(sizes)
    own = probabilities[np.arange(len(labels)), labels]
    confidence = (np.bincount(codes, weights=own) / sizes).tolist()
    if probabilities.shape[1] == 1:
        return confidence, [()] * len(sizes)
    doubt = margins(probabilities, labels)
    return confidence, choose_doubtful(texts, doubt, codes, len(sizes), n_doubtful)


def _by_cluster(texts: Sequence[str], codes: NDArray[np.int64], k: int) -> list[list[str]]:
    grouped: list[list[str]] = [[] for _ in range(k)]
    for text, code in zip(texts, codes.tolist(), strict=True):
        grouped[code].append(text)
    return grouped


def _numbers(rows: NDArray[np.int64], positions: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row numbers of positions among the rows that belong to a cluster."""
    return tuple(int(rows[position]) for position in positions)
