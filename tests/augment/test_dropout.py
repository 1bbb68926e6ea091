import pytest

from caot.augment import Dropout, TextViews, WordDropout
from caot.augment.words import n_changed, split_words
from tests.augment.conftest import HARD_TEXTS, TEXTS

LONG = "one two three four five six seven eight nine ten"


def test_dropout_gives_the_same_text_twice():
    views = Dropout()(["b", "a", "b", ""])
    assert views == TextViews(["b", "a", "b", ""], ["b", "a", "b", ""])
    assert views.first is not views.second
    assert Dropout().identical


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 0.9, 1.0])
def test_the_rate_of_words_is_deleted_and_one_is_kept(rate):
    views = WordDropout(rate)([LONG, "two words", "one"])
    for view in views:
        assert len(view[0].split()) == max(1, 10 - n_changed(rate, 10))
        assert len(view[1].split()) == 1
        assert view[2] == "one"


def test_kept_words_keep_their_order_and_punctuation():
    text = "First, (second) third; fourth: 'fifth'!"
    for seed in range(20):
        view = WordDropout(0.4)([text], random_state=seed).first[0]
        tokens = view.split(" ")
        assert len(tokens) == 3
        assert [token for token in text.split() if token in tokens] == tokens


def test_views_differ_wherever_two_words_stand():
    for seed in range(50):
        views = WordDropout(0.1)(["two words", LONG, "a b c"], random_state=seed)
        assert all(first != second for first, second in zip(*views, strict=True))


def test_views_depend_on_text_and_seed_alone():
    alone = WordDropout()([LONG])
    among = WordDropout()(["other text here", LONG, "", LONG])
    assert (among.first[1], among.second[1]) == (alone.first[0], alone.second[0])
    assert among.first[1] == among.first[3]
    assert among.second[1] == among.second[3]
    assert among.first[2] == ""
    seeds = {WordDropout()([LONG], random_state=seed).first[0] for seed in range(20)}
    assert len(seeds) > 5


def test_deleting_in_unspaced_text_removes_characters():
    view = WordDropout(0.3)(["我你他好学习数据库文"]).first[0]
    assert len(view) == 7


@pytest.mark.parametrize("augmenter", [Dropout(), WordDropout()])
def test_hard_texts_pass(augmenter):
    texts = [*TEXTS, *HARD_TEXTS, "", "  "]
    views = augmenter(texts)
    for view in views:
        assert len(view) == len(texts)
        assert view[-2:] == ["", "  "]
        for text, changed in zip(texts, view, strict=True):
            assert bool(split_words(text)) == bool(split_words(changed))


def test_a_wrong_rate_is_refused_when_made():
    with pytest.raises(ValueError, match="rate"):
        WordDropout(0.0)
