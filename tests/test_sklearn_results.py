"""scikit-learn's contract for texts: what a fitted model gives, copies, and use in scikit-learn."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from caot import CAOT, EmptyClusterWarning, Variant
from tests.estimator_corpus import N_TOPICS, corpus, quick, quick_vectors, same, vectors

TEXTS, _ = corpus()
OTHER_TEXTS = corpus(10, seed=5)[0]

PARAMETERS = [name for name in inspect.signature(CAOT.__init__).parameters if name != "self"]


@pytest.fixture(scope="module")
def fitted() -> CAOT:
    """Return a fitted model, which no test may change."""
    return quick().fit(TEXTS)


def strip_all(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts]


def filled_share(model: CAOT, X: list[str], y: object = None) -> float:
    return len(set(model.predict(X).tolist())) / model.n_clusters


# Results


def test_labels_have_the_right_kind_shape_and_range(fitted: CAOT) -> None:
    assert fitted.labels_.dtype == np.int64
    assert fitted.labels_.shape == (len(TEXTS),)
    assert set(fitted.labels_.tolist()) == set(range(N_TOPICS))


def test_fit_predict_gives_the_labels(fitted: CAOT) -> None:
    model = quick()
    found = model.fit_predict(TEXTS)
    np.testing.assert_array_equal(found, model.labels_)
    np.testing.assert_array_equal(found, fitted.labels_)


def test_fit_transform_is_fit_and_then_transform(fitted: CAOT) -> None:
    np.testing.assert_array_equal(quick().fit_transform(TEXTS), fitted.transform(TEXTS))


def test_predict_gives_the_labels_of_the_training_texts(fitted: CAOT) -> None:
    found = fitted.predict(TEXTS)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, fitted.labels_)


def test_a_subset_is_predicted_as_the_whole(fitted: CAOT) -> None:
    rows = np.arange(1, len(TEXTS), 3)
    part = fitted.predict_proba([TEXTS[row] for row in rows])
    np.testing.assert_allclose(part, fitted.predict_proba(TEXTS)[rows], atol=1e-6)


def test_the_order_of_the_texts_does_not_matter(fitted: CAOT) -> None:
    order = np.random.default_rng(0).permutation(len(TEXTS))
    shuffled = fitted.predict_proba([TEXTS[row] for row in order])
    np.testing.assert_allclose(shuffled, fitted.predict_proba(TEXTS)[order], atol=1e-6)


def test_one_sample(fitted: CAOT) -> None:
    np.testing.assert_array_equal(fitted.predict(TEXTS[:1]), fitted.labels_[:1])
    assert fitted.predict_proba(TEXTS[:1]).shape == (1, N_TOPICS)
    assert fitted.transform(TEXTS[:1]).shape == (1, 32)


def test_probabilities_sum_to_one_and_their_best_is_predicted(fitted: CAOT) -> None:
    found = fitted.predict_proba(OTHER_TEXTS)
    assert found.shape == (len(OTHER_TEXTS), N_TOPICS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(found.argmax(axis=1), fitted.predict(OTHER_TEXTS))


def test_transform_gives_float32_of_the_encoders_width(fitted: CAOT) -> None:
    found = fitted.transform(TEXTS)
    assert found.shape == (len(TEXTS), 32)
    assert found.dtype == np.float32


def test_centers_are_means_of_transform(fitted: CAOT) -> None:
    embeddings = fitted.transform(TEXTS)
    means = [embeddings[fitted.labels_ == label].mean(axis=0) for label in range(N_TOPICS)]
    np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-6)


def test_feature_names(fitted: CAOT) -> None:
    names = fitted.get_feature_names_out()
    assert names.tolist() == [f"caot{column}" for column in range(32)]


def test_set_output_gives_a_frame(fitted: CAOT) -> None:
    model = copy.deepcopy(fitted).set_output(transform="pandas")
    frame: Any = model.transform(TEXTS)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == fitted.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), fitted.transform(TEXTS))


def test_vectors_have_a_number_of_features_and_texts_have_not(fitted: CAOT) -> None:
    assert quick_vectors().fit(vectors()).n_features_in_ == 8
    assert not hasattr(fitted, "n_features_in_")


def test_prediction_does_not_depend_on_parameters_set_after_fit(fitted: CAOT) -> None:
    model = copy.deepcopy(fitted).set_params(n_clusters=7, mode="faithful")
    np.testing.assert_array_equal(model.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_the_own_cluster_does_not_depend_on_parameters_set_after_fit() -> None:
    model = quick(on_empty="own-cluster").fit([*TEXTS, ""])
    model.set_params(n_clusters=7)
    assert model.predict([*TEXTS[:2], ""])[-1] == N_TOPICS


# Copies


def test_pickling_of_an_unfitted_estimator() -> None:
    model = CAOT(4, imbalance="slight", variant=Variant(head_iter=3))
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert copied.get_params() == model.get_params()


def _through_pickle(model: CAOT) -> CAOT:
    copied: CAOT = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    return copied


@pytest.mark.parametrize("duplicate", [_through_pickle, copy.deepcopy])
def test_a_copy_of_a_fitted_estimator_predicts_the_same(
    duplicate: Callable[[CAOT], CAOT], fitted: CAOT
) -> None:
    copied = duplicate(fitted)
    assert same(copied, fitted)
    np.testing.assert_array_equal(copied.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    np.testing.assert_array_equal(copied.history_.loss, fitted.history_.loss)


# Inside scikit-learn


def test_last_step_of_a_pipeline(fitted: CAOT) -> None:
    pipeline = make_pipeline(FunctionTransformer(strip_all), quick())
    padded = [f"  {text} " for text in TEXTS]
    np.testing.assert_array_equal(pipeline.fit_predict(padded), fitted.labels_)
    np.testing.assert_array_equal(pipeline.predict(padded), fitted.labels_)


def test_grid_search_over_clusters_and_variants() -> None:
    grid = {
        "n_clusters": [2, 3],
        "variant": [Variant(pseudo_labels=kind, head_iter=30) for kind in ("balanced", "adaptive")],
    }
    search = GridSearchCV(quick(), grid, scoring=filled_share, cv=2, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        search.fit(TEXTS)
    assert len(search.cv_results_["params"]) == 4
    assert set(search.best_estimator_.get_params()) == set(PARAMETERS)


def test_numbers_of_numpy_are_numbers() -> None:
    changes: dict[str, Any] = {
        "n_clusters": np.int64(3),
        "max_iter": np.int64(10),
        "batch_size": np.int32(24),
        "random_state": np.int64(0),
        "imbalance": np.float64(5.0),
        "epsilon": np.float32(1.0),
    }
    model = quick(**changes).fit(TEXTS)
    assert same(model, quick(imbalance=5.0).fit(TEXTS))
