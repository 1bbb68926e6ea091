"""Vectors of the words of texts (Eq. 36)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from caot.neighbours import unit_rows
from caot.words import beside, word_vectors

THINGS = ("door", "window", "gate", "roof", "lock")
TEXTS = [f"mend the {thing}" for thing in THINGS] * 6


def vectors_of(texts: list[str], width: int = 100, seed: int = 0) -> NDArray[np.float32]:
    found = word_vectors(texts, width, random_state=seed)
    assert found is not None
    return found


def test_cosines_are_those_of_the_weighted_words_where_nothing_is_cut() -> None:
    """Words are fewer than dimensions."""
    found = vectors_of(TEXTS)
    weights = TfidfVectorizer(sublinear_tf=True, vocabulary=THINGS).fit_transform(TEXTS)
    np.testing.assert_allclose(found @ found.T, (weights @ weights.T).toarray(), atol=1e-5)


def test_words_of_one_text_or_of_many_do_not_count() -> None:
    """A name that stands once, and a verb that most texts have, leave the cosines alone."""
    usual = vectors_of(TEXTS)
    named = vectors_of([*TEXTS[:-1], f"{TEXTS[-1]} of Bartholomew"])
    np.testing.assert_allclose(named @ named.T, usual @ usual.T, atol=1e-5)
    short = vectors_of([*TEXTS, "door"])
    np.testing.assert_allclose(short[-1], short[TEXTS.index("mend the door")], atol=1e-5)


def test_width_and_length() -> None:
    assert vectors_of(TEXTS, width=3).shape == (30, 3)
    found = vectors_of(TEXTS)
    assert found.shape == (30, len(THINGS))
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-5)


def test_a_text_without_words_that_count_has_zeros() -> None:
    found = vectors_of([*TEXTS, "?!"])
    assert not found[-1].any()
    assert found[:-1].any(axis=1).all()


@pytest.mark.parametrize("texts", [["?", "!!"], ["alpha", "beta", "gamma"], ["same"] * 20, ["one"]])
def test_where_no_word_counts_there_is_nothing(texts: list[str]) -> None:
    assert word_vectors(texts) is None


def test_the_same_seed_gives_the_same_vectors() -> None:
    np.testing.assert_array_equal(vectors_of(TEXTS, 3, seed=4), vectors_of(TEXTS, 3, seed=4))


def test_beside_is_equation_36() -> None:
    rng = np.random.default_rng(0)
    vectors, words = rng.normal(size=(6, 4)).astype(np.float32), unit_rows(rng.normal(size=(6, 3)))
    joined = unit_rows(beside(vectors, words, 0.5))
    expected = unit_rows(vectors) @ unit_rows(vectors).T + 0.25 * words @ words.T
    np.testing.assert_allclose(joined @ joined.T, expected / 1.25, atol=1e-6)
    assert beside(vectors, None, 0.5) is vectors
    assert beside(vectors, words, 0.0) is vectors
