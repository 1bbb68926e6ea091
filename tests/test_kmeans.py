"""K-means on embeddings."""

import numpy as np
import pytest

from caot import kmeans as module
from caot.kmeans import kmeans
from caot.metrics import clustering_accuracy

K = 3


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(K), 20))
    centers = 10 * np.eye(K, 5)
    return (centers[labels] + rng.normal(size=(60, 5))).astype(np.float32), labels


def test_clusters_are_found(blobs):
    embeddings, labels = blobs
    partition = kmeans(embeddings, K, n_init=3, random_state=0)
    assert partition.labels.dtype == np.int64
    assert partition.centers.dtype == np.float32
    assert partition.centers.shape == (K, 5)
    assert clustering_accuracy(labels, partition.labels) == 1.0
    for cluster in range(K):
        mean = embeddings[partition.labels == cluster].mean(axis=0)
        np.testing.assert_allclose(partition.centers[cluster], mean, rtol=1e-4)


@pytest.mark.parametrize("limit", [10, 100])
def test_the_same_seed_gives_the_same_partition(blobs, monkeypatch, limit):
    monkeypatch.setattr(module, "SAMPLE_ROWS", limit)
    first, second = (kmeans(blobs[0], K, n_init=2, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.centers, second.centers)


def test_centres_of_large_data_come_from_a_sample(blobs, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_ROWS", 30)
    fitted = []

    class Observed(module.KMeans):
        def fit_predict(self, rows):
            fitted.append(rows.shape)
            return super().fit_predict(rows)

    monkeypatch.setattr(module, "KMeans", Observed)
    partition = kmeans(blobs[0], K, n_init=3, random_state=0)
    assert fitted == [(30, 5)]
    assert partition.labels.shape == (60,)
    assert partition.labels.dtype == np.int64
    assert clustering_accuracy(blobs[1], partition.labels) == 1.0


def test_more_starts_are_never_worse(blobs):
    def inertia(n_init):
        partition = kmeans(blobs[0], 8, n_init=n_init, random_state=0)
        return np.square(blobs[0] - partition.centers[partition.labels]).sum()

    assert inertia(20) <= inertia(1)


def test_too_few_distinct_points_pass_without_a_warning():
    labels = kmeans(np.ones((5, 2), dtype=np.float32), 2, n_init=1, random_state=0).labels
    assert set(labels) == {0}
