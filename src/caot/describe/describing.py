"""From texts and their clusters to a description of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caot.describe.checks import (
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
from caot.shares import NO_CLUSTER
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
    members = _Members.of(as_texts(texts), labels, probabilities, embeddings)
    if not len(members.rows):
        return Description(())
    keywords = cluster_keywords(
        members.texts,
        members.codes,
        len(members.clusters),
        n_keywords=n_keywords,
        stop_words=resolve_stop_words(stop_words, members.texts),
        ngram_range=ngram_range,
    )
    means = cluster_means(members.vectors, members.codes, len(members.clusters))
    examples = choose_examples(members.texts, members.vectors, members.codes, means, n_examples)
    nearest = nearest_clusters(means, members.clusters, n_nearest)
    names = make_labels(members.clusters, keywords, members.texts_by_cluster())
    confidence, doubtful = members.certainty(n_doubtful)
    sizes = members.sizes.tolist()
    return Description(
        tuple(
            ClusterDescription(
                cluster=cluster,
                label=names[i],
                keywords=keywords[i],
                size=sizes[i],
                share=sizes[i] / members.n_given,
                mean_confidence=confidence[i],
                examples=members.given_rows(examples[i]),
                doubtful=members.given_rows(doubtful[i]),
                nearest=nearest[i],
            )
            for i, cluster in enumerate(members.clusters)
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """The m texts that belong to one of c clusters, out of all that were given.

    Attributes
    ----------
    n_given : int
        How many texts were given.
    rows : (m,)
        Their places among those given.
    texts, vectors, labels, probabilities
        Theirs alone; no probabilities if none were given.
    clusters : (c,)
        The ids of the clusters that hold texts, ascending.
    codes : (m,)
        The place of each text's cluster among ``clusters``.
    """

    n_given: int
    rows: NDArray[np.int64]
    texts: list[str]
    vectors: NDArray[np.floating]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.floating] | None
    clusters: list[int]
    codes: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        texts: list[str],
        labels: ArrayLike,
        probabilities: ArrayLike | None,
        embeddings: ArrayLike,
    ) -> Self:
        """Check what was given, and leave out the texts without a cluster."""
        n = len(texts)
        all_labels = checked_labels(labels, n)
        vectors = checked_matrix("embeddings", embeddings, n)
        table = None if probabilities is None else checked_probabilities(probabilities, all_labels)
        rows = np.flatnonzero(all_labels != NO_CLUSTER)
        ids, codes = np.unique(all_labels[rows], return_inverse=True)
        return cls(
            n_given=n,
            rows=rows,
            texts=[texts[row] for row in rows.tolist()],
            vectors=vectors[rows],
            labels=all_labels[rows],
            probabilities=None if table is None else table[rows],
            clusters=ids.tolist(),
            codes=codes,
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many texts each cluster has, (c,)."""
        return np.bincount(self.codes, minlength=len(self.clusters))

    def given_rows(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Return the places among all texts given, from those among the ones here."""
        return tuple(int(self.rows[position]) for position in positions)

    def texts_by_cluster(self) -> list[list[str]]:
        """Return each cluster's texts."""
        grouped: list[list[str]] = [[] for _ in self.clusters]
        for text, code in zip(self.texts, self.codes.tolist(), strict=True):
            grouped[code].append(text)
        return grouped

    def certainty(self, n_doubtful: int) -> tuple[list[float], list[tuple[int, ...]]]:
        """Return each cluster's mean confidence and its texts in doubt."""
        k = len(self.clusters)
        if self.probabilities is None:
            return [math.nan] * k, [()] * k
        own = self.probabilities[np.arange(len(self.labels)), self.labels]
        confidence = (np.bincount(self.codes, weights=own) / self.sizes).tolist()
        if self.probabilities.shape[1] == 1:
            return confidence, [()] * k
        doubt = margins(self.probabilities, self.labels)
        return confidence, choose_doubtful(self.texts, doubt, self.codes, k, n_doubtful)
