"""The methods that learn: that each one's own idea is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from caot.baselines.back_translation import BackTrans
from caot.baselines.esimcse import MomentumContrast
from caot.baselines.fnscc import NeighbourContrast
from caot.baselines.heads import StudentT
from caot.baselines.losses import self_expression
from caot.baselines.pseudo_labels import solve_times
from caot.baselines.repetition import WordRepetition
from caot.baselines.representation import Representation
from caot.baselines.scl import SubspaceContrast
from caot.baselines.translation import BackTranslation, TranslationNotAvailable
from caot.inputs import read_inputs
from caot.losses import pseudo_label_loss
from caot.preparation import load, prepare
from caot.settings import PreparationSettings
from caot.training import EndReason, StepDone, TargetsMade
from tests.baselines.quick import (
    CORPUS,
    VIEWS,
    WORD_TEXTS,
    WORD_VIEWS,
    accuracy,
    quick,
    saveable,
)
from tests.estimator_corpus import model_folder, vectors
from tests.fakes import HashEncoder
from tests.tiny_models import tiny_translator

ROWS = np.arange(24)


def source(layers: Any = "all") -> Representation:
    """Return the corpus, prepared for a fake encoder."""
    settings = PreparationSettings(encoder=HashEncoder(), finetune=layers)
    loaded = load(settings, read_inputs(CORPUS.texts, on_empty="error"))
    return Representation(prepare(settings, loaded, layers, VIEWS, n_iter=100), 0)


def centers(of: Representation) -> NDArray[np.float32]:
    topics = [of.vectors()[CORPUS.labels == topic].mean(axis=0) for topic in range(3)]
    return np.stack(topics)


@pytest.mark.parametrize("layers", ["none", 1, "all"])
def test_what_learns_is_the_layers_or_a_map_in_their_place(layers: Any) -> None:
    model = quick("sccl", finetune=layers, max_iter=3, batch_size=30)
    model.fit(CORPUS.texts, views=VIEWS)
    start = HashEncoder()
    before, after = start.encode(CORPUS.texts), model.transform(CORPUS.texts)
    assert not np.allclose(before, after, atol=1e-6)
    if layers == "none":
        inner = model.encoder_.encoder.encode(CORPUS.texts)
        np.testing.assert_array_equal(before, inner)
    words = getattr(model.encoder_, "encoder", model.encoder_).module.words.weight
    assert torch.equal(words, start.module.words.weight) == (layers != "all")


def test_the_views_of_a_fit_are_used() -> None:
    with_views = quick("sccl", max_iter=3).fit(CORPUS.texts, views=VIEWS)
    without = quick("sccl", max_iter=3).fit(CORPUS.texts)
    assert not np.allclose(with_views.transform(CORPUS.texts), without.transform(CORPUS.texts))


def test_vectors_are_clustered_too() -> None:
    rows = vectors(20)
    model = quick("sccl", encoder="auto", augmenter="auto").fit(rows)
    assert accuracy(model, np.repeat([0, 1, 2], 20)) == 1


def test_simcse_draws_a_text_to_itself_whatever_the_given_views() -> None:
    first, second = (
        quick("simcse", max_iter=3).fit(CORPUS.texts, views=views) for views in (None, VIEWS)
    )
    np.testing.assert_array_equal(first.transform(CORPUS.texts), second.transform(CORPUS.texts))
    losses = quick("simcse", max_iter=60, finetune="all").fit(CORPUS.texts).history_.loss
    assert losses[-10:].mean() < losses[:10].mean()


def test_esimcse_repeats_words_in_place() -> None:
    views = WordRepetition()(CORPUS.texts)
    assert views.first == CORPUS.texts
    longer = 0
    for text, twin in zip(*views, strict=True):
        words = twin.split()
        kept = [word for i, word in enumerate(words) if i == 0 or word != words[i - 1]]
        assert kept == text.split()
        longer += len(words) > len(text.split())
    assert longer > len(CORPUS.texts) / 3
    assert WordRepetition()(CORPUS.texts) == views


@pytest.mark.parametrize("layers", ["none", "all"])
def test_esimcse_has_a_queue_that_a_slow_twin_fills(layers: Any) -> None:
    fast = source(layers)
    objective = MomentumContrast(fast, 0.05, momentum=0.9, queue_size=40)
    assert len(objective.queue) == 0
    slow_weights = objective.twin.adapter or objective.twin.encoder.module
    before = [p.clone() for p in slow_weights.parameters()]
    objective.losses(ROWS, 0)
    with torch.no_grad():
        for weight in fast.learning():
            weight.add_(1.0)
    objective.stepped()
    fast_weights = fast.adapter or fast.encoder.module
    for old, slow, quick_one in zip(
        before, slow_weights.parameters(), fast_weights.parameters(), strict=True
    ):
        torch.testing.assert_close(slow.data, 0.9 * old + 0.1 * quick_one.data)
    torch.testing.assert_close(objective.queue, objective.twin.originals(ROWS).detach())
    objective.losses(ROWS, 1)
    objective.stepped()
    assert objective.queue.shape == (40, fast.width)
    assert not objective.queue.requires_grad


def test_sccl_sharpens_its_shares() -> None:
    model = quick("sccl", max_iter=40, learning_rate=5e-3).fit(CORPUS.texts, views=VIEWS)
    start = quick("sccl", max_iter=1).fit(CORPUS.texts, views=VIEWS)
    sharp, flat = (m.predict_proba(CORPUS.texts).max(axis=1).mean() for m in (model, start))
    assert sharp > flat


def test_rstc_solves_over_the_whole_data_at_its_schedule() -> None:
    assert sorted(solve_times(10, 110, 5)) == [10, 14, 26, 46, 74]
    events: list[Any] = []
    quick("rstc", max_iter=20, warmup_iter=3, head_iter=2, n_solves=3).fit(
        CORPUS.texts, views=VIEWS, callbacks=(events.append,)
    )
    solved = [event for event in events if isinstance(event, TargetsMade)]
    assert [event.iteration for event in solved] == sorted(solve_times(5, 20, 3))
    assert all(len(event.labels) == len(CORPUS.texts) for event in solved)
    stages = [event.stage.value for event in events if isinstance(event, StepDone)]
    assert stages == ["warm-up"] * 3 + ["head start"] * 2 + ["interactive"] * 15
    losses = [event.pseudo_label_loss for event in events if isinstance(event, StepDone)]
    assert np.isnan(losses[:3]).all()
    assert np.isfinite(losses[3:]).all()


@pytest.mark.parametrize(("n_iter", "expected"), [(100, 10), (600, 20)])
def test_rstc_solves_once_in_thirty_iterations_unless_told(n_iter: int, expected: int) -> None:
    model = quick("rstc", warmup_iter=0, head_iter=7, n_solves=None)
    assert model._objective(source(), n_iter).times == solve_times(7, n_iter, expected)


def test_rstc_takes_its_first_labels_from_what_the_warm_up_has_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = quick("rstc", max_iter=8, warmup_iter=5, learning_rate_encoder=1e-2)
    given = []
    begin = model._begin
    monkeypatch.setattr(model, "_begin", lambda vectors: given.append(vectors) or begin(vectors))
    model.fit(CORPUS.texts, views=VIEWS)
    untrained = quick("kmeans").fit(CORPUS.texts).transform(CORPUS.texts)
    (learned,) = given
    assert learned.shape == untrained.shape
    assert not np.allclose(learned, untrained, atol=1e-3)


def test_rstc_learns_kmeans_labels_until_the_first_transport() -> None:
    model = quick("rstc", max_iter=30, warmup_iter=0, head_iter=29, learning_rate=5e-3)
    model.fit(CORPUS.texts, views=VIEWS)
    baseline = quick("kmeans").fit(CORPUS.texts)
    assert accuracy(model, baseline.labels_) > 0.9


def test_rstc_takes_the_published_penalty_of_the_imbalance() -> None:
    found = []
    for sizes in ((20, 20, 20), (30, 18, 12), (55, 4, 1)):
        labels = np.repeat([0, 1, 2], sizes)
        found.append(quick("rstc")._penalty(labels))
    assert found == [0.1, 0.01, 0.001]
    assert quick("rstc", uniformity=3.0)._penalty(labels) == 3.0


def test_fnscc_takes_neighbours_out_of_the_negatives() -> None:
    near = source()
    plain, aware = (
        NeighbourContrast(
            near, StudentT.at(centers(near)), 1.0, 0.5, n_neighbors=count, smoothing=0.5
        )
        for count in (1, 12)
    )
    aware.projecting = plain.projecting
    near.set_mode(training=False)
    v1, v2 = near.views(ROWS)
    originals = near.originals(ROWS)
    # Fewer negatives, and the nearest are those that weigh most.
    assert aware.contrast(v1, v2, originals) < plain.contrast(v1, v2, originals)


def test_scl_contrasts_a_text_with_what_the_others_say() -> None:
    objective = SubspaceContrast(source("none"), 0.5, ridge=1.0, weight=0.0)
    one, two = (objective.losses(ROWS, 0).total().item() for _ in range(2))
    assert one == two  # no views, no dropout
    with_views = SubspaceContrast(source("none"), 0.5, ridge=1.0, weight=1.0)
    assert with_views.losses(ROWS, 0).total().item() > one


def test_scl_keeps_the_relations_of_the_untrained_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[torch.Tensor] = []

    def watched(features: torch.Tensor, ridge: float) -> torch.Tensor:
        asked.append(features)
        return self_expression(features, ridge)

    monkeypatch.setattr("caot.baselines.scl.self_expression", watched)
    objective = SubspaceContrast(source("none"), 0.5, ridge=1.0, weight=0.0)
    first = objective.losses(ROWS, 0).total()
    with torch.no_grad():
        objective.source.adapter.weight.add_(torch.randn(source("none").width, 1))  # type: ignore[union-attr]
    assert not torch.isclose(objective.losses(ROWS, 1).total(), first)
    torch.testing.assert_close(asked[0], asked[1])


def test_scl_makes_no_views_that_it_does_not_use() -> None:
    asked = []

    def views_of(texts: list[str]) -> tuple[list[str], list[str]]:
        asked.append(len(texts))
        return CORPUS.first, CORPUS.second

    for layers in ("none", "all"):
        quick("scl", augmenter=views_of, finetune=layers, max_iter=2).fit(CORPUS.texts)
    assert not asked
    quick("scl", augmenter=views_of, view_weight=1.0, max_iter=2).fit(CORPUS.texts)
    assert asked == [len(CORPUS.texts)]


def test_esimcses_queue_never_holds_the_batch_itself() -> None:
    n = len(CORPUS.texts)
    sizes = [quick("esimcse", batch_size=b)._objective(source(), 9).queue_size for b in (8, 20, n)]
    assert sizes == [20, min(50, n - 20), 0]


def test_scpcl_draws_views_to_the_prototype_that_transport_gives_their_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taught: list[torch.Tensor] = []

    def watched(p1: torch.Tensor, p2: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        taught.append(labels)
        return pseudo_label_loss(p1, p2, labels)

    monkeypatch.setattr("caot.baselines.scpcl.pseudo_label_loss", watched)
    objective = quick("scpcl")._objective(source(), 9)
    objective.set_mode(training=False)
    before = objective.head.prototypes.clone()
    with torch.no_grad():  # one prototype likes all texts best: transport alone tells them apart
        objective.head.prototypes[0] *= -1
        expected = objective.transport(objective.head.predict(objective.source.originals(ROWS)))
    losses = objective.losses(ROWS, 0)
    assert torch.equal(taught[0], expected.labels)
    losses.total().backward()
    assert (objective.head.prototypes.grad.abs().sum(dim=1) > 0).all()
    assert before.shape == (3, objective.source.width)


def test_cc_starts_without_kmeans_and_uses_all_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caot.baselines.learned.kmeans", None)
    model = quick("cc").fit(CORPUS.texts, views=VIEWS)
    assert (model.cluster_sizes_ > 0).all()


def test_back_trans_needs_a_translation_model() -> None:
    with pytest.raises(TranslationNotAvailable, match="needs a translation model"):
        quick("back-trans").fit(CORPUS.texts)
    with pytest.raises(TranslationNotAvailable, match="needs a translation model"):
        quick("back-trans", translator="no/such", back_translator="no/such").fit(CORPUS.texts)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny random model of the kind that translates."""
    return tiny_translator(tmp_path_factory.mktemp("translator"))


