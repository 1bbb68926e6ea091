"""What makes training fast keeps its result: packing, kept lower layers, stopping early."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from caot import CAOT, Variant, preparation
from caot.effort import Workload
from caot.encoders import Activations, Deferred, Tokens, TransformerEncoder
from caot.encoders.lower import keep_lower
from caot.training import EndReason, Finished, Stage, Stopping
from tests.estimator_corpus import corpus, model_folder, quick_text, vectors
from tests.test_fitting import VIEWS, plan
from tests.training.runs import make_trainer

TEXTS, _ = corpus()


@pytest.fixture
def encoder() -> TransformerEncoder:
    """Return an encoder without dropout, so that two ways to compute can be compared."""
    encoder = TransformerEncoder.load(model_folder(), device="cpu")
    for part in encoder.module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return encoder


def fit(encoder: TransformerEncoder, **changes: Any) -> CAOT:
    # Few steps: rounding grows.
    steady = {"learning_rate": 5e-3, "max_iter": 6, "warmup_iter": 2, **changes}
    return quick_text(encoder=encoder, **steady).fit(TEXTS, views=VIEWS)


def weights_of(model: CAOT) -> torch.Tensor:
    return torch.cat([w.detach().flatten() for w in model.encoder_.module.parameters()])


def same_result(one: CAOT, other: CAOT, *, atol: float) -> None:
    """Compare losses, embeddings, and the labels of texts that do not lie between two clusters.

    Weights are not compared: the keys' biases have no effect, so Adam moves them by rounding alone.
    """
    np.testing.assert_allclose(one.history_.loss, other.history_.loss, rtol=atol)
    np.testing.assert_allclose(one.transform(TEXTS), other.transform(TEXTS), rtol=0, atol=atol)
    best, second = np.sort(one.predict_proba(TEXTS), axis=1)[:, -1:-3:-1].T
    clear = best - second > 0.05
    assert clear.sum() >= 30
    np.testing.assert_array_equal(one.labels_[clear], other.labels_[clear])


@pytest.mark.parametrize("finetune", ["all", 1])
def test_packed_training_is_padded_training(
    encoder: TransformerEncoder, finetune: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = fit(encoder, finetune=finetune, learning_rate_encoder=1e-3)
    monkeypatch.setattr(TransformerEncoder, "_stack", None)
    padded = fit(encoder, finetune=finetune, learning_rate_encoder=1e-3)
    assert not torch.equal(weights_of(packed), weights_of(fit(encoder, finetune="none")))
    same_result(packed, padded, atol=1e-2)


def test_kept_lower_layers_change_nothing(
    encoder: TransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = fit(encoder, finetune=1)
    monkeypatch.setattr(preparation, "keep_lower", lambda enc, part, **_: Deferred(enc, part))
    same_result(kept, fit(encoder, finetune=1), atol=1e-2)


def test_lower_layers_are_kept_where_texts_come_again() -> None:
    again = plan(views=VIEWS, finetune=1, max_iter=10, batch_size=20)
    once = plan(views=VIEWS, finetune=1, max_iter=1, warmup_iter=0, batch_size=20)
    assert isinstance(again.prepared.data.original, Activations)
    assert again.prepared.data.original.values.dtype == np.float16
    assert isinstance(once.prepared.data.original, Deferred)


def test_faithful_mode_keeps_lower_layers_if_fewer_than_all_learn() -> None:
    made = plan(views=VIEWS, finetune="all", mode="faithful")
    assert isinstance(made.prepared.data.original, Tokens)
    assert not made.config.head_on_originals
    assert made.config.stopping.patience == 0
    fewer = plan(views=VIEWS, finetune=1, mode="faithful")
    assert isinstance(fewer.prepared.data.original, Activations)


def test_more_than_the_memory_goes_to_a_file() -> None:
    small = plan(views=VIEWS, finetune=1, cache_memory="0MB").prepared.data.original
    large = plan(views=VIEWS, finetune=1, cache_memory="1GB").prepared.data.original
    assert isinstance(small, Activations)
    assert isinstance(small.values, np.memmap)
    assert isinstance(large, Activations)
    assert not isinstance(large.values, np.memmap)
    np.testing.assert_array_equal(small.values, large.values)


def test_auto_says_what_it_chose_and_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "caot")
    assert plan(views=VIEWS, finetune="auto").prepared.frozen
    assert "finetune='none': quickest on a CPU; a time budget, or finetune=2," in caplog.text
    made = plan(views=VIEWS, finetune="auto", time_budget="10min")
    assert made.config.objective.learning_rate_encoder > 5e-6
    assert "finetune=2: about 0 s, within the budget of 10 min" in caplog.text
    plan(views=VIEWS, finetune="auto", time_budget=1e-6)
    assert "finetune='none': training 2 layers would take about" in caplog.text


def test_auto_fits_the_iterations_into_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workload, "seconds", lambda _self, _layers, n_iter: 10.0 + n_iter)
    whole = plan(views=VIEWS, finetune="auto", time_budget=210.0).config.schedule
    short = plan(views=VIEWS, finetune="auto", time_budget=185.0).config.schedule
    assert (whole.max_iter, short.max_iter) == (200, 175)
    assert plan(finetune="auto", time_budget=410.0, max_iter=77).config.schedule.max_iter == 77
    cut = plan(finetune="auto", time_budget=210.0, max_iter=300).config.schedule
    assert cut.max_iter == 200  # what is announced is done


def curve(*levels: tuple[int, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.concatenate([np.full(count, level) for count, level in levels])


def test_training_has_settled_when_labels_and_objective_stand_still() -> None:
    rule = Stopping(patience=10)
    still, falling = curve((10, 1.0), (20, 0.12)), curve((10, 1.0), (10, 0.14), (10, 0.12))
    noise = np.resize([0.9, 1.1], 30)
    moved = noise + curve((20, 0.0), (10, 0.2))
    assert rule.has_settled(still, noise)
    assert not rule.has_settled(falling, noise)
    assert not rule.has_settled(still, moved)
    assert not rule.has_settled(still[-19:], noise[-19:])  # less than two windows
    assert not rule.has_settled(np.ones(30), noise)  # every sample has its first pseudo-label
    assert not Stopping(patience=0).has_settled(still, noise)
    with pytest.raises(ValueError, match="patience must be at least 0, got -1"):
        Stopping(patience=-1)
    with pytest.raises(ValueError, match="still must lie between 0 and 1, got 2"):
        Stopping(patience=1, still=2)


def test_the_trainer_ends_when_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    monkeypatch.setattr(Stopping, "has_settled", lambda _self, rates, _objective: len(rates) >= 4)
    trainer = make_trainer("frozen", callbacks=[events.append])
    assert trainer.run() is EndReason.SETTLED
    first_interactive, _ = trainer.config.schedule.bounds(Stage.INTERACTIVE)
    assert trainer.iteration == first_interactive + 4
    assert events[-1] == Finished(trainer.iteration, EndReason.SETTLED)


def test_the_iterations_saved_are_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "caot")
    monkeypatch.setattr(Stopping, "has_settled", lambda _self, rates, _objective: len(rates) >= 5)
    settings: dict[str, Any] = {"max_iter": 30, "warmup_iter": 5, "learning_rate": 5e-3}
    model = CAOT(3, variant=Variant(head_iter=20), **settings).fit(vectors())
    assert (model.n_iter_, model.n_iter_saved_) == (30, 20)
    assert model.end_reason_ is EndReason.SETTLED
    told = "training stopped after 30 iterations, 20 before the last: the pseudo-labels had settled"
    assert told in caplog.text


@pytest.mark.parametrize(
    ("settings", "fast", "expected"),
    [
        ({"finetune": "all"}, True, True),
        ({"finetune": 1}, True, True),
        ({"finetune": 1, "max_iter": 1, "warmup_iter": 0, "batch_size": 2}, True, True),
        ({"finetune": "all"}, False, False),
        ({"finetune": "none"}, True, False),
        ({"finetune": "all", "mode": "faithful"}, True, False),
        ({"finetune": 1, "mode": "faithful"}, True, True),
    ],
)
def test_bfloat16_where_it_is_fast_and_layers_learn(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], fast: bool, expected: bool
) -> None:
    monkeypatch.setattr(preparation, "has_fast_bfloat16", lambda _device: fast)
    assert plan(views=VIEWS, **settings).prepared.data.mixed_precision is expected


def test_lower_layers_in_bfloat16_are_kept_apart(
    tmp_path: Path, encoder: TransformerEncoder
) -> None:
    encoder.set_trainable(1)
    tokens = encoder.prepare(TEXTS)
    exact = keep_lower(encoder, tokens, memory=1e9, folder=tmp_path)
    mixed = keep_lower(encoder, tokens, memory=1e9, folder=tmp_path, mixed_precision=True)
    assert len(list((tmp_path / "activations").iterdir())) == 2
    assert not np.array_equal(exact.values, mixed.values)
    np.testing.assert_allclose(exact.values, mixed.values, atol=0.1)


def test_mixed_precision_trains_float32_weights(encoder: TransformerEncoder) -> None:
    trainer = make_trainer("trainable")
    trainer.data = dataclasses.replace(trainer.data, mixed_precision=True)
    seen = []
    forward = trainer.encoder.forward
    trainer.encoder.forward = lambda batch: (  # type: ignore[method-assign]
        seen.append(torch.is_autocast_enabled("cpu")),
        forward(batch),
    )[1]
    assert trainer.run() is EndReason.COMPLETED
    assert any(seen)
    assert all(weight.dtype == torch.float32 for weight in trainer.encoder.module.parameters())
