from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caot.augment.words import (
    check_rate,
    draw_words,
    fold,
    match_case,
    n_changed,
    replace_words,
    split_words,
    text_generator,
)
from tests.augment.conftest import HARD_TEXTS


def bare(text):
    return [word.text for word in split_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("How do you (page), a collection?", ["How", "do", "you", "page", "a", "collection"]),
        (".Net and C#, C++! 50% of #topic @name", [".Net", "and", "C#", "C++", "50%", "of"]),
        ("state-of-the-art it's e.g. ...and", ["state-of-the-art", "it's", "e.g", "and"]),
        ("-- & 😀 ... 64bit", ["64bit"]),
        ("cool😀 «mot»", ["cool", "mot"]),
        ("数据库java！ 好", ["数", "据", "库", "java", "好"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("ที่", ["ที่"]),
        ("", []),
        (" \t\n ", []),
    ],
)
def test_words_without_the_punctuation_around_them(text, words):
    assert bare(text)[: len(words)] == words
    if "#topic" in text:
        assert bare(text)[-2:] == ["#topic", "@name"]
    else:
        assert len(bare(text)) == len(words)


@given(st.text(max_size=60))
def test_spans_are_ordered_and_hold_the_word(text):
    words = split_words(text)
    for word in words:
        assert text[word.start : word.end] == word.text
        assert word.outer_start <= word.start < word.end <= word.outer_end
        assert any(character.isalnum() for character in word.text)
    for before, after in pairwise(words):
        assert before.outer_end <= after.outer_start


@given(st.text(max_size=60))
def test_replacing_keeps_everything_around_the_words(text):
    words = split_words(text)
    replaced = replace_words(text, dict.fromkeys(words, "XX"))
    same = {word: word.text for word in words if not word.text.islower()}
    assert replace_words(text, same) == text
    assert len(replaced) == len(text) + sum(2 - len(word.text) for word in words)


def test_replacements_take_the_capitals_of_the_word():
    text = "Query the DATABASE, ok"
    words = split_words(text)
    new = dict(zip(words, ["ask", "an", "disk", "Yes"], strict=True))
    assert replace_words(text, new) == "Ask an DISK, Yes"
    assert match_case("an", like="I") == "An"
    assert match_case("iPhone", like="GADGET") == "iPhone"


@pytest.mark.parametrize(
    ("rate", "n", "expected"), [(0.1, 3, 1), (0.1, 26, 3), (1.0, 4, 4), (0, 5, 1)]
)
def test_at_least_one_word_changes(rate, n, expected):
    assert n_changed(rate, n) == expected


def test_no_word_of_none_changes():
    assert n_changed(0.5, 0) == 0


def test_fold_ignores_case_accents_and_marks_of_names():
    assert fold("Café") == fold("CAFE\u0301") == fold("cafe")
    assert fold("#Java") == fold("java")
    assert fold("java") != fold("javac")


def test_generators_depend_on_seed_purpose_and_text():
    def first(*parts):
        return text_generator(*parts).integers(2**60)

    assert first(0, "a", "text") == first(0, "a", "text")
    others = {
        first(0, "a", "text"),
        first(1, "a", "text"),
        first(0, "b", "text"),
        first(0, "a", "t"),
    }
    assert len(others) == 4


def test_draws_come_in_the_order_of_the_text_without_repeats():
    words = split_words("one two three four five six seven eight")
    for seed in range(20):
        drawn = draw_words(words, 4, text_generator(seed, "", ""))
        assert len(set(drawn)) == 4
        assert drawn == sorted(drawn, key=lambda word: word.start)
    assert draw_words(words[:2], 5, text_generator(0, "", "")) == words[:2]


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, float("nan")])
def test_a_rate_that_is_no_share_is_refused(rate):
    with pytest.raises(ValueError, match="rate must lie in"):
        check_rate(rate)


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_words_of_hard_texts_lie_in_the_text_in_order(text):
    words = split_words(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    starts = [word.start for word in words]
    assert starts == sorted(set(starts))
