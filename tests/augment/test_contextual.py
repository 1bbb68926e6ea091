import numpy as np
import pytest

from caot.augment import Contextual, masked_loading
from caot.augment.cache import ViewCache
from caot.augment.contextual import draw_candidates
from caot.augment.masked_model import MaskedModel
from caot.augment.words import fold, n_changed, split_words
from tests.augment.conftest import HARD_TEXTS, TEXTS

LONG = "how do you page query result set client directory window studio user brain fluid delay java"


@pytest.fixture
def contextual(roberta, bert, cache_dir):
    def make(**settings):
        return Contextual(**{"models": (roberta, bert), **settings})

    return make


def changes(text, view):
    """Return (old, new) of the words that differ; all other characters must agree."""
    old, new = split_words(text), split_words(view)
    assert len(old) == len(new)
    return [(a.text, b.text) for a, b in zip(old, new, strict=True) if a.text != b.text]


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 1.0])
def test_the_rate_of_words_is_replaced(contextual, rate):
    texts = [LONG, *TEXTS]
    for view in contextual(rate=rate, cache=False)(texts):
        for text, changed in zip(texts, view, strict=True):
            assert len(changes(text, changed)) == n_changed(rate, len(split_words(text)))


def test_new_words_are_whole_words_of_the_model_and_never_the_same(contextual, roberta, bert):
    texts = [*TEXTS, "JAVA Query", "Query query QUERY", "été Été", LONG]
    vocabularies = [
        {word.lower() for word in masked_loading.load_masked_model(name).words}
        for name in (roberta, bert)
    ]
    augmenter = contextual(rate=1.0, cache=False)
    for seed in range(10):
        views = augmenter(texts, random_state=seed)
        for view, vocabulary in zip(views, vocabularies, strict=True):
            for text, changed in zip(texts, view, strict=True):
                pairs = changes(text, changed)
                assert len(pairs) == len(split_words(text))
                for old, new in pairs:
                    assert new.lower() in vocabulary
                    assert fold(old) != fold(new)


def test_everything_around_the_words_stays(contextual):
    text = "  How,\tdo (you) page...  😀 collection?! "
    for view in contextual(rate=1.0, cache=False)([text]):
        shape = "".join("w" if c.isalpha() else c for c in view[0])
        assert "".join(shape.replace("w", "").split("w")) == "  ,\t () ...  😀 ?! "


def test_views_depend_on_text_model_settings_and_seed_alone(contextual):
    base = contextual(cache=False, rate=0.4)(TEXTS)
    assert contextual(cache=False, rate=0.4)(TEXTS) == base
    for size in (1, 2, 5, 100):
        assert contextual(cache=False, rate=0.4, batch_size=size)(TEXTS) == base
    backwards = contextual(cache=False, rate=0.4)(TEXTS[::-1])
    assert backwards.first[::-1] == base.first
    assert backwards.second[::-1] == base.second
    alone = contextual(cache=False, rate=0.4)(TEXTS[2:3])
    assert (alone.first[0], alone.second[0]) == (base.first[2], base.second[2])
    assert contextual(cache=False, rate=0.4)(TEXTS, random_state=1) != base


def test_equal_texts_get_equal_views_and_blank_texts_pass(contextual):
    views = contextual(cache=False)([LONG, "", LONG, " "])
    assert views.first[0] == views.first[2] != LONG
    assert views.first[1::2] == views.second[1::2] == ["", " "]


def test_one_model_gives_two_views(contextual, bert):
    views = contextual(models=bert, cache=False, rate=0.3)([*TEXTS, LONG])
    assert views == contextual(models=(bert, bert), cache=False, rate=0.3)([*TEXTS, LONG])
    assert views.first != views.second


def test_two_views_of_one_model_are_kept_apart(contextual, bert):
    fresh = contextual(models=bert, cache=False, rate=0.3)([*TEXTS, LONG])
    for _ in range(2):
        assert contextual(models=bert, rate=0.3)([*TEXTS, LONG]) == fresh


def test_fewer_candidates_narrow_the_draw(contextual, bert):
    def drawn(top_k):
        augmenter = contextual(models=bert, cache=False, top_k=top_k)
        return {augmenter(["java"], random_state=seed).first[0] for seed in range(12)}

    assert len(drawn(1)) == 1
    assert len(drawn(2)) <= 2
    assert len(drawn(100)) > 2


def test_candidates_are_drawn_by_probability():
    logits = np.log([[0.5, 0.2, 0.3], [0.1, 0.9, 0.0]], where=[[True] * 3, [True, True, False]],
                    out=np.full((2, 3), -np.inf))  # fmt: skip
    columns = np.array([[4, 7, 9], [1, 2, 3]])
    levels = np.random.default_rng(0).random(20_000)
    draws = np.array([draw_candidates(columns, logits, np.full(2, 1 - level)) for level in levels])
    shares = [(draws[:, 0] == column).mean() for column in (4, 7, 9)]
    np.testing.assert_allclose(shares, [0.5, 0.2, 0.3], atol=0.02)
    assert set(draws[:, 1]) == {1, 2}
    assert draw_candidates(columns, logits, np.array([1.0, 1.0])) == [9, 2]
    assert draw_candidates(columns, logits, np.array([1e-300, 1e-300])) == [4, 1]