def test_back_trans_translates_there_and_back(translator: Path) -> None:
    texts = WORD_TEXTS[::6]
    views = BackTranslation(translator, translator, max_length=8, device="cpu")(texts)
    assert views.first == texts
    assert all(text.strip() for text in views.second)
    assert views.second != texts
    model = saveable("back-trans", max_iter=2)
    model.set_params(translator=str(translator), back_translator=str(translator), device="cpu")
    assert isinstance(model, BackTrans)
    model.fit(WORD_TEXTS)
    again = saveable("back-trans", max_iter=2)
    again.fit(WORD_TEXTS, views=BackTranslation(translator, translator, device="cpu")(WORD_TEXTS))
    np.testing.assert_array_equal(model.transform(WORD_TEXTS), again.transform(WORD_TEXTS))
    dropped = saveable("back-trans", max_iter=2).fit(WORD_TEXTS, views=WORD_VIEWS)
    assert not np.array_equal(model.transform(WORD_TEXTS), dropped.transform(WORD_TEXTS))


@pytest.mark.filterwarnings("ignore::caot.EmptyClusterWarning")
def test_training_that_diverges_stops_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="not finite"):
        quick("sccl", learning_rate=1e30, max_iter=6).fit(CORPUS.texts, views=VIEWS)


def test_a_time_budget_ends_training() -> None:
    model = quick("sccl", max_iter=100_000, time_budget=0.2).fit(CORPUS.texts, views=VIEWS)
    assert model.n_iter_ < 100_000
    assert model.end_reason_ is EndReason.TIME


