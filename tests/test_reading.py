"""Whether words stand beside the embeddings, and which (Eq. 36)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from caot import reading as reading_module
from caot.inputs import read_inputs
from caot.preparation import Preparation, choose_layers, load, prepare
from caot.reading import read
from caot.settings import FitSettings, Variant
from caot.start import Beginning
from tests.estimator_corpus import corpus, model_folder, vectors

TEXTS, _ = corpus()


def settings(variant: Variant | None = None, encoder: str | None = None) -> FitSettings:
    return FitSettings(
        encoder=encoder or str(model_folder()),
        finetune="none",
        augmenter="auto",
        device="cpu",
        variant=variant,
    )


def prepared(X: object = TEXTS, encoder: str | None = None) -> Preparation:
    loaded = load(settings(encoder=encoder), read_inputs(X, on_empty="own-cluster"))  # type: ignore[arg-type]
    choice = choose_layers(settings(), loaded, 10)
    return prepare(settings(), loaded, choice.layers, None, n_iter=10)


def with_modularities(monkeypatch: pytest.MonkeyPatch, fits: Sequence[float]) -> None:
    """Let the first clusters of each kind, in their order, stand out as is said here."""
    given = iter(fits)
    clusters = np.arange(len(TEXTS)) % 3

    def begin(vectors: Any, *_more: object, **_settings: object) -> Beginning:
        return Beginning(clusters, None, vectors, next(given))

    monkeypatch.setattr(reading_module, "begin", begin)


@pytest.mark.parametrize(
    ("fits", "kind"),
    [
        ((0.70, 0.70, 0.70), "alone"),
        ((0.70, 0.709, 0.729), "alone"),
        ((0.70, 0.711, 0.729), "with words"),
        ((0.70, 0.711, 0.732), "with emphasised words"),
        ((0.70, 0.65, 0.732), "with emphasised words"),
        ((0.70, 0.80, 0.81), "with words"),
    ],
)
def test_the_more_words_may_say_the_clearer_they_must_be(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fits: Sequence[float],
    kind: str,
) -> None:
    caplog.set_level(logging.INFO, "caot")
    with_modularities(monkeypatch, fits)
    found = read(settings(), prepared(), 3)
    assert found.kind == kind
    assert f"texts are read by their embeddings {kind}" in caplog.text
    assert f"embeddings with words: modularity {fits[1]:.3f}" in caplog.text
    assert (found.words is None) is (kind == "alone")


def test_embeddings_alone_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with_modularities(monkeypatch, (0.7, 0.6, 0.6))
    given = prepared()
    found = read(settings(), given, 3)
    assert found.words_of_views is None
    assert np.shares_memory(found.vectors, given.vectors)


def test_emphasised_words_are_those_of_the_same_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    with_modularities(monkeypatch, (0.6, 0.7, 0.6))
    plain = read(settings(), prepared(), 3)
    with_modularities(monkeypatch, (0.6, 0.6, 0.7))
    emphasised = read(settings(), prepared(), 3)
    assert plain.words is not None
    assert emphasised.words is not None
    assert plain.words.vocabulary == emphasised.words.vocabulary
    assert not np.allclose(plain.vectors, emphasised.vectors)


@pytest.mark.parametrize(
    ("variant", "kind"),
    [
        (Variant(word_weight=0.0), "alone"),
        (Variant(word_weight=0.5), "with words"),
        (Variant(start="kmeans"), "with words"),
    ],
)
def test_whoever_gives_a_weight_or_the_papers_start_is_not_asked(
    caplog: pytest.LogCaptureFixture, variant: Variant, kind: str
) -> None:
    caplog.set_level(logging.INFO, "caot")
    assert read(settings(variant), prepared(), 3).kind == kind
    assert "nan" not in caplog.text


def test_vectors_and_texts_without_shared_words_are_read_alone() -> None:
    assert read(settings(), prepared(vectors(), "auto"), 3).kind == "alone"
    strangers = [f"word{number}" for number in range(12)]
    assert read(settings(), prepared(strangers), 3).kind == "alone"


@pytest.mark.parametrize("asked_rows", [20_000, 20])
def test_empty_texts_are_not_read(monkeypatch: pytest.MonkeyPatch, asked_rows: int) -> None:
    monkeypatch.setattr(reading_module, "ASKED_ROWS", asked_rows)
    with_gaps = ["", *TEXTS[:5], " ", *TEXTS[5:]]
    found, expected = read(settings(), prepared(with_gaps), 3), read(settings(), prepared(), 3)
    assert found.kind == expected.kind != "alone"
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-5)
    np.testing.assert_array_equal(found.beginning.clusters, expected.beginning.clusters)


def test_a_part_of_many_inputs_decides_and_all_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "ASKED_ROWS", len(TEXTS) - 5)
    seen: list[np.ndarray] = []

    def begin(vectors: np.ndarray, *_: object, **__: object) -> Beginning:
        seen.append(vectors)
        # The second, with words, stands out among the drawn rows.
        clusters, fit = np.zeros(len(vectors), np.int64), 0.9 if len(seen) == 2 else 0.5
        return Beginning(clusters, None, vectors, fit)

    monkeypatch.setattr(reading_module, "begin", begin)
    found = read(settings(), prepared(), 3)
    assert [len(vectors) for vectors in seen] == [len(TEXTS) - 5] * 3 + [len(TEXTS)]
    every = {row.tobytes() for row in seen[-1]}
    assert all(row.tobytes() in every for row in seen[1])
    assert found.kind == "with words"
    assert found.words_of_views is not None
    assert len(found.words_of_views[0]) == len(TEXTS)
