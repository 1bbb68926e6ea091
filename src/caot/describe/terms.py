"""How often each cluster uses each term, and the term's class-based TF-IDF weight there.

A term is a class of surface forms: capitals, hyphens and a plural in -s do not make another one.
A text counts once for a term, however often it repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from caot.describe.tokens import WEAK, Analyser, term_key

TermKey: TypeAlias = tuple[str, ...]

_NO_PLURAL = frozenset({"news", "means", "goods", "always", "does"})
_MIN_SINGULAR = 3
_INNER_CAPITAL = 3
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_MIN_PHRASE_TEXTS = 2  # a phrase that occurs once is chance


@dataclass(frozen=True, slots=True, eq=False)
class TermTable:
    """Terms and their use by k clusters.

    Attributes
    ----------
    surfaces : list of str
        The commonest form of each of the t terms.
    keys : list of tuple of str
        The words of each term in the form by which they are compared.
    index : mapping
        The number of the term that has a key.
    counts : (k, t) sparse
        How many texts of a cluster have a term.
    weights : (k, t) sparse
        Class-based TF-IDF.
    """

    surfaces: list[str]
    keys: list[TermKey]
    index: Mapping[TermKey, int]
    counts: scipy.sparse.csr_array
    weights: scipy.sparse.csr_array


def count_terms(
    texts: Sequence[str],
    codes: NDArray[np.int64],
    n_clusters: int,
    *,
    stop_words: frozenset[str],
    ngram_range: tuple[int, int],
) -> TermTable:
    """Count the terms of texts whose clusters are numbered from 0 on, `codes` (n,)."""
    analyse = Analyser(stop_words, ngram_range)
    occurrences = [analyse(text) for text in texts]
    if not any(occurrences):
        return _empty_table(n_clusters)
    vectoriser = CountVectorizer(analyzer=_as_given, dtype=np.int64)
    by_form = vectoriser.fit_transform(occurrences)
    forms: list[str] = vectoriser.get_feature_names_out().tolist()
    totals = np.asarray(by_form.sum(axis=0)).ravel()
    keys, group = _group(forms, totals)
    by_term = _in_texts(by_form, group, len(keys))
    kept = _worth_keeping(keys, by_term)
    surfaces = _commonest_forms(forms, totals, group, len(keys))
    keys = [keys[i] for i in kept.tolist()]
    members = scipy.sparse.csr_array(
        (np.ones(len(codes), dtype=np.int64), (codes, np.arange(len(codes)))),
        shape=(n_clusters, len(codes)),
    )
    counts = scipy.sparse.csr_array(members @ by_term[:, kept])
    return TermTable(
        [surfaces[i] for i in kept.tolist()],
        keys,
        {key: i for i, key in enumerate(keys)},
        counts,
        class_tfidf(counts),
    )


def class_tfidf(counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Weight the terms of each class: share in the class times log(1 + A / f).

    f is how often all classes together have the term, A how many terms a class has on average.
    """
    per_class = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    per_term = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    inverse = np.log1p(per_class.mean() / np.maximum(per_term, 1))
    share = scipy.sparse.diags_array(1 / np.maximum(per_class, 1))
    return scipy.sparse.csr_array(share @ counts @ scipy.sparse.diags_array(inverse))


def _as_given(terms: list[str]) -> list[str]:
    return terms


def _group(forms: list[str], totals: NDArray[np.int64]) -> tuple[list[TermKey], NDArray[np.int64]]:
    """Return the distinct keys of the forms, and the number of each form's key."""
    singular = _singulars(forms, totals)
    numbers: dict[TermKey, int] = {}
    group = np.empty(len(forms), dtype=np.int64)
    for i, form in enumerate(forms):
        key = tuple(singular.get(word, word) for word in term_key(form))
        group[i] = numbers.setdefault(key, len(numbers))
    return list(numbers), group


def _singulars(forms: list[str], totals: NDArray[np.int64]) -> dict[str, str]:
    """Return the singular of every plural in -s of which both occur, as "logins": "login".

    A name is no plural of a common word: "Windows" is not several of "window".
    """
    named: dict[str, int] = {}
    for form, total in zip(forms, totals.tolist(), strict=True):
        if " " not in form and not form.startswith(WEAK):
            key = term_key(form)[0]
            named[key] = named.get(key, 0) + (total if form[0].isupper() else -total)
        elif " " not in form:
            named.setdefault(term_key(form)[0], 0)
    found = {}
    for plural, capitals in named.items():
        for singular in _possible_singulars(plural):
            clash = named.get(singular, 0) * capitals < 0
            if singular in named and not clash:
                found[plural] = singular
                break
    return found


def _possible_singulars(word: str) -> list[str]:
    if word in _NO_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return []
    candidates = [word[:-1]]
    if word.endswith("ies"):
        candidates.append(word[:-3] + "y")
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
        candidates.append(word[:-2])
    return [one for one in candidates if len(one) >= _MIN_SINGULAR]


def _in_texts(
    by_form: scipy.sparse.csr_matrix, group: NDArray[np.int64], n_terms: int
) -> scipy.sparse.csr_array:
    """Return which texts have which terms, (n, t), ones and zeros."""
    belongs = scipy.sparse.csr_array(
        (np.ones(len(group), dtype=np.int64), (np.arange(len(group)), group)),
        shape=(len(group), n_terms),
    )
    by_term = scipy.sparse.csr_array(scipy.sparse.csr_array(by_form) @ belongs)
    by_term.data[:] = 1
    return by_term


def _worth_keeping(keys: list[TermKey], by_term: scipy.sparse.csr_array) -> NDArray[np.int64]:
    n_texts = np.asarray(by_term.sum(axis=0)).ravel()
    number = {key: i for i, key in enumerate(keys)}
    mirrored = np.array([number.get(key[::-1], i) for i, key in enumerate(keys)])
    n_texts = np.where(mirrored == np.arange(len(keys)), n_texts, n_texts + n_texts[mirrored])
    is_word = np.fromiter((len(key) == 1 for key in keys), dtype=np.bool_, count=len(keys))
    return np.flatnonzero(is_word | (n_texts >= _MIN_PHRASE_TEXTS))


def _commonest_forms(
    forms: list[str], totals: NDArray[np.int64], group: NDArray[np.int64], n_terms: int
) -> list[str]:
    """Return the form in which each term is met most; capitals of a sentence's start count last.

    Capitals inside a word (iPhone, WordPress) are deliberate, lower case may be haste: they count
    more.
    """
    weak = np.fromiter((form.startswith(WEAK) for form in forms), dtype=np.bool_, count=len(forms))
    mixed = np.fromiter(map(_has_inner_capital, forms), dtype=np.bool_, count=len(forms))
    order = np.lexsort((-totals * np.where(mixed, _INNER_CAPITAL, 1), weak & ~mixed, group))
    first = order[np.searchsorted(group[order], np.arange(n_terms))]
    return [forms[i].removeprefix(WEAK) for i in first.tolist()]


def _has_inner_capital(form: str) -> bool:
    return _INNER.search(form) is not None


def _empty_table(n_clusters: int) -> TermTable:
    nothing = scipy.sparse.csr_array((n_clusters, 0), dtype=np.int64)
    return TermTable([], [], {}, nothing, nothing.astype(np.float64))
