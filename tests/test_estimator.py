"""What a fit gives: labels, confidence, empty texts, warnings, and which layers learn."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from caot import CAOT, EmptyClusterWarning, Variant
from caot.training import EndReason, Event, Finished, StageStarted, StepDone, TargetsMade
from tests.estimator_corpus import (
    N_TOPICS,
    corpus,
    quick,
    quick_text,
    quick_vectors,
    same,
    vectors,
)

TEXTS, TOPICS = corpus()


@pytest.fixture(scope="module")
def fitted() -> CAOT:
    """Return a fitted model, which no test may change."""
    return quick().fit(TEXTS)


@pytest.fixture(scope="module")
def with_empty() -> CAOT:
    """Return a model that was fitted with two empty texts, in rows 2 and 5."""
    texts = [*TEXTS[:2], "", *TEXTS[2:4], " \t\n", *TEXTS[4:]]
    return quick(on_empty="own-cluster").fit(texts)


# Clusters


@pytest.mark.parametrize(
    ("make", "X"), [(quick, TEXTS), (quick_text, TEXTS), (quick_vectors, vectors())]
)
def test_topics_are_found(make: Callable[[], CAOT], X: Any) -> None:
    assert adjusted_rand_score(TOPICS, make().fit(X).labels_) > 0.7


def test_every_row_has_a_label_and_duplicates_share_it() -> None:
    texts = [*TEXTS, *TEXTS[::-1], *TEXTS[:5]]
    model = quick().fit(texts)
    assert model.labels_.shape == (len(texts),)
    by_text: dict[str, set[int]] = {}
    for text, label in zip(texts, model.labels_.tolist(), strict=True):
        by_text.setdefault(text, set()).add(label)
    assert all(len(labels) == 1 for labels in by_text.values())
    assert int(model.cluster_sizes_.sum()) == len(texts)


def test_duplicates_share_a_cluster_when_the_encoder_learns() -> None:
    model = quick_text().fit([*TEXTS, *TEXTS])
    np.testing.assert_array_equal(model.labels_[: len(TEXTS)], model.labels_[len(TEXTS) :])


def test_the_number_of_iterations_and_the_record_agree(fitted: CAOT) -> None:
    assert fitted.n_iter_ == 10 + 30
    stages, lengths = np.unique(fitted.history_.stage, return_counts=True)
    found = dict(zip(stages.tolist(), lengths.tolist(), strict=True))
    assert found == {"warm-up": 3, "head start": 30, "interactive": 7}
    assert fitted.end_reason_ is EndReason.COMPLETED


def test_another_seed_gives_other_networks(fitted: CAOT) -> None:
    assert not same(quick(random_state=1).fit(TEXTS), fitted)


# Confidence


def test_texts_below_the_minimum_confidence_are_noise(fitted: CAOT) -> None:
    confidence = fitted.predict_proba(TEXTS).max(axis=1)
    limit = float(np.median(confidence))
    found = fitted.predict(TEXTS, min_confidence=limit)
    np.testing.assert_array_equal(found == -1, confidence < limit)
    assert 0 < np.count_nonzero(found == -1) < len(TEXTS)
    certain = confidence >= limit
    np.testing.assert_array_equal(found[certain], fitted.labels_[certain])


def test_without_a_minimum_every_text_has_a_cluster(fitted: CAOT) -> None:
    unknown = ["zzz qqq", "?", "9"]
    assert fitted.predict([*unknown, *TEXTS]).min() >= 0
    assert fitted.predict(unknown, min_confidence=0.0).min() >= 0


# Empty texts


def test_empty_texts_are_an_error_that_lists_the_rows() -> None:
    with pytest.raises(ValueError, match=r"2 text\(s\) are empty, in rows 1, 3: .*own-cluster"):
        quick().fit(["a cat", "", "a dog", "  ", *TEXTS])


def test_empty_texts_are_an_error_in_prediction_too(fitted: CAOT) -> None:
    for method in (fitted.predict, fitted.predict_proba, fitted.transform):
        with pytest.raises(ValueError, match="in rows 1"):
            method(["a cat", "\n"])


def test_empty_texts_get_a_cluster_of_their_own(with_empty: CAOT) -> None:
    assert np.flatnonzero(with_empty.labels_ == N_TOPICS).tolist() == [2, 5]
    assert with_empty.labels_.shape == (len(TEXTS) + 2,)
    assert with_empty.cluster_centers_.shape == (N_TOPICS + 1, 32)


def test_empty_texts_are_predicted_into_their_own_cluster(with_empty: CAOT) -> None:
    texts = ["", TEXTS[0], "   "]
    np.testing.assert_array_equal(with_empty.predict(texts) == N_TOPICS, [True, False, True])
    found = with_empty.predict_proba(texts)
    assert found.shape == (3, N_TOPICS + 1)
    np.testing.assert_array_equal(found[0], [0, 0, 0, 1])
    assert found[1, N_TOPICS] == 0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)


def test_empty_texts_do_not_influence_the_others(with_empty: CAOT, fitted: CAOT) -> None:
    others = np.delete(with_empty.labels_, [2, 5])
    np.testing.assert_array_equal(others, fitted.labels_)


def test_own_cluster_without_an_empty_text_is_an_empty_column() -> None:
    model = quick(on_empty="own-cluster").fit(TEXTS)
    assert model.predict_proba(TEXTS).shape == (len(TEXTS), N_TOPICS + 1)
    assert model.labels_.max() < N_TOPICS


def test_own_cluster_works_when_the_encoder_learns() -> None:
    model = quick_text(on_empty="own-cluster").fit([*TEXTS, ""])
    assert np.flatnonzero(model.labels_ == N_TOPICS).tolist() == [len(TEXTS)]


# Warnings


def test_more_clusters_than_distinct_texts_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"n_clusters is 4, but .* distinct"):
        quick(4).fit(["a cat", "a dog", "a tree"] * 5)


def test_empty_texts_do_not_count_as_distinct() -> None:
    with pytest.raises(ValueError, match=r"n_clusters is 3, but .* distinct"):
        quick(3, on_empty="own-cluster").fit(["a cat", "a dog", ""] * 5)


def test_a_collapse_is_a_warning_with_its_reason() -> None:
    with pytest.warns(
        EmptyClusterWarning,
        match=r"only [12] of 3 clusters hold texts; the similarity drew .*=0.0001",
    ):
        quick(
            imbalance=1e-4,
            max_iter=30,
            batch_size=36,
            learning_rate=5e-4,
            variant=Variant(head_iter=30, start="kmeans", neighbour_weight=0.0),
        ).fit(TEXTS)


def test_small_clusters_that_lose_their_texts_are_a_warning_with_its_reason() -> None:
    model = quick(12, consistency=0.0, variant=Variant(head_iter=0), warmup_iter=0, max_iter=1)
    with pytest.warns(
        EmptyClusterWarning, match=r"of 12 clusters hold texts; small clusters .* fewer clusters"
    ):
        model.fit(TEXTS)
    empty = model.cluster_sizes_ == 0
    np.testing.assert_array_equal(np.isnan(model.cluster_centers_).all(axis=1), empty)


def test_divergence_is_a_warning_and_leaves_finite_networks() -> None:
    model = quick(learning_rate=1e30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        with pytest.warns(RuntimeWarning, match="lower learning rates"):
            model.fit(TEXTS)
    assert model.end_reason_ is EndReason.DIVERGED
    assert np.isfinite(model.predict_proba(TEXTS)).all()


# Time


def test_a_time_budget_ends_training(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = count()
    clock = SimpleNamespace(monotonic=lambda: 0.0 if next(calls) < 35 else 1e9)
    monkeypatch.setattr("caot.training.algorithm.time", clock)
    monkeypatch.setattr("caot.estimator.time", SimpleNamespace(monotonic=lambda: 0.0))
    model = quick(time_budget="1s")
    with caplog.at_level(logging.INFO, logger="caot"):
        model.fit(TEXTS)
    assert model.end_reason_ is EndReason.TIME
    assert model.n_iter_ == 35
    assert "training stopped after 35 iterations: the time budget was used up" in caplog.text
    assert model.labels_.shape == (len(TEXTS),)


def test_a_long_time_budget_changes_nothing(fitted: CAOT) -> None:
    assert same(quick(time_budget="2h").fit(TEXTS), fitted)


# Observers


def test_callbacks_see_every_event_and_change_nothing(fitted: CAOT) -> None:
    seen: list[Event] = []

    def watch(event: Event) -> None:
        torch.randn(3)
        np.random.random_sample(3)  # noqa: NPY002 - a careless observer
        seen.append(event)

    assert same(quick().fit(TEXTS, callbacks=[watch]), fitted)
    kinds = [type(event) for event in seen]
    assert kinds.count(StageStarted) == 3
    assert kinds.count(StepDone) == 40
    assert kinds.count(TargetsMade) == 7
    assert kinds[-1] is Finished


def test_a_progress_bar_changes_nothing(fitted: CAOT, capsys: pytest.CaptureFixture[str]) -> None:
    assert same(quick(verbose=1).fit(TEXTS), fitted)
    assert "40/40" in capsys.readouterr().err


def test_nothing_is_shown_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    quick().fit(TEXTS).predict(TEXTS)
    assert capfd.readouterr() == ("", "")