@pytest.mark.filterwarnings("ignore::caot.EmptyClusterWarning")
@pytest.mark.parametrize("name", ["simcse", "esimcse", "sccl", "rstc", "scl", "back-trans"])
@pytest.mark.parametrize("layers", [1, "all"])
def test_a_transformer_that_learned_is_saved_with_what_it_learned(
    name: str, layers: Any, tmp_path: Path
) -> None:
    model = saveable(name, finetune=layers, max_iter=4, learning_rate_encoder=1e-3)
    model.fit(WORD_TEXTS, views=WORD_VIEWS)
    frozen = quick("kmeans", encoder=str(model_folder())).fit(WORD_TEXTS)
    assert not np.allclose(model.transform(WORD_TEXTS), frozen.transform(WORD_TEXTS), atol=1e-4)
    model.save_pretrained(tmp_path / "model")
    loaded = type(model).from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(WORD_TEXTS), model.labels_)


@pytest.mark.parametrize("max_iter", [0, -5])
def test_training_needs_an_iteration(max_iter: int) -> None:
    with pytest.raises(ValueError, match="max_iter"):
        quick("sccl", max_iter=max_iter).fit(CORPUS.texts)


@pytest.mark.filterwarnings("ignore::caot.EmptyClusterWarning")
def test_time_that_ends_before_there_are_clusters_is_told() -> None:
    with pytest.warns(RuntimeWarning, match="before any clusters were learned"):
        quick("rstc", max_iter=1000, time_budget=1e-6).fit(CORPUS.texts, views=VIEWS)
