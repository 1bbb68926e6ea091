"""Encoders in a fit: which layers learn, what stays as it was, what is kept on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from caot import CAOT
from caot.encoders import EncoderNotAvailable, TransformerEncoder
from tests.estimator_corpus import corpus, model_folder, quick, quick_text, same
from tests.fakes import HashEncoder

TEXTS, _ = corpus()


def changed_parts(model: CAOT) -> set[str]:
    """Return which parts of the tiny BERT differ from those of its folder."""
    before = TransformerEncoder.load(model_folder(), device="cpu").module.state_dict()
    after = model.encoder_.module.state_dict()
    parts = ("embeddings", "layer.0", "layer.1", "pooler")
    return {
        part
        for name in before
        for part in parts
        if part in name and not torch.equal(before[name], after[name])
    }


@pytest.mark.parametrize(
    ("finetune", "changed"),
    [
        ("none", set()),
        ("auto", set()),
        (1, {"layer.1"}),
        (2, {"layer.0", "layer.1"}),
        ("all", {"embeddings", "layer.0", "layer.1"}),
    ],
)
def test_only_the_chosen_layers_learn(finetune: Any, changed: set[str]) -> None:
    model = quick_text(finetune=finetune, device="cpu").fit(TEXTS)
    assert changed_parts(model) == changed


def test_more_layers_than_there_are_is_an_error_that_names_their_number() -> None:
    with pytest.raises(ValueError, match="finetune=99 is more than the encoder's 2 layers"):
        quick_text(finetune=99).fit(TEXTS)


def test_an_encoder_that_is_not_here_is_an_error_that_says_how_to_get_it() -> None:
    with pytest.raises(EncoderNotAvailable, match="Download it once with network access"):
        quick(encoder="nobody/no-such-model").fit(TEXTS)


@pytest.mark.parametrize("finetune", [1, "all"])
def test_a_refit_with_a_given_encoder_forgets_the_first_fit(finetune: Any) -> None:
    model = quick(encoder=HashEncoder(), finetune=finetune, learning_rate_encoder=1e-2)
    first = model.fit(TEXTS).cluster_centers_.copy()
    np.testing.assert_array_equal(model.fit(TEXTS).cluster_centers_, first)


def test_a_fit_leaves_a_given_encoder_as_it_was() -> None:
    encoder = HashEncoder()
    before = encoder.fingerprint
    quick(encoder=encoder, finetune="all").fit(TEXTS)
    assert encoder.fingerprint == before


def test_the_maximum_length_reaches_the_encoder() -> None:
    model = quick_text(2, max_length=6, finetune="none").fit(TEXTS)
    assert model.encoder_.max_length == 6


def test_known_embeddings_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAOT_CACHE", str(tmp_path))
    first = quick().fit(TEXTS)
    encoder = HashEncoder()
    second = quick(encoder=encoder).fit(TEXTS)
    assert encoder.n_encoded == 0
    assert same(first, second)
    monkeypatch.delenv("CAOT_CACHE")
    assert same(second, quick().fit(TEXTS))
