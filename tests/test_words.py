"""Vectors of the words of texts (Eq. 36)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from caot.vectors import unit_rows
from caot.words import Words, beside, words_in

THINGS = ("door", "window", "gate", "roof", "lock")
TEXTS = [f"mend the {thing}" for thing in THINGS] * 6


def words_of(texts: list[str], weight: float = 1.0, width: int = 100, seed: int = 0) -> Words:
    found = Words.of(texts, weight, width, random_state=seed)
    assert found is not None
    return found


def test_cosines_are_those_of_the_weighted_words_where_nothing_is_cut() -> None:
    """Words are fewer than dimensions."""
    found = words_of(TEXTS).vectors(TEXTS)
    weights = TfidfVectorizer(sublinear_tf=True, vocabulary=THINGS).fit_transform(TEXTS)
    np.testing.assert_allclose(found @ found.T, (weights @ weights.T).toarray(), atol=1e-5)


def test_the_leading_singular_vectors_where_words_are_many() -> None:
    rng = np.random.default_rng(0)
    names = np.array([f"name{number}" for number in range(40)])
    texts = [" ".join(rng.choice(names, 5)) for _ in range(200)]
    found = words_of(texts, width=7).vectors(texts)
    weights = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts).toarray()
    left, values, _ = np.linalg.svd(weights, full_matrices=False)
    expected = unit_rows(left[:, :7] * values[:7])
    # The sketch of a flat spectrum is not exact: nearly the same space is all that can be asked.
    assert np.mean(np.sum(found @ found.T * (expected @ expected.T), axis=1)) > 0.8 * np.mean(
        np.sum((expected @ expected.T) ** 2, axis=1)
    )


def test_emphasis_of_few_words_is_by_how_many_texts_have_them() -> None:
    """Of few words, each has a direction of its own; gate stands in twice as many texts."""
    texts = [*TEXTS, *["mend the gate"] * 6]
    words = words_of(texts)
    lengths = np.linalg.norm(words.emphasised(texts).directions, axis=0)
    strength = np.linalg.norm(
        TfidfVectorizer(vocabulary=words.vocabulary).fit_transform(texts).toarray(), axis=0
    )
    np.testing.assert_allclose(lengths, (strength / strength.max()) ** 2, rtol=1e-5)
    assert lengths.argmax() == words.vocabulary.index("gate")
    assert sorted(lengths)[-2] == pytest.approx(0.5)


def test_emphasis_of_words_that_are_many_is_by_singular_values() -> None:
    rng = np.random.default_rng(0)
    things = np.array([f"name{number}" for number in range(40)])
    likely = np.arange(40, 0, -1) / np.arange(1, 41).sum()
    texts = [" ".join(rng.choice(things, 3, p=likely)) for _ in range(300)]
    words = words_of(texts, width=3)
    weights = TfidfVectorizer(sublinear_tf=True, vocabulary=words.vocabulary).fit_transform(texts)
    values = np.linalg.svd(weights.toarray(), compute_uv=False)[:3]
    lengths = np.linalg.norm(words.emphasised(texts).directions, axis=0)
    np.testing.assert_allclose(lengths, (values / values[0]) ** 2, atol=0.05)
    assert lengths[-1] < 0.95


def test_emphasised_vectors_are_as_long_as_the_plain_ones() -> None:
    texts = [f"{text} {number % 7}7" for number, text in enumerate(TEXTS)]
    words = words_of(texts, weight=0.5).emphasised(texts)
    np.testing.assert_allclose(np.linalg.norm(words.vectors(texts), axis=1), 0.5, rtol=1e-5)
    assert words.directions.dtype == np.float32


def test_words_of_one_text_or_of_many_do_not_count() -> None:
    """A name that stands once, and a verb that most texts have."""
    named = [*TEXTS[:-1], f"{TEXTS[-1]} of Bartholomew"]
    assert set(words_of(named).vocabulary) == set(THINGS)


def test_words_are_those_of_scikit_learn_but_for_scripts_without_spaces() -> None:
    """A whole sentence must not count as a word, nor stand in a saved model as one."""
    text = "Where's the ORDER no. 42 of naïve Zoë, please?"
    assert words_in(text) == TfidfVectorizer(stop_words="english").build_analyzer()(text)
    assert words_in("订单还没有到 order") == ["订单", "单还", "还没", "没有", "有到", "order"]
    words = words_of(["我的订单还没有到", "订单什么时候到", "请退款", "我要退款"] * 3)
    assert max(map(len, words.vocabulary)) == 2


def test_new_texts_are_read_as_the_old_ones_were() -> None:
    words = words_of(TEXTS)
    known, new = words.vectors(["mend the door"]), words.vectors(["An unseen DOOR, mended!"])
    np.testing.assert_allclose(known, new, atol=1e-6)


def test_width_and_length() -> None:
    assert words_of(TEXTS, width=3).vectors(TEXTS).shape == (30, 3)
    words = words_of(TEXTS, weight=0.5)
    found = words.vectors(TEXTS)
    assert found.shape == (30, words.width)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 0.5, rtol=1e-5)
    assert words_of(TEXTS).width == len(THINGS)


def test_a_text_without_words_that_count_has_zeros() -> None:
    found = words_of(TEXTS).vectors([*TEXTS, "?!", "unknown"])
    assert not found[-2:].any()
    assert found[:-2].any(axis=1).all()


@pytest.mark.parametrize("texts", [["?", "!!"], ["alpha", "beta", "gamma"], ["same"] * 20, ["one"]])
def test_where_no_word_counts_there_is_nothing(texts: list[str]) -> None:
    assert Words.of(texts, 0.5) is None


def test_the_same_seed_gives_the_same_words() -> None:
    first, second = (words_of(TEXTS, width=3, seed=4) for _ in range(2))
    assert first.digest() == second.digest()
    assert first.digest() != words_of(TEXTS, weight=0.5, width=3, seed=4).digest()


def test_saved_words_give_the_same_vectors(tmp_path: Path) -> None:
    texts = [*TEXTS, "réparer le toit", "réparer le toit"]
    words = words_of(texts, width=3)
    words.save(tmp_path)
    loaded = Words.load(tmp_path)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.vectors(texts), words.vectors(texts))
    assert loaded.digest() == words.digest()


def test_a_folder_without_words_has_none(tmp_path: Path) -> None:
    assert Words.load(tmp_path) is None


def test_beside_is_equation_36() -> None:
    rng = np.random.default_rng(0)
    vectors, words = rng.normal(size=(6, 4)).astype(np.float32), unit_rows(rng.normal(size=(6, 3)))
    joined = unit_rows(beside(vectors, 0.5 * words))
    expected = unit_rows(vectors) @ unit_rows(vectors).T + 0.25 * words @ words.T
    np.testing.assert_allclose(joined @ joined.T, expected / 1.25, atol=1e-6)
    assert beside(vectors, None) is vectors
