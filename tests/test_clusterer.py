"""The base of estimators: another method needs a fit and the probabilities, no more."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from caot import CAOT
from caot.clusterer import TextClusterer
from caot.inputs import check_views
from caot.kmeans import kmeans
from caot.prediction import predict_stream
from caot.preparation import choose_layers, load, prepare
from caot.settings import PreparationSettings
from tests.estimator_corpus import N_TOPICS, corpus, model_folder, vectors

TEXTS, TOPICS = corpus()


class Nearest(TextClusterer):
    """K-means on the embeddings: the smallest method there is."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        encoder: Any = "auto",
        finetune: Any = "none",
        augmenter: Any = "word-dropout",
        mode: Any = "default",
        batch_size: int = 200,
        max_length: int | None = None,
        max_chunks: int | None = None,
        on_empty: Any = "error",
        time_budget: Any = None,
        cache_memory: Any = "2GB",
        device: str | None = None,
        random_state: int = 0,
        verbose: int = 0,
        sharpness: float = 100.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.encoder = encoder
        self.finetune = finetune
        self.augmenter = augmenter
        self.mode = mode
        self.batch_size = batch_size
        self.max_length = max_length
        self.max_chunks = max_chunks
        self.on_empty = on_empty
        self.time_budget = time_budget
        self.cache_memory = cache_memory
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.sharpness = sharpness

    def fit(self, X: Any, y: object = None, *, views: Any = None) -> Self:
        settings = self._settings_as(PreparationSettings)
        inputs = self._read_samples(X)
        given = None if views is None else check_views(views, inputs)
        loaded = load(settings, inputs)
        layers = choose_layers(settings, loaded, n_iter=1).layers
        prepared = prepare(settings, loaded, layers, given, n_iter=1)
        labels = kmeans(
            prepared.vectors, self.n_clusters, n_init=2, random_state=self.random_state
        ).labels
        groups = [prepared.vectors[labels == label] for label in range(self.n_clusters)]
        self.means_ = np.stack([group.mean(axis=0) for group in groups])
        self._keep_encoder(prepared.encoder)
        self._label(inputs, prepared.final_embeddings())
        return self

    def shares(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        distances = np.square(vectors[:, None] - self.means_).sum(axis=2)
        return softmax(-self.sharpness * distances, axis=1).astype(np.float32)


def nearest(**changes: Any) -> Nearest:
    return Nearest(N_TOPICS, **{"encoder": str(model_folder()), "device": "cpu", **changes})


@pytest.fixture(scope="module")
def fitted() -> Nearest:
    return nearest().fit(TEXTS)


def test_labels_and_what_follows_from_them(fitted: Nearest) -> None:
    assert adjusted_rand_score(TOPICS, fitted.labels_) > 0.5
    assert fitted.cluster_sizes_.tolist() == np.bincount(fitted.labels_).tolist()
    np.testing.assert_array_equal(fitted.predict(TEXTS), fitted.labels_)
    (streamed,) = predict_stream(fitted, TEXTS)
    np.testing.assert_array_equal(streamed.labels, fitted.labels_)
    np.testing.assert_allclose(fitted.predict_proba(TEXTS).sum(axis=1), 1.0, atol=1e-6)
    means = [fitted.transform(TEXTS)[fitted.labels_ == k].mean(axis=0) for k in range(N_TOPICS)]
    np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-6)


def test_doubtful_texts_have_no_cluster(fitted: Nearest) -> None:
    confidence = fitted.predict_proba(TEXTS).max(axis=1)
    limit = float(np.median(confidence))
    found = fitted.predict(TEXTS, min_confidence=limit)
    np.testing.assert_array_equal(found == -1, confidence < limit)


def test_clusters_are_described(fitted: Nearest) -> None:
    assert len(fitted.describe(TEXTS).clusters) == N_TOPICS
    assert fitted.get_cluster_info(TEXTS)["size"].sum() == len(TEXTS)
    assert len(fitted.get_document_info(TEXTS)) == len(TEXTS)


def test_empty_texts_get_a_cluster_of_their_own() -> None:
    model = nearest(on_empty="own-cluster").fit([*TEXTS, ""])
    assert model.labels_[-1] == N_TOPICS
    assert model.predict_proba(["", TEXTS[0]])[:, -1].tolist() == [1.0, 0.0]


def test_vectors_are_taken_too() -> None:
    model = nearest(encoder="auto", augmenter="auto").fit(vectors())
    assert model.n_features_in_ == 8
    with pytest.raises(TypeError, match="was fitted on vectors, X holds texts"):
        model.predict(TEXTS)
    assert not hasattr(model.set_params(encoder=str(model_folder())).fit(TEXTS), "n_features_in_")


def test_settings_are_checked_before_anything_is_read() -> None:
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 2, got 1"):
        nearest().set_params(n_clusters=1).fit([])
    with pytest.raises(ValueError, match="mode must be one of"):
        nearest(mode="odd").fit([])
    with pytest.raises(NotFittedError):
        nearest().predict(TEXTS)


def test_scikit_learn_knows_it(fitted: Nearest) -> None:
    assert clone(fitted).get_params() == fitted.get_params()
    assert fitted.__sklearn_tags__().input_tags.string
    assert fitted.get_feature_names_out().tolist()[0] == "nearest0"


def test_fit_and_probabilities_are_up_to_the_method() -> None:
    assert TextClusterer.__abstractmethods__ == {"fit", "shares"}
    assert issubclass(CAOT, TextClusterer)
