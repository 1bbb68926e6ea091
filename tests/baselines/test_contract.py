"""What every method must do, whatever its idea."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError

from caot.baselines import METHODS
from caot.baselines.base import Baseline
from caot.prediction import predict_stream
from tests.baselines.quick import (
    CORPUS,
    N_TOPICS,
    QUICK,
    VIEWS,
    WORD_TEXTS,
    WORD_VIEWS,
    accuracy,
    quick,
    saveable,
)

NAMES = sorted(QUICK)
RIVALS = "the extra rivals"


@pytest.fixture(scope="module", params=NAMES)
def fitted(request: pytest.FixtureRequest) -> Baseline:
    """Return a fitted model, which no test may change."""
    return quick(request.param).fit(CORPUS.texts, views=VIEWS)


def test_every_method_is_tested_here() -> None:
    adapters = {name for name, method in METHODS.items() if method.needs == RIVALS}
    assert set(NAMES) | adapters == set(METHODS)


def test_it_finds_separate_topics(fitted: Baseline) -> None:
    assert accuracy(fitted) > 0.9  # by chance: about 0.4


def test_seed_and_texts_alone_decide_the_labels(fitted: Baseline) -> None:
    events: list[object] = []

    def observe(event: object) -> None:
        torch.rand(1)  # an observer's own draws must not matter
        events.append(event)

    wrong = np.random.default_rng(0).permutation(CORPUS.labels)
    again = clone(fitted).fit(CORPUS.texts, wrong, views=VIEWS, callbacks=(observe,))
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, fitted.cluster_centers_)
    assert bool(events) == hasattr(fitted, "history_")


def test_predict_agrees_with_labels_and_probabilities(fitted: Baseline) -> None:
    shares = fitted.predict_proba(CORPUS.texts)
    assert shares.shape == (len(CORPUS.texts), N_TOPICS)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(shares.argmax(axis=1), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(CORPUS.texts), fitted.labels_)


def test_new_texts_go_to_the_cluster_of_their_topic(fitted: Baseline) -> None:
    same_topic = fitted.predict(CORPUS.second)
    assert (same_topic == fitted.labels_).mean() > 0.9


def test_centres_and_sizes_describe_the_clusters(fitted: Baseline) -> None:
    vectors = fitted.transform(CORPUS.texts)
    assert fitted.cluster_sizes_.sum() == len(CORPUS.texts)
    for label, center in enumerate(fitted.cluster_centers_):
        mean = vectors[fitted.labels_ == label].mean(axis=0)
        np.testing.assert_allclose(center, mean, atol=1e-4)
    names = fitted.get_feature_names_out()
    assert len(names) == vectors.shape[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_predicts_the_labels(name: str, tmp_path: Path) -> None:
    model = saveable(name).fit(WORD_TEXTS, views=WORD_VIEWS)
    model.save_pretrained(tmp_path / "model")
    files = [path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert not {".pkl", ".pickle", ".joblib", ".bin", ".pt"} & set(files)
    for kind in (type(model), Baseline):
        loaded = kind.from_pretrained(tmp_path / "model")
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict(WORD_TEXTS), model.labels_)
        np.testing.assert_array_equal(loaded.labels_, model.labels_)
        np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
        kept = model.get_params(deep=False).keys() - {"device", "verbose"}
        for parameter in kept:
            assert getattr(loaded, parameter) == getattr(model, parameter)


@pytest.mark.filterwarnings("ignore::caot.EmptyClusterWarning")
def test_a_deep_auto_encoder_is_loaded_layer_by_layer(tmp_path: Path) -> None:
    model = saveable("self-train", hidden=(24, 20, 16, 14, 12, 10), n_features=6, max_iter=2)
    model.fit(WORD_TEXTS).save_pretrained(tmp_path / "model")
    loaded = Baseline.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(WORD_TEXTS), model.transform(WORD_TEXTS))


@pytest.mark.parametrize("name", NAMES)
def test_the_constructor_only_stores(name: str) -> None:
    kind = METHODS[name].load()
    parameters = [p for p in inspect.signature(kind.__init__).parameters if p != "self"]
    assert sorted(vars(kind())) == sorted(parameters) == sorted(kind().get_params())
    value = object()
    for parameter in parameters:
        assert getattr(kind(**{parameter: value}), parameter) is value


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_clusterer_that_must_be_fitted(name: str) -> None:
    model = quick(name)
    assert is_clusterer(model)
    with pytest.raises(NotFittedError):
        model.predict(CORPUS.texts)


@pytest.mark.parametrize("name", NAMES)
def test_bad_values_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="n_clusters"):
        quick(name).set_params(n_clusters=1).fit(CORPUS.texts)
    with pytest.raises(ValueError, match="empty"):
        quick(name).fit([*CORPUS.texts, " "])


def test_clusters_are_described(fitted: Baseline) -> None:
    description = fitted.describe(CORPUS.texts)
    assert len(description.clusters) == N_TOPICS
    assert len(fitted.get_cluster_info(CORPUS.texts)) == N_TOPICS
    rows = fitted.get_document_info(CORPUS.texts)
    np.testing.assert_array_equal(rows["cluster"], fitted.labels_)


def test_streams_are_predicted(fitted: Baseline) -> None:
    parts = predict_stream(fitted, iter(CORPUS.texts), chunk_size=25)
    np.testing.assert_array_equal(np.concatenate([p.labels for p in parts]), fitted.labels_)


@pytest.mark.parametrize("name", ["tfidf", "kmeans", "sccl", "self-train"])
def test_empty_texts_may_have_a_cluster_of_their_own(name: str) -> None:
    texts, views = [" ", *CORPUS.texts], tuple(["", *view] for view in VIEWS)
    model = quick(name, on_empty="own-cluster").fit(texts, views=views)
    assert model.labels_[0] == N_TOPICS
    assert accuracy(model, np.array([N_TOPICS, *CORPUS.labels])) > 0.9
    assert model.cluster_sizes_.tolist()[-1] == 1
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
