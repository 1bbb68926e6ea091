"""The plan of a run: the paper's settings in faithful mode, and views that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from caot import CAOT, Variant
from caot.augment import FeatureNoise
from caot.encoders import Rows, TransformerEncoder
from caot.fitting import FitPlan
from caot.inputs import read_inputs
from caot.settings import FitSettings
from caot.training import Schedule
from caot.transport import AdaptiveTransport, BalancedTransport, ConsistentTransport, Prediction
from tests.estimator_corpus import corpus, model_folder, vectors

TEXTS, _ = corpus()
VIEWS = [text + " new" for text in TEXTS], [text + " old" for text in TEXTS]


def plan(X: Any = TEXTS, views: Any = None, **changes: Any) -> FitPlan:
    """Return the plan of a fit with the default settings apart from ``changes``."""
    defaults = {"n_clusters": 3, "encoder": str(model_folder()), "augmenter": "word-dropout"}
    model = CAOT(**{**defaults, "device": "cpu", **changes})
    settings = FitSettings.of(model.get_params(deep=False))
    return FitPlan.make(settings, model.n_clusters, read_inputs(X, on_empty="error"), views)


@pytest.fixture(scope="module")
def faithful() -> FitPlan:
    return plan(views=VIEWS, mode="faithful")


def test_faithful_mode_warns_of_views_that_are_not_the_papers() -> None:
    with pytest.warns(UserWarning, match=r"faithful mode: the views come from 'word-dropout'"):
        plan(mode="faithful")


def test_faithful_mode_has_the_papers_schedule(faithful: FitPlan) -> None:
    assert faithful.config.schedule == Schedule(2000, 600, 80, 200)


def test_faithful_mode_solves_as_printed(faithful: FitPlan) -> None:
    transport = faithful.config.transport
    assert isinstance(transport, ConsistentTransport)
    assert transport.scheme == "alternating"
    assert (transport.outer_tol, transport.inner_tol) == (0.0, 0.0)
    assert faithful.imbalance.floor == 0


def test_faithful_mode_reads_32_tokens_and_takes_their_mean(faithful: FitPlan) -> None:
    encoder = faithful.prepared.encoder
    assert isinstance(encoder, TransformerEncoder)
    assert encoder.max_length == 32
    assert len(list(encoder.module.children())) == 2
    own = SentenceTransformer(str(model_folder()), device="cpu")
    without = SentenceTransformer(
        modules=[part for part in own.children() if not isinstance(part, Normalize)], device="cpu"
    )
    vectors = encoder.encode(faithful.prepared.data.original)
    np.testing.assert_allclose(vectors, without.encode(TEXTS), atol=1e-5)


def test_faithful_mode_trains_the_whole_encoder_slowly_and_without_a_scale(
    faithful: FitPlan,
) -> None:
    assert not faithful.prepared.frozen
    config = faithful.config
    assert config.embedding_scale == 1.0
    assert not config.predict_in_evaluation
    assert config.objective.learning_rate_encoder == 5e-6
    assert config.objective.learning_rate == 5e-4
    # Nothing but the pooler, which the mean does not use, stays as it is.
    named = faithful.prepared.encoder.module.named_parameters()
    fixed = [name for name, weight in named if not weight.requires_grad]
    assert all("pooler" in name for name in fixed)


@pytest.mark.parametrize(
    ("finetune", "max_iter", "rate"), [("none", 1000, 1e-4), (1, 200, 1e-4), ("all", 200, 2e-5)]
)
def test_default_mode_has_budgets_that_fit_what_learns(
    finetune: Any, max_iter: int, rate: float
) -> None:
    config = plan(finetune=finetune).config
    assert config.schedule.max_iter == max_iter
    assert config.schedule.warmup_iter == (300 if finetune == "none" else 0)
    assert config.objective.learning_rate_encoder == rate
    assert config.predict_in_evaluation
    assert isinstance(config.transport, ConsistentTransport)
    assert config.transport.scheme == "joint"


def test_default_mode_scales_embeddings_to_a_mean_square_of_one() -> None:
    made = plan()
    scaled = made.config.embedding_scale * made.reading.vectors
    assert float(np.square(scaled).mean()) == pytest.approx(1.0, rel=1e-5)
    zeros_but_one = np.zeros((3, 4), dtype=np.float32)
    zeros_but_one[1:, 0] = [1e-20, 2e-20]
    assert plan(zeros_but_one, encoder="auto", augmenter="auto").config.embedding_scale > 1


def test_settings_reach_the_trainer() -> None:
    config = plan(
        epsilon=0.5,
        consistency=7.0,
        imbalance=3.0,
        contrast_weight=2.0,
        temperature_instance=0.6,
        temperature_attention=0.7,
        learning_rate=0.01,
        learning_rate_encoder=0.02,
        max_iter=50,
        warmup_iter=20,
        batch_size=17,
        random_state=9,
    ).config
    assert config.schedule == Schedule(50, 20, 80, 17)
    objective = config.objective
    assert (objective.contrast_weight, objective.learning_rate) == (2.0, 0.01)
    assert (objective.temperature_instance, objective.temperature_attention) == (0.6, 0.7)
    assert objective.learning_rate_encoder == 0.02
    transport: Any = config.transport
    assert (transport.epsilon, transport.uniformity, transport.consistency) == (0.5, 3.0, 7.0)
    assert (config.random_state, config.n_clusters) == (9, 3)


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        ("consistent", ConsistentTransport),
        ("adaptive", AdaptiveTransport),
        ("balanced", BalancedTransport),
        ("prediction", Prediction),
    ],
)
def test_variants_choose_the_pseudo_labels(kind: Any, solver: type) -> None:
    assert type(plan(variant=Variant(pseudo_labels=kind)).config.transport) is solver


def test_variants_reach_the_trainer() -> None:
    variant = Variant(
        similarity="cosine",
        keep_diagonal=True,
        attention="transformer",
        scheme="alternating",
        predict_in_evaluation=False,
        head_iter=11,
        uniformity_scale=0.1,
        kmeans_restarts=3,
    )
    config = plan(variant=variant, imbalance=5.0).config
    similarity, transport = config.similarity, config.transport
    assert (similarity.cosine, similarity.attention, similarity.keep_diagonal) == (1.0, 0.0, True)
    assert isinstance(transport, ConsistentTransport)
    assert transport.scheme == "alternating"
    assert transport.uniformity == pytest.approx(0.5)
    assert (config.attention, config.predict_in_evaluation) == ("transformer", False)
    assert (config.schedule.head_iter, config.start.restarts) == (11, 3)


def test_the_penalty_of_the_settings_reaches_the_transport() -> None:
    uneven = np.concatenate([vectors(), *[vectors()[:12] + 0.01 * step for step in range(4)]])
    given = {"encoder": "auto", "augmenter": "auto", "consistency": 0.1}
    gentle = plan(uneven, **given).config.transport
    printed = plan(uneven, **given, variant=Variant(penalty="printed")).config.transport
    assert isinstance(gentle, ConsistentTransport)
    assert isinstance(printed, ConsistentTransport)
    assert gentle.uniformity == pytest.approx(2 / 3)
    assert printed.uniformity == 0.03


# Views


def test_the_automatic_views_behind_a_frozen_encoder_are_noise_on_vectors_and_words() -> None:
    made = plan(finetune="none", augmenter="auto")
    data, encoder = made.data, made.prepared.training_encoder
    assert isinstance(data.noise, FeatureNoise)
    assert data.words is not None
    assert len(data.words) == 1  # there are no other texts than the originals
    rows, generator = np.arange(len(data)), torch.Generator().manual_seed(0)
    first, second = data.encode_views(encoder, rows, generator)
    assert first.shape == second.shape == (len(data), data.width(encoder))
    for one in (first, second):
        differ = (one.numpy() != made.reading.vectors[rows]).any(axis=0)
        assert differ[: encoder.width].any()
        assert differ[encoder.width :].any()
    assert not torch.equal(first, second)


def test_the_views_of_texts_behind_a_frozen_encoder_differ() -> None:
    data = plan(finetune="none", augmenter="substitute").prepared.data
    original, first, second = data.original, data.first, data.second
    assert isinstance(original, Rows)
    assert isinstance(first, Rows)
    assert isinstance(second, Rows)
    assert not np.array_equal(first.values, second.values)
    assert not np.array_equal(first.values, original.values)
    assert not np.array_equal(second.values, original.values)
    differ = np.abs(first.values - second.values).max(axis=1) > 1e-6
    assert differ.mean() > 0.5


def test_the_automatic_views_of_vectors_differ() -> None:
    X = vectors()
    prepared = plan(X, encoder="auto", augmenter="auto").prepared
    assert isinstance(prepared.data.noise, FeatureNoise)
    rows, generator = np.arange(len(X)), torch.Generator().manual_seed(0)
    first, second = prepared.data.encode_views(prepared.encoder, rows, generator)
    assert not torch.equal(first, second)
    assert bool((first != second).any(dim=1).all())


def test_given_views_are_the_ones_that_are_encoded() -> None:
    prepared = plan(views=VIEWS, finetune="none").prepared
    for part, texts in ((prepared.data.first, VIEWS[0]), (prepared.data.second, VIEWS[1])):
        assert isinstance(part, Rows)
        np.testing.assert_allclose(part.values, prepared.encoder.encode(texts), atol=1e-6)


def test_a_frozen_run_holds_float32_embeddings() -> None:
    prepared = plan(finetune="none").prepared
    assert prepared.final_embeddings().dtype == np.float32
    np.testing.assert_array_equal(prepared.final_embeddings(), prepared.encoder.encode(TEXTS))
