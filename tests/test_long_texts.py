"""Texts longer than the encoder reads, in chunks: fits, saved models, other ways to predict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from caot import CAOT, load_model
from caot.acceleration import accelerate
from caot.baselines import make_method
from caot.encoders import ChunkedEncoder, load_encoder
from caot.metrics import clustering_accuracy
from caot.persistence import CONFIG_FILE
from caot.prediction import predict_stream
from tests.estimator_corpus import N_TOPICS, corpus, model_folder, quick_text, same
from tests.tiny_models import MAX_LENGTH, WORDS

_N_TEXTS = 12  # of a topic


def documents(seed: int = 0) -> tuple[list[str], Any]:
    """Return texts of 4 to 70 words, each from the words of its topic, and the topics."""
    rng = np.random.default_rng(seed)
    texts = []
    for topic in range(N_TOPICS):
        own = WORDS[topic * 8 : topic * 8 + 8]
        texts += [" ".join(rng.choice(own, 4 + 6 * place)) for place in range(_N_TEXTS)]
    return texts, np.repeat(np.arange(N_TOPICS), _N_TEXTS)


TEXTS, TOPICS = documents()


def encoder(max_chunks: int = 3) -> Any:
    return load_encoder(model_folder(), max_chunks=max_chunks, device="cpu")


def layers_that_changed(model: CAOT) -> set[str]:
    before, after = encoder().module.state_dict(), model.encoder_.module.state_dict()
    parts = ("embeddings", "layer.0", "layer.1")
    return {p for n in before for p in parts if p in n and not torch.equal(before[n], after[n])}


@pytest.fixture(scope="module")
def fitted() -> CAOT:
    """Return a model whose top layer has learned; no test may change it."""
    return quick_text(encoder=encoder(), augmenter="auto").fit(TEXTS)


@pytest.mark.parametrize(
    ("finetune", "changed"),
    [
        ("none", set()),
        (1, {"layer.1"}),
        ("all", {"embeddings", "layer.0", "layer.1"}),
        ("auto", set()),
    ],
)
def test_fits_frozen_and_learning(finetune: Any, changed: set[str]) -> None:
    own = encoder()
    before = own.fingerprint
    model = quick_text(encoder=own, finetune=finetune).fit(TEXTS)
    assert isinstance(model.encoder_, ChunkedEncoder)
    assert layers_that_changed(model) == changed
    assert own.fingerprint == before  # a copy learned
    assert clustering_accuracy(TOPICS, model.labels_) > 0.8
    np.testing.assert_array_equal(model.predict(TEXTS), model.labels_)


@pytest.mark.parametrize("finetune", ["none", 1])
def test_the_same_fit_twice(finetune: Any) -> None:
    first, second = (quick_text(encoder=encoder(), finetune=finetune).fit(TEXTS) for _ in "ab")
    assert same(first, second)


@pytest.mark.parametrize("finetune", ["none", 1])
def test_short_texts_are_clustered_as_without_chunks(finetune: Any) -> None:
    short, _ = corpus()
    plain = load_encoder(model_folder(), device="cpu")
    first, second = (
        quick_text(encoder=own, finetune=finetune).fit(short) for own in (plain, encoder())
    )
    assert same(first, second)


@pytest.mark.parametrize("finetune", ["none", 1])
def test_a_number_of_chunks_is_a_setting_like_others(finetune: Any) -> None:
    by_name = quick_text(max_chunks=3, finetune=finetune).fit(TEXTS)
    assert isinstance(by_name.encoder_, ChunkedEncoder)
    assert same(by_name, quick_text(encoder=encoder(), finetune=finetune).fit(TEXTS))


def test_a_number_of_chunks_goes_with_an_encoder_too() -> None:
    plain = load_encoder(model_folder(), device="cpu")
    for own in (plain, encoder(max_chunks=7)):
        model = quick_text(encoder=own, max_chunks=2, finetune="none").fit(TEXTS)
        assert isinstance(model.encoder_, ChunkedEncoder)
        assert model.encoder_.max_chunks == 2
        assert not isinstance(model.encoder_.encoder, ChunkedEncoder)


def test_few_iterations_keep_nothing_of_the_frozen_layers() -> None:
    model = quick_text(encoder=encoder(), max_iter=1, batch_size=6).fit(TEXTS)
    assert layers_that_changed(model) == {"layer.1"}


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    whole = quick_text(encoder=encoder()).fit(TEXTS)
    quick_text(encoder=encoder()).fit(TEXTS, checkpoint=path)
    assert same(quick_text(encoder=encoder()).fit(TEXTS, checkpoint=path), whole)
    with pytest.raises(ValueError, match="is of another run: the settings, the encoder"):
        quick_text(encoder=encoder(2)).fit(TEXTS, checkpoint=path)


# Saved models


def test_a_loaded_model_predicts_the_same(fitted: CAOT, tmp_path: Path) -> None:
    fitted.save_pretrained(tmp_path / "model")
    loaded = CAOT.from_pretrained(tmp_path / "model", device="cpu")
    assert isinstance(loaded.encoder_, ChunkedEncoder)
    assert loaded.encoder_.max_chunks == 3
    assert loaded.encoder_.fingerprint == fitted.encoder_.fingerprint
    fresh, _ = documents(seed=5)
    np.testing.assert_array_equal(loaded.predict_proba(fresh), fitted.predict_proba(fresh))
    for batch_size in (1, 7):
        found = loaded.predict_proba(fresh, batch_size=batch_size)
        np.testing.assert_allclose(found, fitted.predict_proba(fresh), atol=1e-5)


def test_the_setting_is_in_the_configuration(fitted: CAOT, tmp_path: Path) -> None:
    plain = quick_text(finetune="none").fit(TEXTS)
    for model, expected in ((fitted, 3), (plain, None)):
        folder = tmp_path / str(expected)
        model.save_pretrained(folder)
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        assert config["max_chunks"] == expected
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert ("its `encode` cuts such texts after 24 tokens" in card) == (expected is not None)


def test_the_folder_is_one_of_sentence_transformers_which_cut(fitted: CAOT, tmp_path: Path) -> None:
    fitted.save_pretrained(tmp_path / "model")
    module = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    theirs, ours = module.encode(TEXTS), fitted.transform(TEXTS)
    fits = fitted.encoder_.encoder.prepare_whole(TEXTS).lengths <= MAX_LENGTH
    assert 0 < fits.sum() < len(TEXTS)
    np.testing.assert_allclose(theirs[fits], ours[fits], atol=1e-5)
    assert np.abs(theirs[~fits] - ours[~fits]).max(axis=1).min() > 1e-4


@pytest.mark.parametrize("name", ["kmeans", "sccl"])
def test_other_methods_and_their_saved_models_read_in_chunks(name: str, tmp_path: Path) -> None:
    more = {} if name == "kmeans" else {"finetune": "none", "max_iter": 3}
    spec = str(model_folder())
    plain = make_method(name, N_TOPICS, encoder=spec, **more).fit(TEXTS)
    model = make_method(name, N_TOPICS, encoder=spec, max_chunks=3, **more).fit(TEXTS)
    model.save_pretrained(tmp_path / "model")
    vectors = load_model(tmp_path / "model", device="cpu").transform(TEXTS)
    np.testing.assert_array_equal(vectors, model.transform(TEXTS))
    assert np.abs(vectors - plain.transform(TEXTS)).max() > 1e-3
    with pytest.raises(ValueError, match="max_chunks must be an integer of at least 1, got 0"):
        make_method(name, N_TOPICS, max_chunks=0).check()


# Other ways to predict


def test_streams_read_in_chunks(fitted: CAOT) -> None:
    parts = list(predict_stream(fitted, iter(TEXTS), chunk_size=5))
    np.testing.assert_array_equal(np.concatenate([p.labels for p in parts]), fitted.labels_)


def test_there_is_no_graph_for_chunks(fitted: CAOT) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    found = accelerate(fitted, TEXTS, backend="onnx")
    assert found.encoder is fitted.encoder_
    assert "reads in chunks, which graphs do not" in found.trials[0].reason