def test_words_beyond_the_maximum_length_stay(contextual):
    text = " ".join(["java"] * 300)
    for view in contextual(rate=0.5, max_length=16, cache=False)([text]):
        words = view[0].split()
        assert words[14:] == ["java"] * 286
        assert sum(word != "java" for word in words[:14]) == 7


def test_hard_texts_pass(contextual):
    views = contextual(rate=0.5, cache=False)(HARD_TEXTS)
    for view in views:
        assert view[0] == HARD_TEXTS[0]  # emoji alone: no word
        assert len(view) == len(HARD_TEXTS)
    assert views.second[1] != HARD_TEXTS[1]  # the tiny BERT knows these characters
    assert len(views.second[1]) == len(HARD_TEXTS[1])


@pytest.fixture
def forward_counter(monkeypatch):
    calls = []
    original = MaskedModel.fill
    monkeypatch.setattr(
        MaskedModel, "fill", lambda *args, **kw: calls.append(1) or original(*args, **kw)
    )
    return calls


def test_known_views_need_no_model(contextual, forward_counter, monkeypatch):
    first = contextual()(TEXTS)
    assert forward_counter
    forward_counter.clear()
    monkeypatch.setattr(masked_loading, "load_masked_model", lambda *_, **__: pytest.fail("loaded"))
    assert contextual(batch_size=3)(TEXTS[::-1] + TEXTS).first[len(TEXTS) :] == first.first
    assert not forward_counter


def test_only_new_texts_are_filled(contextual, forward_counter):
    known = contextual(batch_size=1)(TEXTS)
    forward_counter.clear()
    more = contextual(batch_size=1)([*TEXTS, LONG])
    assert len(forward_counter) == 2  # one text, two views
    assert more.first[:-1] == known.first
    assert more == contextual(cache=False)([*TEXTS, LONG])


@pytest.mark.parametrize(
    "change", [{"rate": 0.7}, {"top_k": 5}, {"max_length": 8}, {"random_state": 1}]
)
def test_other_settings_are_not_mixed_up(contextual, change):
    seed = change.pop("random_state", 0)
    contextual()(TEXTS)
    cached = contextual(**change)(TEXTS, random_state=seed)
    assert cached == contextual(**change, cache=False)(TEXTS, random_state=seed)


def test_other_weights_are_not_mixed_up(contextual, bert, roberta, tmp_path):
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    before = contextual(models=str(folder))([LONG])
    shutil.rmtree(folder)
    shutil.copytree(roberta, folder)
    assert contextual(models=str(folder))([LONG]) != before


def test_a_damaged_cache_changes_nothing(contextual, cache_dir):
    views = contextual()(TEXTS)
    ViewCache(cache_dir, "").path.write_bytes(b"damaged" * 1000)
    assert contextual()(TEXTS) == views
    assert contextual()(TEXTS) == views


def test_the_cache_can_be_elsewhere_or_off(contextual, cache_dir, tmp_path):
    contextual(cache=False)(TEXTS)
    assert not cache_dir.exists()
    contextual(cache_dir=tmp_path / "elsewhere")(TEXTS)
    assert not cache_dir.exists()
    assert ViewCache(tmp_path / "elsewhere", "").path.exists()


def test_a_stop_loses_little(contextual, monkeypatch, forward_counter):
    texts = [f"{LONG} {i}" for i in range(40)]
    monkeypatch.setattr("caot.augment.contextual._STORE_EVERY", 2)
    original = Contextual._batch

    def stopping(self, *args):
        if len(forward_counter) == 5:
            raise KeyboardInterrupt
        return original(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Contextual, "_batch", stopping)
        with pytest.raises(KeyboardInterrupt):
            contextual(batch_size=4)(texts)
    forward_counter.clear()
    views = contextual(batch_size=4)(texts)
    assert len(forward_counter) == 20 - 4  # two batches a write: four of five are kept
    assert views == contextual(cache=False)(texts)


def test_progress_is_shown_when_asked_and_changes_nothing(contextual, capsys):
    quiet = contextual(cache=False)(TEXTS)
    assert "contextual view" not in capsys.readouterr().err
    assert contextual(cache=False)(TEXTS, progress=True) == quiet
    assert "contextual view 1 of 2" in capsys.readouterr().err


def test_absent_models_are_explained(cache_dir):
    with pytest.raises(OSError, match="'roberta-base' is not available"):
        Contextual(local_files_only=True)(["text"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"models": ()}, "models must name"),
        ({"models": ("a", "b", "c")}, "models must name"),
        ({"models": ""}, "models must name"),
        ({"rate": 0.0}, "rate"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"max_length": 2}, "max_length must be at least 8"),
    ],
)
def test_wrong_settings_are_refused_when_made(settings, message):
    with pytest.raises(ValueError, match=message):
        Contextual(**settings)
