import subprocess
import sys

import pytest

from caot.augment import (
    Augmenter,
    Contextual,
    Custom,
    Dropout,
    FeatureNoise,
    Substitute,
    Views,
    WordDropout,
)
from caot.augment.protocol import augment_distinct

ALL = [
    Contextual(),
    Substitute(),
    WordDropout(),
    Dropout(),
    FeatureNoise(),
    Views(["a"], ["b"]),
    Custom(lambda texts: (texts, texts)),
]


@pytest.mark.parametrize("augmenter", ALL, ids=lambda augmenter: augmenter.name)
def test_every_augmenter_keeps_the_contract(augmenter):
    assert isinstance(augmenter, Augmenter)
    assert augmenter.name
    assert augmenter.identical is isinstance(augmenter, Dropout)
    with pytest.raises((AttributeError, TypeError)):
        augmenter.rate = 0.5  # frozen
    with pytest.raises(AttributeError):
        augmenter.__dict__  # noqa: B018 - slots


@pytest.mark.parametrize("augmenter", ALL, ids=lambda augmenter: augmenter.name)
def test_wrong_inputs_are_named(augmenter):
    encoder = object()
    with pytest.raises(TypeError, match="sequence of texts, not a single string"):
        augmenter("text", encoder=encoder)
    with pytest.raises(TypeError, match="Row 1 is of type float"):
        augmenter(["text", float("nan")], encoder=encoder)


def test_each_distinct_text_is_augmented_once():
    seen = []

    def views_of(texts):
        seen.extend(texts)
        return [text + "1" for text in texts], [text + "2" for text in texts]

    views = augment_distinct(["b", "a", "", "b", " "], views_of)
    assert seen == ["b", "a"]
    assert views.first == ["b1", "a1", "", "b1", " "]
    assert views.second == ["b2", "a2", "", "b2", " "]


def test_nothing_is_called_without_texts():
    assert augment_distinct(["", " "], lambda texts: pytest.fail("called")).first == ["", " "]
    assert augment_distinct([], lambda texts: pytest.fail("called")) == ([], [])


def test_views_of_another_length_are_refused():
    with pytest.raises(ValueError, match="got 2 texts but gave views of 2 and 1"):
        augment_distinct(["a", "b"], lambda texts: (texts, texts[:1]))


def test_importing_brings_in_no_model_library():
    code = (
        "import sys, caot.augment; "
        "heavy = {'transformers', 'tokenizers', 'sentence_transformers'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
