import logging

import pytest

from caot.augment import (
    Contextual,
    Custom,
    Dropout,
    FeatureNoise,
    Substitute,
    Views,
    WordDropout,
    masked_loading,
    resolve_augmenter,
)
from caot.encoders import Features
from tests.augment.conftest import WORDS


@pytest.fixture
def encoder(word_encoder):
    return word_encoder(WORDS)


class Wordless:
    """An encoder of texts with neither tokenizer nor input embedding."""

    module = None


@pytest.fixture
def models_are_here(monkeypatch):
    monkeypatch.setattr(masked_loading, "is_available", lambda name: True)


@pytest.fixture
def models_are_absent(monkeypatch):
    monkeypatch.setattr(masked_loading, "is_available", lambda name: False)


def resolve(spec, encoder=None, *, frozen=True, offline=False, changes_texts=True):
    return resolve_augmenter(
        spec, encoder=encoder, frozen=frozen, offline=offline, changes_texts=changes_texts
    )


@pytest.mark.usefixtures("models_are_here")
def test_auto_takes_masked_models_when_both_are_here(encoder):
    assert resolve("auto", encoder) == Contextual(local_files_only=True)


@pytest.mark.usefixtures("models_are_absent")
@pytest.mark.parametrize("frozen", [True, False])
def test_auto_takes_the_best_that_is_left_and_says_which(encoder, frozen, caplog):
    caplog.set_level(logging.INFO, "caot.augment")
    assert resolve("auto", encoder, frozen=frozen, offline=True) == Substitute()
    assert "'auto' takes 'substitute'" in caplog.text
    assert "roberta-base and bert-base-uncased" in caplog.text
    assert resolve("auto", Wordless(), frozen=frozen) == WordDropout()
    assert resolve("auto", None, frozen=frozen) == WordDropout()
    assert "'auto' takes 'word-dropout'" in caplog.text


def test_auto_needs_both_masked_models(encoder, monkeypatch):
    monkeypatch.setattr(masked_loading, "is_available", lambda name: name == "roberta-base")
    assert resolve("auto", encoder) == Substitute()


@pytest.mark.usefixtures("models_are_here")
def test_auto_takes_noise_for_vectors(caplog):
    caplog.set_level(logging.INFO, "caot.augment")
    assert resolve("auto", Features(3)) == FeatureNoise()
    assert "feature-noise" in caplog.text


@pytest.mark.usefixtures("models_are_here")
def test_auto_takes_noise_behind_a_frozen_encoder(encoder):
    assert resolve("auto", encoder, changes_texts=False) == FeatureNoise()
    learning = resolve("auto", encoder, frozen=False, changes_texts=False)
    assert learning == Contextual(local_files_only=True)
    assert resolve("substitute", encoder, changes_texts=False) == Substitute()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("contextual", Contextual()),
        ("substitute", Substitute()),
        ("word-dropout", WordDropout()),
        ("feature-noise", FeatureNoise()),
    ],
)
def test_names(encoder, name, expected):
    augmenter = resolve(name, encoder)
    assert augmenter == expected
    assert augmenter.name == name


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown augmenter 'eda'.*'auto', 'contextual'"):
        resolve("eda")


def test_augmenters_and_functions_pass(encoder):
    given = Views(["a"], ["b"])
    assert resolve(given, encoder) is given
    augmenter = resolve(lambda texts: (texts, texts), encoder)
    assert isinstance(augmenter, Custom)
    assert augmenter(["a"]).first == ["a"]


def test_classes_and_other_things_are_explained():
    with pytest.raises(TypeError, match=r"make one: WordDropout\(\.\.\.\)"):
        resolve(WordDropout)
    with pytest.raises(TypeError, match=r"Views\(first, second\)"):
        resolve((["a"], ["b"]))


def test_the_same_text_twice_needs_a_trained_encoder(encoder):
    assert resolve("dropout", encoder, frozen=False) == Dropout()
    with pytest.raises(ValueError, match="the two views would not differ") as caught:
        resolve(Dropout(), encoder, frozen=True)
    assert "finetune" in str(caught.value)


def test_noise_needs_vectors_that_stay(encoder):
    with pytest.raises(ValueError, match="finetune='none'"):
        resolve("feature-noise", encoder, frozen=False)


@pytest.mark.parametrize(
    "spec", ["substitute", "dropout", "word-dropout", "contextual", lambda texts: (texts, texts)]
)
def test_vectors_have_no_words(spec):
    with pytest.raises(ValueError, match="the inputs are vectors"):
        resolve(spec, Features(3))
    assert resolve("feature-noise", Features(3), frozen=False) == FeatureNoise()


def test_substitute_needs_words():
    with pytest.raises(ValueError, match=r"Substitute needs an encoder.*Wordless"):
        resolve("substitute", Wordless())


def test_offline_models_must_be_here(encoder, bert):
    with pytest.raises(OSError, match="'roberta-base' is not available"):
        resolve("contextual", encoder, offline=True)
    assert not resolve("contextual", encoder, offline=False).local_files_only
    here = resolve(Contextual(bert, rate=0.3), encoder, offline=True)
    assert here == Contextual(bert, rate=0.3, local_files_only=True)
