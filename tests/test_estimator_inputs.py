"""What fit and predict take and what they refuse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from caot import CAOT
from caot.augment import Views
from caot.encoders import Features
from tests.estimator_corpus import N_TOPICS, corpus, quick, quick_text, quick_vectors, same, vectors
from tests.fakes import HashEncoder

TEXTS, _ = corpus()
VECTORS = vectors()
FIRST, SECOND = [text + " new" for text in TEXTS], [text + " old" for text in TEXTS]

INVALID: list[tuple[str, Any]] = [
    ("n_clusters", 1),
    ("n_clusters", 2.5),
    ("n_clusters", "3"),
    ("n_clusters", True),
    ("n_clusters", None),
    ("finetune", 0),
    ("finetune", -1),
    ("finetune", 1.5),
    ("finetune", True),
    ("finetune", "some"),
    ("imbalance", "no-such"),
    ("imbalance", 0.0),
    ("imbalance", -1.0),
    ("imbalance", math.nan),
    ("imbalance", None),
    ("mode", "no-such"),
    ("max_iter", 0),
    ("max_iter", "10"),
    ("warmup_iter", -1),
    ("warmup_iter", 10),
    ("batch_size", 1),
    ("batch_size", "24"),
    ("epsilon", 0.0),
    ("epsilon", math.nan),
    ("epsilon", math.inf),
    ("epsilon", "1"),
    ("consistency", -1.0),
    ("consistency", math.nan),
    ("consistency", "1"),
    ("contrast_weight", -1.0),
    ("contrast_weight", math.inf),
    ("contrast_weight", "1"),
    ("temperature_instance", 0.0),
    ("temperature_instance", math.nan),
    ("temperature_attention", 0.0),
    ("temperature_attention", "1"),
    ("learning_rate", 0.0),
    ("learning_rate", math.inf),
    ("learning_rate_encoder", -1.0),
    ("learning_rate_encoder", "1"),
    ("on_empty", "drop"),
    ("on_empty", None),
    ("time_budget", 0),
    ("time_budget", -1.0),
    ("time_budget", "soon"),
    ("time_budget", math.nan),
    ("time_budget", True),
    ("variant", "consistent"),
    ("variant", {}),
    ("random_state", -1),
    ("random_state", 1.5),
    ("random_state", None),
    ("augmenter", "no-such"),
    ("augmenter", 5),
    ("augmenter", HashEncoder),
    ("max_iter", 10.5),
    ("warmup_iter", 2.5),
    ("batch_size", 24.5),
    ("max_length", 0),
    ("max_length", -1),
    ("max_length", "32"),
    ("max_length", 2.5),
    ("device", "no-such-device"),
    ("device", 1.5),
    ("verbose", "loud"),
    ("verbose", None),
]


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_invalid_parameters_are_refused_before_the_encoder_is_loaded(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: Any, **__: Any) -> None:
        pytest.fail("the encoder was loaded")

    monkeypatch.setattr("caot.preparation.load_encoder", load)
    # Python's own comparison of a number with a text does not know the parameter's name.
    with pytest.raises((ValueError, TypeError), match=rf"{name}|'str'|can't multiply"):
        quick(**{name: value}).fit(TEXTS)


@pytest.mark.parametrize("encoder", [5, object(), None])
def test_an_encoder_that_is_none_is_refused(encoder: Any) -> None:
    with pytest.raises(TypeError, match="encoder must be"):
        quick(encoder=encoder).fit(TEXTS)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("a single text", TypeError, r"pass a list of texts, \[text\]"),
        (5, TypeError, "X is a int"),
        ([], ValueError, "X is empty"),
        (np.empty((0, 3)), ValueError, "X is empty"),
        (["a cat", None, "a dog", 3.0], TypeError, "NoneType, in rows 1, 3"),
        (["a cat", math.nan], TypeError, "float, in rows 1"),
        (pd.DataFrame({"one": ["a"], "two": ["b"]}), TypeError, r"columns one, two: .*X\[column\]"),
        (np.array([["a"], ["b"]]), ValueError, r"shape \(2, 1\)"),
    ],
)
def test_inputs_that_are_no_texts_are_refused(X: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        quick().fit(X)


# Vectors


def test_vectors_of_any_kind_give_the_same_result(tmp_path: Path) -> None:
    expected = quick_vectors().fit(VECTORS)
    mapped = np.memmap(tmp_path / "vectors.f32", np.float32, "w+", shape=VECTORS.shape)
    mapped[:] = VECTORS
    for X in (mapped, VECTORS.astype(np.float64), pd.DataFrame(VECTORS)):
        assert same(quick_vectors().fit(X), expected)
        np.testing.assert_array_equal(expected.predict(X), expected.labels_)
    np.testing.assert_array_equal(mapped, VECTORS)


def test_whole_numbers_are_vectors_too() -> None:
    model = quick_vectors().fit(np.rint(10 * VECTORS).astype(np.int32))
    assert model.transform(VECTORS).dtype == np.float32


def test_features_may_be_named_as_the_encoder() -> None:
    assert same(quick_vectors(encoder=Features()).fit(VECTORS), quick_vectors().fit(VECTORS))


def test_vectors_need_no_other_encoder() -> None:
    with pytest.raises(ValueError, match="need no encoder"):
        quick(augmenter="auto").fit(VECTORS)
    with pytest.raises(ValueError, match="takes vectors"):
        quick(encoder=Features()).fit(TEXTS)


def test_texts_and_vectors_are_not_mixed_up() -> None:
    for_vectors, for_texts = quick_vectors().fit(VECTORS), quick().fit(TEXTS)
    for method in ("predict", "predict_proba", "transform"):
        with pytest.raises(TypeError, match="was fitted on vectors, X holds texts"):
            getattr(for_vectors, method)(TEXTS)
        with pytest.raises(TypeError, match="was fitted on texts, X holds vectors"):
            getattr(for_texts, method)(VECTORS)


def test_vectors_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="have 5 columns, but this encoder has width 8"):
        quick_vectors().fit(VECTORS).predict(VECTORS[:, :5])


def test_vectors_that_are_not_finite_are_refused() -> None:
    broken = VECTORS.copy()
    broken[7, 2] = np.nan
    with pytest.raises(ValueError, match="row 7 holds NaN"):
        quick_vectors().fit(broken)


def test_vectors_cannot_be_fine_tuned() -> None:
    with pytest.raises(ValueError, match="vectors have none"):
        quick_vectors(finetune=1).fit(VECTORS)


def test_views_of_vectors() -> None:
    rng = np.random.default_rng(0)
    first, second = (VECTORS + 0.1 * rng.standard_normal(VECTORS.shape) for _ in range(2))
    model = quick_vectors().fit(VECTORS, views=(first, second))
    assert not same(model, quick_vectors().fit(VECTORS))


# Views


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ((FIRST[:-1], SECOND), "the first view has 35 texts, X has 36 texts"),
        ((FIRST, [*SECOND, "more"]), "the second view has 37 texts, X has 36 texts"),
        ((FIRST, VECTORS), "the second view has 36 vectors, X has 36 texts"),
        ((FIRST,), "views must be a pair of two views, got 1"),
        ((FIRST, SECOND, FIRST), "got 3"),
    ],
)
def test_views_of_the_wrong_length_or_kind_are_refused(views: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick().fit(TEXTS, views=views)


def test_views_of_texts_for_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="the first view has 36 texts, X has 36 vectors"):
        quick_vectors().fit(VECTORS, views=(FIRST, SECOND))


def test_given_views_take_precedence_over_the_augmenter() -> None:
    by_views = quick(augmenter="dropout").fit(TEXTS, views=(FIRST, SECOND))
    assert same(by_views, quick(augmenter=Views(FIRST, SECOND)).fit(TEXTS))
    assert not same(by_views, quick().fit(TEXTS))


def test_an_empty_view_is_replaced_by_the_text() -> None:
    filled = quick().fit(TEXTS, views=([TEXTS[0], *FIRST[1:]], SECOND))
    assert same(quick().fit(TEXTS, views=(["", *FIRST[1:]], SECOND)), filled)


def test_a_function_may_be_the_augmenter() -> None:
    def add_words(texts: list[str]) -> tuple[list[str], list[str]]:
        return [text + " new" for text in texts], [text + " old" for text in texts]

    by_views = quick().fit(TEXTS, views=(FIRST, SECOND))
    assert same(quick(augmenter=add_words).fit(TEXTS), by_views)


def test_a_frozen_encoder_needs_views_that_differ() -> None:
    with pytest.raises(ValueError, match="the two views would not differ"):
        quick(augmenter="dropout").fit(TEXTS)


def test_an_encoder_that_learns_may_read_the_same_text_twice() -> None:
    assert quick_text(augmenter="dropout").fit(TEXTS).labels_.max() < N_TOPICS


def test_sample_ids_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ValueError, match="sample_ids has 2 entries for 36 samples"):
        quick().fit(TEXTS, sample_ids=["a", "b"])


def test_a_batch_size_of_nothing_is_refused() -> None:
    model: CAOT = quick().fit(TEXTS)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        model.predict(TEXTS, batch_size=0)


def test_equal_views_are_refused_for_a_frozen_encoder() -> None:
    with pytest.raises(ValueError, match="the two views are equal"):
        quick_vectors().fit(VECTORS, views=(VECTORS, VECTORS))


@pytest.mark.parametrize("every", [0, -1])
def test_checkpoint_every_is_checked(every: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint_every must be at least 1"):
        quick().fit(TEXTS, checkpoint=tmp_path / "state", checkpoint_every=every)


def test_sparse_inputs_and_confidences_out_of_range_are_refused() -> None:
    with pytest.raises(TypeError, match="X is sparse"):
        quick_vectors().fit(scipy.sparse.csr_array(VECTORS))
    model = quick_vectors().fit(VECTORS)
    with pytest.raises(ValueError, match="min_confidence must lie between 0 and 1, got 5"):
        model.predict(VECTORS, min_confidence=5)
