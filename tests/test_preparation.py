"""What a method learns from, whatever the method: encoder, layers, views, tokens, embeddings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caot.augment import FeatureNoise
from caot.encoders import Activations, Deferred, EmbeddingCache, Features, Rows, Tokens
from caot.inputs import check_views, read_inputs
from caot.preparation import Preparation, choose_layers, load, prepare
from caot.settings import PreparationSettings
from tests.estimator_corpus import corpus, model_folder, vectors
from tests.fakes import HashEncoder

TEXTS, TOPICS = corpus()
VIEWS = [text + " new" for text in TEXTS], [text + " old" for text in TEXTS]


def prepared(X: Any = TEXTS, views: Any = VIEWS, n_iter: int = 50, **changes: Any) -> Preparation:
    """Return what a method with these settings would learn from."""
    settings = PreparationSettings(**{"encoder": str(model_folder()), "device": "cpu", **changes})
    inputs = read_inputs(X, on_empty=settings.on_empty)
    given = None if views is None else check_views(views, inputs)
    loaded = load(settings, inputs)
    choice = choose_layers(settings, loaded, n_iter)
    return prepare(settings, loaded, choice.layers, given, n_iter=choice.n_iter or n_iter)


def test_a_frozen_encoder_gives_embeddings_once_and_for_all() -> None:
    made = prepared(finetune="none")
    assert made.frozen
    assert made.parameters == []
    assert isinstance(made.training_encoder, Features)
    assert isinstance(made.data.original, Rows)
    np.testing.assert_array_equal(made.vectors, made.encoder.encode(TEXTS))
    assert made.final_embeddings() is made.embeddings


@pytest.mark.parametrize(("finetune", "kind"), [("all", Tokens), (1, Activations)])
def test_an_encoder_that_learns_gives_what_its_trained_layers_read(
    finetune: Any, kind: type
) -> None:
    made = prepared(finetune=finetune)
    assert (made.frozen, made.layers, made.embeddings) == (False, finetune, None)
    assert made.parameters
    assert made.training_encoder is made.encoder
    for part in (made.data.original, made.data.first, made.data.second):
        assert isinstance(part, kind)
        assert len(part) == len(TEXTS)
    np.testing.assert_allclose(made.vectors, made.final_embeddings(), atol=1e-2)


def test_what_a_trained_encoder_gives_in_the_end_is_kept_with_the_other_embeddings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAOT_CACHE", str(tmp_path))
    made = prepared(finetune="all")
    made.parameters[0].data += 1.0
    given = made.final_embeddings()
    monkeypatch.setattr(type(made.encoder), "encode", None)
    np.testing.assert_array_equal(EmbeddingCache().get(made.encoder, TEXTS), given)
    np.testing.assert_array_equal(made.final_embeddings(), given)
    assert not np.array_equal(made.vectors, given)


def test_nothing_is_kept_of_texts_that_come_once() -> None:
    made = prepared(finetune=1, n_iter=1, batch_size=20)
    assert isinstance(made.data.original, Deferred)


def test_a_method_may_take_the_layers_that_fit_its_iterations(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "caot")
    assert prepared(time_budget="1h").layers == 2
    assert "finetune=2: about 0 s" in caplog.text
    assert prepared().layers == "none"
    assert prepared(time_budget=1e-6).layers == "none"


@pytest.mark.parametrize("finetune", ["none", 1])
def test_empty_texts_are_embedded_but_not_learned_from(finetune: Any) -> None:
    texts = [TEXTS[0], "", *TEXTS[1:], " "]
    made = prepared(
        texts, None, finetune=finetune, augmenter="word-dropout", on_empty="own-cluster"
    )
    assert len(made.data) == len(made.vectors) == len(TEXTS)
    assert len(made.final_embeddings()) == len(texts)
    np.testing.assert_allclose(made.vectors, made.encoder.encode(TEXTS), atol=1e-2)


def test_vectors_get_noise_for_views() -> None:
    made = prepared(vectors(), None, encoder="auto")
    assert isinstance(made.encoder, Features)
    assert isinstance(made.data.noise, FeatureNoise)
    assert made.data.first is None


def test_an_encoder_of_the_user_stays_as_it_is() -> None:
    own = HashEncoder()
    made = prepared(encoder=own, finetune="all")
    assert made.encoder is not own
    assert made.encoder.fingerprint == own.fingerprint


def test_a_frozen_encoder_encodes_no_text_twice(monkeypatch):
    """The augmenter looks at the vectors of the texts and of its views; they are not made again."""
    from itertools import pairwise

    from caot.encoders import TransformerEncoder
    from tests.estimator_corpus import corpus, model_folder

    seen = []
    forward = TransformerEncoder.forward

    def count(self, batch):
        ends = batch.offsets.tolist()
        seen.extend(batch.values[a:b].tobytes() for a, b in pairwise(ends))
        return forward(self, batch)

    monkeypatch.setattr(TransformerEncoder, "forward", count)
    texts = corpus()[0]
    settings = PreparationSettings(encoder=model_folder(), augmenter="substitute")
    loaded = load(settings, read_inputs(texts, on_empty="error"))
    prepare(settings, loaded, "none", n_iter=3)
    assert len(seen) == len(set(seen))
    assert len(seen) > len(set(texts))


@pytest.mark.parametrize(("n_long", "level"), [(1, "INFO"), (10, "WARNING")])
def test_texts_that_are_cut_are_counted(
    n_long: int, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    inputs = read_inputs([*["the cat sat " * 100] * n_long, *TEXTS], on_empty="error")
    settings = PreparationSettings(encoder=str(model_folder()), device="cpu")
    with caplog.at_level(logging.INFO, logger="caot"):
        loaded = load(settings, inputs)
    told = [record for record in caplog.records if "left out" in record.message]
    assert [record.levelname for record in told] == [level]
    assert told[0].message.startswith(
        f"{n_long} of {n_long + len(TEXTS)} texts fill the {loaded.encoder.max_length} tokens"
    )


@pytest.mark.parametrize("changes", [{"max_length": 8}, {"mode": "faithful"}, {"max_chunks": 50}])
def test_texts_that_are_cut_as_asked_or_read_wholly_are_not_told_of(
    changes: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    inputs = read_inputs(["the cat sat " * 100, *TEXTS], on_empty="error")
    settings = PreparationSettings(encoder=str(model_folder()), device="cpu", **changes)
    with caplog.at_level(logging.INFO, logger="caot"):
        load(settings, inputs)
    assert "left out" not in caplog.text
