"""What a description holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase that sets a cluster apart, as the texts write it, and its weight."""

    term: str
    weight: float


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """One cluster in words and numbers.

    Attributes
    ----------
    cluster : int
        The cluster's id.
    label : str
        A short name, unique among the clusters.
    keywords : tuple of Keyword
        The best first; no two of them share a word.
    size : int
        How many texts it holds.
    share : float
        Its part of all texts, abstained ones included.
    mean_confidence : float
        The mean probability of its texts; NaN where no probabilities were given.
    examples : tuple of int
        Row numbers of typical texts, the most typical first.
    doubtful : tuple of int
        Row numbers of the texts with the smallest margin to another cluster, the smallest first.
    nearest : tuple of (int, float)
        The most similar other clusters, and the cosine of the means of the two.
    """

    cluster: int
    label: str
    keywords: tuple[Keyword, ...]
    size: int
    share: float
    mean_confidence: float
    examples: tuple[int, ...]
    doubtful: tuple[int, ...]
    nearest: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Description:
    """All clusters that hold texts, by ascending id."""

    clusters: tuple[ClusterDescription, ...]

    @property
    def labels(self) -> dict[int, str]:
        """The clusters' labels by id."""
        return {one.cluster: one.label for one in self.clusters}

    def with_labels(self, names: Mapping[int, str]) -> Description:
        """Return the same clusters with these labels by id; those without one keep theirs."""
        return Description(
            tuple(replace(one, label=names.get(one.cluster, one.label)) for one in self.clusters)
        )


class DescribeSettings(TypedDict, total=False):
    """The settings of `describe`, for functions that pass them on."""

    n_keywords: int
    n_examples: int
    n_doubtful: int
    n_nearest: int
    stop_words: str | Iterable[str] | None
    ngram_range: tuple[int, int]
