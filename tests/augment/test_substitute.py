import numpy as np
import pytest

from caot.augment import Substitute
from caot.augment.substitute import substitute_words
from caot.augment.word_space import Neighbors
from caot.augment.words import n_changed, split_words, text_generator
from caot.encoders import Features
from tests.augment.conftest import HARD_TEXTS, TEXTS, WORDS

CONTENT = [word for word in WORDS if word not in {"the", "a", "how", "do", "you"}]
PARTNER = {word: CONTENT[i ^ 1] for i, word in enumerate(CONTENT) if i ^ 1 < len(CONTENT)}
LONG = " ".join(CONTENT[:12])


@pytest.fixture
def encoder(word_encoder):
    return word_encoder(CONTENT)


def test_words_become_their_neighbours_at_the_rate(encoder):
    for rate in (0.1, 0.25, 0.5, 1.0):
        augmenter = Substitute(rate, min_similarity=-1.0, min_word_similarity=0.7)
        views = augmenter([LONG], encoder=encoder)
        # With one neighbour each and all words replaced, a second view could only repeat the first.
        for view in views if rate < 1.0 else views[:1]:
            pairs = list(zip(LONG.split(), view[0].split(), strict=True))
            changed = [(old, new) for old, new in pairs if old != new]
            assert len(changed) == n_changed(rate, 12)
            assert all(PARTNER[old] == new for old, new in changed)


def test_function_words_and_unknown_words_stay(encoder):
    text = "How do you query the unheard database?"
    for seed in range(10):
        view = Substitute(1.0, min_similarity=-1.0)([text], encoder=encoder, random_state=seed)
        for words in (view.first[0].split(), view.second[0].split()):
            assert words[:3] == ["How", "do", "you"]
            assert words[4:6] == ["the", "unheard"]
            assert words[3] != "query"
            assert words[6] != "database?"
            assert words[6].endswith("?")


def test_a_text_that_moves_too_far_loses_words_instead(encoder):
    strict = Substitute(0.5, min_similarity=0.999999)
    for view in strict([LONG], encoder=encoder):
        assert len(view[0].split()) == 6
        assert set(view[0].split()) <= set(LONG.split())


def test_a_rejected_text_is_drawn_again_with_one_word(encoder):
    augmenter = Substitute(1.0, min_word_similarity=-1.0, n_neighbors=30, min_similarity=0.8)
    views = augmenter([LONG], encoder=encoder)
    original = encoder.encode([LONG])[0]
    for view in views:
        n_new = sum(a != b for a, b in zip(LONG.split(), view[0].split(), strict=True))
        assert n_new == 1
        vector = encoder.encode(view)[0]
        cosine = vector @ original / np.linalg.norm(vector) / np.linalg.norm(original)
        assert cosine >= 0.8


def test_a_text_without_neighbours_loses_words(encoder):
    views = Substitute()(["nothing known here", "unknown"], encoder=encoder)
    assert all(len(view[0].split()) == 2 for view in views)
    assert views.first[0] != views.second[0]
    assert views.first[1] == views.second[1] == "unknown"


def test_views_differ_where_another_draw_exists(encoder):
    augmenter = Substitute(0.1, min_similarity=-1.0, min_word_similarity=0.7)
    texts = ["query result", "excel spring apple", "java brain"]
    for seed in range(20):
        views = augmenter(texts, encoder=encoder, random_state=seed)
        assert all(first != second for first, second in zip(*views, strict=True))


def test_a_second_view_that_can_only_repeat_the_first_loses_words(encoder):
    augmenter = Substitute(n_neighbors=1, min_similarity=-1.0, min_word_similarity=0.7)
    views = augmenter(["unheard query", "query"], encoder=encoder)
    assert views.first == [f"unheard {PARTNER['query']}", PARTNER["query"]]
    assert views.second[0] in ("unheard", "query")
    assert views.second[1] == "query"


def test_views_depend_on_text_and_seed_alone(encoder):
    augmenter = Substitute(0.3)
    base = augmenter([LONG, *TEXTS], encoder=encoder)
    assert augmenter([LONG, *TEXTS], encoder=encoder) == base
    alone = augmenter([LONG], encoder=encoder)
    assert (alone.first[0], alone.second[0]) == (base.first[0], base.second[0])
    assert augmenter([LONG], encoder=encoder, random_state=1) != alone


def test_each_distinct_text_is_encoded_once(encoder):
    views = Substitute(min_similarity=-1.0)([LONG, "", LONG], encoder=encoder)
    assert encoder.n_encoded == 3  # the text and its two views
    assert views.first[0] == views.first[2]
    assert views.first[1] == ""


def test_neighbours_are_drawn_evenly():
    neighbors = {"word": Neighbors(["one", "two", "three"], [0.9, 0.5, 0.4])}
    drawn = [
        substitute_words("word", neighbors, 0.2, text_generator(seed, "", ""))
        for seed in range(600)
    ]
    shares = [drawn.count(word) / 600 for word in ("one", "two", "three")]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.06)
    assert substitute_words("other", neighbors, 0.2, text_generator(0, "", "")) is None


def test_hard_texts_pass(encoder):
    views = Substitute(0.5)([*HARD_TEXTS, *TEXTS], encoder=encoder)
    for view in views:
        assert len(view) == len(HARD_TEXTS) + len(TEXTS)
        assert all(split_words(text) for text in view[-len(TEXTS) :])


def test_an_encoder_is_needed():
    with pytest.raises(ValueError, match="pass encoder="):
        Substitute()(["text"])
    with pytest.raises(ValueError, match="has no words to substitute"):
        Substitute()(["text"], encoder=Features(3))


@pytest.mark.parametrize(
    "settings",
    [{"rate": 0}, {"n_neighbors": 0}, {"min_similarity": 1.0}, {"min_word_similarity": -2.0}],
)
def test_wrong_settings_are_refused_when_made(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Substitute(**settings)
