"""The methods that train nothing: what each is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage

from caot.baselines import make_method, spherical
from caot.baselines.agglomerative import Agglomerative
from caot.baselines.kmeans import EmbeddingKMeans
from caot.baselines.spherical import SphericalKMeans, spherical_kmeans
from caot.baselines.tfidf import TfidfKMeans
from caot.inputs import read_inputs
from caot.metrics import clustering_accuracy
from caot.vectors import unit_rows
from tests.estimator_corpus import vectors

ROWS = vectors()


def test_tfidf_clusters_by_rare_words_not_by_common_ones() -> None:
    texts = [f"the of and {word} {i}" for word in ("cat", "dog") for i in range(10)]
    model = TfidfKMeans(2, n_init=3).fit(texts)
    assert clustering_accuracy(np.repeat([0, 1], 10), model.labels_) == 1
    assert model.transform(texts).shape == (20, 2)


def test_tfidf_needs_words() -> None:
    with pytest.raises(TypeError, match="texts, not vectors"):
        TfidfKMeans(2).fit(ROWS)


def test_kmeans_labels_are_those_of_the_nearest_centre() -> None:
    model = EmbeddingKMeans(3).fit(ROWS)
    distances = np.linalg.norm(ROWS[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)


def test_spherical_kmeans_sees_directions_alone() -> None:
    lengths = np.random.default_rng(0).uniform(0.1, 10, (len(ROWS), 1)).astype(np.float32)
    first, second = (SphericalKMeans(3, n_init=2).fit(rows) for rows in (ROWS, lengths * ROWS))
    assert clustering_accuracy(first.labels_, second.labels_) == 1


def test_spherical_centres_have_length_one_and_fit_better_with_time() -> None:
    unit = unit_rows(np.random.default_rng(0).standard_normal((80, 5)).astype(np.float32))
    short, long = (spherical_kmeans(unit, 6, 0, rounds) for rounds in (1, 50))
    np.testing.assert_allclose(np.linalg.norm(long.centers, axis=1), 1, rtol=1e-5)
    assert long.cosine > short.cosine


@pytest.mark.parametrize("kind", ["ward", "average"])
def test_agglomerative_labels_are_those_of_the_merging(kind: str) -> None:
    rows = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    model = Agglomerative(5, linkage=kind).fit(rows)
    expected = fcluster(linkage(rows, kind), 5, "maxclust")
    assert clustering_accuracy(expected, model.labels_) == 1
    # Not the nearest centre's: merging is not a matter of centres, and yet predict agrees.
    distances = np.linalg.norm(rows[:, None] - model.cluster_centers_, axis=2)
    assert (distances.argmin(axis=1) != model.labels_).any()
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal(model.predict(rows[::-1] + 1e-7), model.labels_[::-1])


def test_seeds_next_to_each_other_share_no_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def spy(unit: Any, n_clusters: int, seed: int, max_iter: int) -> Any:
        seen.append(seed)
        return spherical_kmeans(unit, n_clusters, seed, max_iter)

    monkeypatch.setattr(spherical, "spherical_kmeans", spy)
    for seed in (0, 1):
        SphericalKMeans(3, n_init=4, random_state=seed).fit(ROWS)
    assert len(set(seen)) == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "cosine"}, "linkage='ward' needs metric='euclidean'"),
        ({"metric": "nonsense"}, "metric must be one of 'euclidean', 'cosine'"),
        ({"linkage": "odd"}, "linkage must be one of 'ward'"),
        ({"random_state": 2**32}, "random_state must be an integer from 0 to 4294967295"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Agglomerative(3, **settings).fit(ROWS)


def test_agglomerative_merges_a_sample_of_many_texts() -> None:
    model = Agglomerative(3, max_merged=18).fit(ROWS)
    assert clustering_accuracy(np.repeat([0, 1, 2], 12), model.labels_) == 1


def test_agglomerative_leaves_no_cluster_empty_where_vectors_are_equal() -> None:
    rows = np.repeat(np.eye(2, dtype=np.float32), 6, axis=0)  # an encoder may not tell texts apart
    head = Agglomerative(4)._cluster(rows, read_inputs(rows, on_empty="error"))
    shares = head.predict(torch.from_numpy(rows)).exp()
    assert shares.shape == (12, 2)
    assert clustering_accuracy(np.repeat([0, 1], 6), shares.argmax(dim=1).numpy()) == 1


def test_agglomerative_refuses_an_unknown_linkage() -> None:
    with pytest.raises(ValueError, match="linkage"):
        Agglomerative(3, linkage="nearest").fit(ROWS)


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("algorithm", ["kmeans", "fuzzy", "agglomerative", "spectral"])
def test_tcllm_finds_groups_of_wide_vectors_by_each_algorithm(algorithm: str) -> None:
    rng = np.random.default_rng(0)
    topics = np.repeat(np.arange(4), 30)
    rows = rng.standard_normal((4, 384))[topics] + rng.standard_normal((120, 384))
    model = make_method("tcllm", 4, algorithm=algorithm).fit(rows.astype(np.float32))
    assert clustering_accuracy(topics, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(rows.astype(np.float32)), model.labels_)


def test_centres_of_fuzzy_c_means_that_meet_are_an_error() -> None:
    rows = np.random.default_rng(0).standard_normal((60, 384)).astype(np.float32)
    with pytest.raises(ValueError, match=r"met at fuzziness=2.0: lower it"):
        make_method("tcllm", 4, algorithm="fuzzy", fuzziness=2.0).fit(rows)
