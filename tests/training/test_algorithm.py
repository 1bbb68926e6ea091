"""Algorithm 1: what each stage computes, and which networks it trains."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from caot.losses import pseudo_label_loss
from caot.metrics import clustering_accuracy
from caot.neighbours import Neighbours
from caot.start import Beginning, StartSettings, begin
from caot.training import (
    EndReason,
    Finished,
    Objective,
    Schedule,
    SimilaritySettings,
    Stage,
    StageStarted,
    StepDone,
    TargetsMade,
    Trainer,
    algorithm,
    batch_similarity,
)
from caot.transport import AdaptiveTransport, BalancedTransport, ConsistentTransport, Prediction
from tests.training.runs import (
    CORPUS,
    KINDS,
    N_CLUSTERS,
    SCHEDULE,
    changed_parts,
    events_of,
    make_trainer,
    predicted_labels,
    weights,
)

HEADS = {"clustering", "projecting", "attention"}


class SpyTransport:
    """Solves like another transport and keeps what it was given and returned."""

    def __init__(self, solver):
        self.solver, self.calls = solver, []
        self.uses_similarity = solver.uses_similarity

    def queue(self, log_prob, similarity=None):
        queued = self.solver.queue(log_prob, similarity)
        self.calls.append((log_prob, similarity, queued.read(queued.told.numpy())))
        return queued


def changes_by_stage(kind, **options):
    """Return which parts each stage changed, in order."""
    trainer = make_trainer(kind, **options)
    seen = []

    def look(event):
        if isinstance(event, StageStarted | Finished):
            seen.append(weights(trainer))

    trainer.callbacks = (look,)
    assert trainer.run() is EndReason.COMPLETED
    return [changed_parts(a, b) for a, b in pairwise(seen)]


@pytest.fixture(scope="module")
def run():
    """Return a finished trainer and its events."""
    events = []
    trainer = make_trainer("trainable", callbacks=[events.append])
    assert trainer.run() is EndReason.COMPLETED
    return trainer, events


def test_stages_come_in_order_with_their_iterations(run):
    trainer, events = run
    starts = events_of(events, StageStarted)
    assert [(e.stage, e.iteration, e.end) for e in starts] == [
        (Stage.WARM_UP, 0, 8),
        (Stage.HEAD_START, 8, 14),
        (Stage.INTERACTIVE, 14, 30),
    ]
    steps = events_of(events, StepDone)
    assert [e.iteration for e in steps] == list(range(30))
    assert {e.total_iterations for e in steps} == {30}
    assert [e.stage for e in steps] == [Stage.WARM_UP] * 8 + [Stage.HEAD_START] * 6 + [
        Stage.INTERACTIVE
    ] * 16
    assert events[-1] == Finished(30, EndReason.COMPLETED)
    assert trainer.iteration == 30


def test_each_stage_has_its_losses_and_their_sum(run):
    """Eq. 25 in the warm-up, L_P alone in the head start, Eq. 26 after it."""
    for step in events_of(run[1], StepDone):
        contrast = step.attention_loss + 5.0 * step.instance_loss
        if step.stage is Stage.HEAD_START:
            assert math.isnan(contrast)
            assert step.loss == step.pseudo_label_loss
        elif step.stage is Stage.WARM_UP:
            assert math.isnan(step.pseudo_label_loss)
            assert step.loss == pytest.approx(contrast, rel=1e-5)
        else:
            assert step.loss == pytest.approx(contrast + step.pseudo_label_loss, rel=1e-5)


def test_targets_come_with_the_interactive_iterations_alone(run):
    targets = events_of(run[1], TargetsMade)
    assert [e.iteration for e in targets] == list(range(14, 30))
    for event in targets:
        assert event.rows.shape == event.labels.shape == (SCHEDULE.batch_size,)
        assert event.column_mass.sum() == pytest.approx(1.0, abs=1e-6)
        assert set(event.labels) <= set(range(N_CLUSTERS))


def test_each_stage_trains_its_networks():
    warm_up, head_start, interactive = changes_by_stage("trainable")
    assert warm_up == {"encoder", "projecting", "attention"}
    assert head_start == {"clustering"}
    assert interactive == {"encoder", *HEADS}


def test_a_frozen_encoder_leaves_the_heads_to_learn():
    warm_up, head_start, interactive = changes_by_stage("frozen")
    assert warm_up == {"projecting", "attention"}
    assert head_start == {"clustering"}
    assert interactive == HEADS


def test_without_contrast_the_projection_does_not_learn():
    """The gradient of L_A ends in the attention network (Eq. 23)."""
    objective = Objective(contrast_weight=0.0, learning_rate=5e-3)
    warm_up, head_start, interactive = changes_by_stage("frozen", objective=objective)
    assert warm_up == {"attention"}
    assert head_start == {"clustering"}
    assert interactive == {"attention", "clustering"}


def test_layers_that_are_not_trainable_stay():
    trainer = make_trainer("trainable", layers=1)
    before = weights(trainer)
    trainer.run()
    after = weights(trainer)
    assert torch.equal(before["encoder.words.weight"], after["encoder.words.weight"])
    assert not torch.equal(before["encoder.linear.weight"], after["encoder.linear.weight"])


@pytest.mark.parametrize(
    ("kind", "schedule", "n_fits"),
    [
        ("trainable", SCHEDULE, 2),
        ("trainable", dataclasses.replace(SCHEDULE, warmup_iter=0), 1),
        ("frozen", SCHEDULE, 1),
        ("frozen", Schedule(2, 0, 0, 40), 0),
    ],
)
def test_first_clusters_are_found_anew_when_the_encoder_has_learned(
    monkeypatch, kind, schedule, n_fits
):
    fitted = []

    def spy(embeddings, n_clusters, settings, **others):
        fitted.append(embeddings)
        assert (n_clusters, settings.restarts) == (N_CLUSTERS, 2)
        assert others == {"with_neighbours": False, "random_state": 5}
        return begin(embeddings, n_clusters, settings, **others)

    monkeypatch.setattr(algorithm, "begin", spy)
    make_trainer(kind, schedule=schedule, random_state=5).run()
    assert len(fitted) == n_fits
    if n_fits == 2:
        assert not np.array_equal(*fitted)


def test_a_start_that_is_given_is_used(monkeypatch):
    monkeypatch.delattr(algorithm, "begin")
    trainer = make_trainer("frozen", schedule=Schedule(60, 0, 59, 60))
    trainer.start = np.arange(60) % N_CLUSTERS  # nothing that the texts say
    seen = []
    loss = algorithm.pseudo_label_loss
    monkeypatch.setattr(
        algorithm, "pseudo_label_loss", lambda *a: seen.append(a[2].numpy()) or loss(*a)
    )
    start = trainer.sampler.state()
    rows = trainer.sampler.next()
    trainer.sampler.restore(*start)
    trainer._iterate(Stage.HEAD_START)
    np.testing.assert_array_equal(seen[0], trainer.start[rows])


def test_neighbours_are_found_anew_with_the_first_clusters():
    given = Neighbours(np.zeros((60, 1), dtype=np.int32))
    kept = make_trainer("frozen", neighbour_weight=1.0)
    kept.start, kept.neighbours = np.arange(60) % N_CLUSTERS, given
    kept.run()
    assert kept.neighbours is given
    learned = make_trainer("trainable", neighbour_weight=1.0)
    learned.neighbours = given
    learned.run()
    assert learned.neighbours.index.shape == (60, 60 // (2 * N_CLUSTERS))
    assert make_trainer("trainable").neighbours is None


def test_words_have_a_say_in_first_clusters_and_neighbours():
    usual = make_trainer("frozen", neighbour_weight=1.0)
    said = 100 * np.eye(N_CLUSTERS, dtype=np.float32)[np.arange(60) % N_CLUSTERS]
    data = dataclasses.replace(usual.data, words=(said, said, said))  # against what the texts say
    trainer = Trainer(usual.encoder, data, usual.config)
    trainer._enter(Stage.WARM_UP)
    for cluster in range(N_CLUSTERS):
        assert len(set(trainer.start[cluster::N_CLUSTERS])) == 1
    assert (trainer.neighbours.index % N_CLUSTERS == np.arange(60)[:, None] % N_CLUSTERS).all()


@pytest.mark.parametrize("kind", ["frozen", "trainable"])
def test_the_networks_read_words_beside_the_embeddings(kind):
    """Eq. 36: each view with its own words, in a batch as for all samples together."""
    usual = make_trainer(kind)
    rng = np.random.default_rng(3)
    words = tuple(rng.normal(size=(60, 4)).astype(np.float32) for _ in range(3))
    data = dataclasses.replace(usual.data, words=words)
    trainer = Trainer(usual.encoder, data, usual.config, usual.parameters)
    rows = np.array([7, 2, 50])
    usual._set_mode(training=False)
    read = (data.encode_original(trainer.encoder, rows), *trainer._encode_views(rows))
    for view, found in enumerate(read):
        whole = data.encode_all(trainer.encoder, view)
        assert whole.shape == (60, usual.encoder.width + 4)
        np.testing.assert_allclose(found.detach().numpy(), whole[rows], atol=1e-6)
        np.testing.assert_array_equal(whole[:, -4:], words[view])
        np.testing.assert_allclose(np.linalg.norm(whole[:, :-4], axis=1), 1.0, rtol=1e-5)
    trainer.run()
    assert trainer.networks.predict(read[0].detach()).shape == (3, N_CLUSTERS)


def test_what_is_known_already_is_not_looked_for():
    clusters, nearest = np.arange(60) % N_CLUSTERS, np.zeros((60, 1), dtype=np.int32)
    known = Beginning(clusters, Neighbours(nearest), np.zeros((60, 4), dtype=np.float32))
    usual = make_trainer("frozen")
    trainer = Trainer(usual.encoder, usual.data, usual.config, beginning=known)
    assert trainer.start is known.clusters
    assert trainer.neighbours is known.neighbours


@pytest.mark.parametrize(("warmup_iter", "times"), [(0, 0), (8, 1)])
def test_the_head_start_encodes_only_what_the_encoder_would_now_give_differently(
    warmup_iter, times, monkeypatch
):
    schedule = Schedule(max_iter=12, warmup_iter=warmup_iter, head_iter=6, batch_size=20)
    usual = make_trainer("trainable", schedule=schedule, head_on_originals=True)
    known = begin(
        usual.data.encode_all(usual.encoder, 0),
        N_CLUSTERS,
        usual.config.start,
        with_neighbours=False,
        random_state=0,
    )
    data, encoder, asked = usual.data, usual.encoder, []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda *parts: asked.append(parts) or encode(*parts))
    Trainer(encoder, data, usual.config, usual.parameters, beginning=known).run()
    assert len(asked) == times


def test_the_transport_heeds_the_neighbours_pseudo_labels():
    """Eq. 35: the share of the neighbours in each cluster is added to log P."""
    trainer = make_trainer("frozen", neighbour_weight=3.0)
    trainer.neighbours = Neighbours(np.tile(np.array([1, 2], dtype=np.int32), (60, 1)))
    trainer.start = np.zeros(60, dtype=np.int64)
    trainer.last_labels[2] = 1  # the other has none yet: its first cluster counts
    log_prob = torch.full((4, N_CLUSTERS), 1 / N_CLUSTERS).log()
    heeded = trainer._heed_neighbours(np.arange(4), log_prob)
    votes = torch.zeros(N_CLUSTERS)
    votes[:2] = 1.5
    torch.testing.assert_close(heeded[0], (log_prob[0] + votes).log_softmax(dim=0))
    faithful = make_trainer("frozen")
    assert faithful._heed_neighbours(np.arange(4), log_prob) is log_prob


def test_pseudo_label_loss_is_given_the_labels_of_the_transport(monkeypatch):
    spy, events, targets = SpyTransport(ConsistentTransport(consistency=5.0)), [], []

    def watch(log_prob1, log_prob2, labels):
        targets.append(labels)
        return pseudo_label_loss(log_prob1, log_prob2, labels)

    monkeypatch.setattr(algorithm, "pseudo_label_loss", watch)
    make_trainer(callbacks=[events.append], transport=spy).run()
    made = events_of(events, TargetsMade)
    assert len(spy.calls) == len(made) == 16
    for event, given, (log_prob, similarity, result) in zip(
        made, targets[6:], spy.calls, strict=True
    ):
        assert torch.equal(given, result.labels)
        np.testing.assert_array_equal(event.labels, result.labels.numpy())
        np.testing.assert_array_equal(event.column_mass, result.column_mass.numpy())
        assert (event.status, event.n_outer) == (result.status, result.n_outer)
        assert not log_prob.requires_grad
        assert not similarity.requires_grad
        assert torch.equal(similarity.diagonal(), torch.zeros(40))
        # Without its cosine part, every row of Eq. 27 is a distribution less its own entry.
        cosine = batch_similarity(log_prob, torch.zeros(40, 40), SimilaritySettings())
        shares = (similarity - cosine).sum(dim=1)
        assert ((shares > -1e-4) & (shares < 1.0)).all()
        assert shares.mean() > 0.5


@pytest.mark.parametrize(
    ("solver", "similarity"),
    [
        (AdaptiveTransport(), SimilaritySettings()),
        (BalancedTransport(), SimilaritySettings()),
        (Prediction(), SimilaritySettings()),
        (ConsistentTransport(), SimilaritySettings(0.0, 0.0)),
    ],
)
def test_similarity_is_left_out_where_it_has_no_part(solver, similarity):
    spy = SpyTransport(solver)
    reason = make_trainer(
        transport=spy, similarity=similarity, schedule=Schedule(2, 0, 1, 40)
    ).run()
    assert reason is EndReason.COMPLETED
    assert [call[1] for call in spy.calls] == [None, None]


def test_predictions_in_evaluation_have_no_dropout():
    rows = np.arange(10)
    trainer = make_trainer("trainable")
    trainer._set_mode(training=True)
    torch.manual_seed(0)
    first, second = trainer._predict_original(rows), trainer._predict_original(rows)
    assert torch.equal(first, second)
    vectors = torch.from_numpy(trainer.encoder.encode(trainer.data.original.take(rows)))
    trainer.networks.eval()
    torch.testing.assert_close(first, trainer.networks.predict(vectors).detach())
    trainer._predict_original(rows)
    assert trainer.networks.training  # training goes on with dropout
    assert trainer.encoder.module.training

    trainer = make_trainer("trainable", predict_in_evaluation=False)
    trainer._set_mode(training=True)
    assert not torch.equal(trainer._predict_original(rows), trainer._predict_original(rows))


def test_the_scale_multiplies_the_embeddings():
    scaled, plain = make_trainer(embedding_scale=4.0), make_trainer(embedding_scale=1.0)
    assert changed_parts(weights(scaled), weights(plain)) == {"scale"}
    vectors = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    for trainer in (scaled, plain):
        trainer.networks.eval()
    torch.testing.assert_close(
        scaled.networks.predict(vectors), plain.networks.predict(4 * vectors)
    )
    torch.testing.assert_close(
        scaled.networks.project(vectors), plain.networks.project(4 * vectors)
    )


def test_the_transformer_attention_trains_too():
    trainer = make_trainer(attention="transformer", schedule=Schedule(3, 1, 1, 40))
    before = weights(trainer)
    assert trainer.run() is EndReason.COMPLETED
    assert changed_parts(before, weights(trainer)) == HEADS


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_the_topics(kind):
    schedule = Schedule(max_iter=60, warmup_iter=20, head_iter=40, batch_size=60)
    trainer = make_trainer(kind, width=32, schedule=schedule, start=StartSettings(restarts=10))
    assert clustering_accuracy(CORPUS.labels, predicted_labels(trainer)) < 0.7
    assert trainer.run() is EndReason.COMPLETED
    assert clustering_accuracy(CORPUS.labels, predicted_labels(trainer)) > 0.9
    assert clustering_accuracy(CORPUS.labels, trainer.last_labels) > 0.9


@pytest.mark.parametrize("kind", ["trainable", "frozen"])
def test_observers_may_look_at_the_features_of_all_samples(kind):
    seen = []

    def look(event):
        if isinstance(event, StepDone) and event.iteration % 10 == 0:
            seen.append([event.features(view) for view in (0, 1, 2)])

    watched, alone = make_trainer(kind, callbacks=[look]), make_trainer(kind)
    watched.run()
    alone.run()
    assert all(z.shape == (len(CORPUS.texts), 128) for views in seen for z in views)
    assert not np.array_equal(seen[0][0], seen[-1][0])
    assert not np.array_equal(seen[0][0], seen[0][1])
    left, right = weights(watched), weights(alone)
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_views_made_by_noise_cannot_be_looked_at():
    trainer = make_trainer("noise")
    assert trainer.data.view(0) is trainer.data.original
    with pytest.raises(ValueError, match="view 1 is made by noise"):
        trainer.data.view(1)


def test_a_run_of_warm_up_alone_makes_no_pseudo_labels():
    trainer = make_trainer("frozen", schedule=Schedule(6, 6, 2, 40))
    assert trainer.run() is EndReason.COMPLETED
    assert trainer.iteration == 8
    assert trainer.history.change_rate.size == 0
