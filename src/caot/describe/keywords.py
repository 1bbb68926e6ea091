"""The keywords of each cluster: the best terms, no two of which say the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caot.describe.terms import TermKey, TermTable, count_terms
from caot.describe.tokens import is_run
from caot.describe.values import Keyword

_POOL = 8  # candidates for each keyword asked for
_RARE_SHARE = 0.5  # of the rarest word's texts have the phrase, for the phrase to speak for both
_COMMON_SHARE = 0.5  # and of the commonest word's
_FREQUENT_SHARE = 0.25  # enough where so many texts have the phrase that it is no chance
_FREQUENT = 3
_FRAGMENT_SHARE = 0.8  # of a run's texts have the longer run, for the shorter to be a fragment
_STEM_SHARE = 0.7  # of the longer word, for a common beginning to make two words alike
_MIN_STEM = 4
_MAX_ENDING = 3
_VERB_ENDING = re.compile(r"(?:ings?|ed|ers?|es?)$")
_ONCE = 0.5  # of its weight is left to a term that one text alone has


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A term of one cluster; `score` is the best weight of the terms that it speaks for."""

    key: TermKey
    surface: str
    score: float


def cluster_keywords(
    texts: Sequence[str],
    codes: NDArray[np.int64],
    n_clusters: int,
    *,
    n_keywords: int,
    stop_words: frozenset[str],
    ngram_range: tuple[int, int],
) -> list[tuple[Keyword, ...]]:
    """Choose the keywords of clusters numbered from 0 on, `codes` (n,).

    A cluster that has stop words only is described by them; one without any word has no keywords.
    """
    table = count_terms(texts, codes, n_clusters, stop_words=stop_words, ngram_range=ngram_range)
    chosen = [_choose(table, cluster, n_keywords) for cluster in range(n_clusters)]
    bare = np.array([not keywords for keywords in chosen])
    if bare.any() and stop_words:
        rows = np.flatnonzero(bare[codes])
        renumbered = np.cumsum(bare) - 1
        again = cluster_keywords(
            [texts[row] for row in rows.tolist()],
            renumbered[codes[rows]],
            int(bare.sum()),
            n_keywords=n_keywords,
            stop_words=frozenset(),
            ngram_range=ngram_range,
        )
        for cluster, keywords in zip(np.flatnonzero(bare).tolist(), again, strict=True):
            chosen[cluster] = keywords
    return chosen


def similar_words(first: str, second: str) -> bool:
    """Whether two folded words are forms of one: a long common beginning, short endings."""
    if first == second:
        return True
    if _stem(first) == _stem(second):
        return True
    shared = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        shared += 1
    endings = first[shared:], second[shared:]
    if any(character.isdigit() for ending in endings for character in ending):
        return False  # "v1" and "v2" are two things
    longest = max(len(first), len(second))
    return shared >= max(_MIN_STEM, _STEM_SHARE * longest) and max(map(len, endings)) <= _MAX_ENDING


def _stem(word: str) -> str:
    """Return an English word without the ending of a verb: debug, debugging; merge, merging."""
    stem = _VERB_ENDING.sub("", word)
    if len(stem) < _MIN_STEM:
        return word
    return stem[:-1] if stem[-1] == stem[-2] else stem


def similar_terms(first: TermKey, second: TermKey) -> bool:
    """Whether a reader of one term learns nothing from the other: they share a word."""
    if is_run(first[0]) and is_run(second[0]):
        return _overlap(first[0], second[0])
    if similar_words("".join(first), "".join(second)):
        return True  # "web part" and "webpart"
    return any(similar_words(a, b) for a in first for b in second)


def _choose(table: TermTable, cluster: int, n_keywords: int) -> tuple[Keyword, ...]:
    candidates = _candidates(table, cluster, _POOL * n_keywords)
    chosen: list[_Candidate] = []
    for candidate in candidates:
        if len(chosen) == n_keywords:
            break
        if not any(similar_terms(candidate.key, other.key) for other in chosen):
            chosen.append(candidate)
    return tuple(Keyword(one.surface, one.score) for one in chosen)


def _candidates(table: TermTable, cluster: int, pool: int) -> list[_Candidate]:
    """Return the cluster's best terms, the best first; phrases that are chance left out."""
    begin, end = table.weights.indptr[cluster : cluster + 2]
    terms, weights = table.weights.indices[begin:end], table.weights.data[begin:end]
    counts = np.zeros(len(table.keys), dtype=np.int64)
    counts[table.counts.indices[begin:end]] = table.counts.data[begin:end]
    weights = np.where(counts[terms] > 1, weights, _ONCE * weights)
    # A name that decides ties makes the choice independent of the order of the texts.
    best = np.lexsort((terms, -weights))[:pool]
    weight_of = dict(zip(terms[best].tolist(), weights[best].tolist(), strict=True))
    found = []
    for term, weight in weight_of.items():
        key, score = table.keys[term], weight
        if len(key) > 1:
            words = [table.index[(word,)] for word in key if (word,) in table.index]
            if not _is_phrase(table, counts, term, words):
                continue
            score = max([weight, *(weight_of.get(word, 0.0) for word in words)])
        elif is_run(key[0]) and _is_fragment(table, counts, term, weight_of):
            continue
        found.append(_Candidate(key, table.surfaces[term], score))
    # A phrase that has the weight of its word goes before it.
    return sorted(found, key=lambda one: (-one.score, -len(one.key)))


def _is_phrase(table: TermTable, counts: NDArray[np.int64], term: int, words: list[int]) -> bool:
    """Whether the cluster uses the words mostly together, in either order."""
    key = table.keys[term]
    together = int(counts[term])
    mirrored = table.index.get(key[::-1]) if key != key[::-1] else None
    if mirrored is not None:
        together += int(counts[mirrored])
    alone = [int(counts[word]) for word in words]
    least = _FREQUENT_SHARE if together >= _FREQUENT else _COMMON_SHARE
    return (
        together > 1
        and len(words) > 0
        and len(set(key)) == len(key)
        and together >= _RARE_SHARE * min(alone)
        and together >= least * max(alone)
    )


def _is_fragment(
    table: TermTable, counts: NDArray[np.int64], term: int, pool: dict[int, float]
) -> bool:
    """Whether a run of characters nearly always stands inside one longer run."""
    run = table.keys[term][0]
    return any(
        len(table.keys[other][0]) > len(run)
        and run in table.keys[other][0]
        and counts[other] >= _FRAGMENT_SHARE * counts[term]
        for other in pool
    )


def _overlap(first: str, second: str) -> bool:
    """Whether one run holds the other, or its end is half of the other's beginning."""
    if first in second or second in first:
        return True
    least = max(1, min(len(first), len(second)) // 2)
    return any(
        a.endswith(b[:size])
        for a, b in ((first, second), (second, first))
        for size in range(least, min(len(a), len(b)))
    )
