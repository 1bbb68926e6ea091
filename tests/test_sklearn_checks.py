"""scikit-learn's contract, checked in the manner of its `check_estimator` but with texts as X."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from caot import CAOT, Variant
from caot.augment import WordDropout
from tests.estimator_corpus import corpus, quick, quick_vectors, same, vectors

TEXTS, TOPICS = corpus()
OTHER_TEXTS = corpus(10, seed=5)[0]

PARAMETERS = [name for name in inspect.signature(CAOT.__init__).parameters if name != "self"]

NEEDS_FIT: dict[str, Callable[[CAOT], object]] = {
    "predict": lambda model: model.predict(TEXTS),
    "predict_proba": lambda model: model.predict_proba(TEXTS),
    "transform": lambda model: model.transform(TEXTS),
    "save_pretrained": lambda model: model.save_pretrained("never-written"),
    "push_to_hub": lambda model: model.push_to_hub("me/never-sent"),
    "get_feature_names_out": lambda model: model.get_feature_names_out(),
}

CONTAINERS: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "object array": lambda texts: np.array(texts, dtype=object),
    "string array": np.array,
    "Series": lambda texts: pd.Series(texts, index=range(100, 100 + len(texts))),
    "object Series": lambda texts: pd.Series(texts, dtype=object),
    "generator": lambda texts: (text for text in texts),
}


@pytest.fixture(scope="module")
def fitted() -> CAOT:
    """Return a fitted model, which no test may change."""
    return quick().fit(TEXTS)


# Parameters


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_constructor_stores_any_value_unchanged(name: str) -> None:
    value: Any = object()
    assert getattr(CAOT(**{name: value}), name) is value


def test_the_constructor_stores_nothing_else() -> None:
    assert sorted(vars(CAOT())) == sorted(PARAMETERS)


def test_there_are_no_fitted_attributes_before_fit() -> None:
    names = [name for name in vars(CAOT()) if name.endswith("_") or name.startswith("_")]
    assert names == []
    assert not hasattr(CAOT(), "n_features_in_")


def test_get_params_lists_every_parameter() -> None:
    assert sorted(CAOT().get_params()) == sorted(PARAMETERS)


def test_set_params_takes_back_what_get_params_gave() -> None:
    model = quick(5, temperature_instance=0.5)
    other = CAOT().set_params(**model.get_params(deep=False))
    assert other.get_params(deep=False) == model.get_params(deep=False)


def test_set_params_returns_the_estimator() -> None:
    model = CAOT()
    assert model.set_params(n_clusters=4) is model
    assert model.n_clusters == 4


def test_set_params_refuses_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="no_such"):
        CAOT().set_params(no_such=1)


def test_the_constructor_refuses_an_unknown_name() -> None:
    make: Any = CAOT
    with pytest.raises(TypeError, match="no_such"):
        make(no_such=1)


def test_only_n_clusters_is_positional() -> None:
    make: Any = CAOT
    with pytest.raises(TypeError, match="positional"):
        make(3, "auto")


def test_clone_of_an_unfitted_estimator_keeps_the_parameters() -> None:
    model = CAOT(4, imbalance=3.0, variant=Variant(head_iter=7), augmenter=WordDropout())
    copied = clone(model)
    assert copied is not model
    assert copied.get_params() == model.get_params()


def test_clone_of_a_fitted_estimator_is_not_fitted(fitted: CAOT) -> None:
    assert sorted(vars(clone(fitted))) == sorted(PARAMETERS)


def test_fit_does_not_change_the_parameters() -> None:
    model = quick()
    before = model.get_params(deep=False)
    model.fit(TEXTS)
    after = model.get_params(deep=False)
    assert all(after[name] is before[name] for name in PARAMETERS)


def test_repr_shows_what_was_set() -> None:
    assert repr(CAOT(5, mode="faithful")) == "CAOT(mode='faithful', n_clusters=5)"


def test_tags_say_that_x_is_text() -> None:
    tags = get_tags(CAOT())
    assert tags.input_tags.string
    assert not tags.non_deterministic
    assert not tags.target_tags.required
    assert is_clusterer(CAOT())


# Before fit


@pytest.mark.parametrize("method", NEEDS_FIT)
def test_methods_need_a_fitted_model(method: str) -> None:
    with pytest.raises(NotFittedError):
        NEEDS_FIT[method](CAOT())


# Fit


def test_fit_returns_the_estimator() -> None:
    model = quick()
    assert model.fit(TEXTS) is model


def test_fit_sets_attributes_that_end_with_an_underscore(fitted: CAOT) -> None:
    new = set(vars(fitted)) - set(PARAMETERS)
    assert all(name.endswith("_") and not name.startswith("_") for name in new)
    documented = {"labels_", "cluster_centers_", "imbalance_", "history_", "n_iter_"}
    assert documented | {"end_reason_", "sample_ids_"} <= new


def test_fit_twice_gives_the_same_result(fitted: CAOT) -> None:
    model = quick().fit(TEXTS)
    assert same(model, fitted)
    assert same(model.fit(TEXTS), fitted)


def test_a_refit_forgets_the_first_fit() -> None:
    model = quick().fit(OTHER_TEXTS, sample_ids=range(len(OTHER_TEXTS))).fit(TEXTS)
    assert same(model, quick().fit(TEXTS))
    assert model.sample_ids_ is None


def test_a_refit_on_texts_forgets_the_width_of_vectors() -> None:
    model = quick_vectors().fit(vectors())
    model.set_params(encoder=quick().encoder, augmenter="word-dropout").fit(TEXTS)
    assert not hasattr(model, "n_features_in_")


def test_y_is_ignored(fitted: CAOT) -> None:
    assert same(quick().fit(TEXTS, TOPICS), fitted)
    assert same(quick().fit(TEXTS, y="anything"), fitted)


def test_fit_does_not_change_a_list() -> None:
    texts = list(TEXTS)
    quick().fit(texts)
    assert texts == TEXTS


def test_fit_does_not_change_an_array_of_texts_or_a_series() -> None:
    array, series = np.array(TEXTS, dtype=object), pd.Series(TEXTS)
    quick().fit(array)
    quick().fit(series)
    assert array.tolist() == TEXTS
    pd.testing.assert_series_equal(series, pd.Series(TEXTS))


def test_fit_does_not_change_an_array_of_vectors() -> None:
    array = vectors()
    quick_vectors().fit(array).predict(array)
    np.testing.assert_array_equal(array, vectors())


def test_fit_does_not_change_views() -> None:
    first, second = [text + " new" for text in TEXTS], [text + " old" for text in TEXTS]
    kept = list(first), list(second)
    quick().fit(TEXTS, views=(first, second))
    assert (first, second) == kept


@pytest.mark.parametrize("container", CONTAINERS)
def test_any_container_of_texts_gives_the_same_result(container: str, fitted: CAOT) -> None:
    assert same(quick().fit(CONTAINERS[container](TEXTS)), fitted)
    np.testing.assert_array_equal(fitted.predict(CONTAINERS[container](TEXTS)), fitted.labels_)


def test_sample_ids_are_kept() -> None:
    names = [f"row {row}" for row in range(len(TEXTS))]
    assert quick().fit(TEXTS, sample_ids=names).sample_ids_ == names


def test_the_global_random_state_is_left_alone() -> None:
    np.random.seed(3)  # noqa: NPY002 - the global state is what is tested
    expected = np.random.RandomState(3).random_sample(4)
    quick().fit(TEXTS)
    np.testing.assert_array_equal(np.random.random_sample(4), expected)  # noqa: NPY002
