"""K-means on embeddings."""

import numpy as np
import pytest

from caot import kmeans as module
from caot.kmeans import Partition, breathing_kmeans, kmeans
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
        def fit(self, rows):
            fitted.append(rows.shape)
            return super().fit(rows)

    monkeypatch.setattr(module, "KMeans", Observed)
    partition = kmeans(blobs[0], K, n_init=3, random_state=0)
    assert fitted == [(30, 5)]
    assert partition.labels.shape == (60,)
    assert partition.labels.dtype == np.int64
    assert clustering_accuracy(blobs[1], partition.labels) == 1.0


def inertia(rows, partition: Partition) -> float:
    return float(np.square(rows - partition.centers[partition.labels]).sum())


def test_more_starts_are_never_worse(blobs):
    once, often = (kmeans(blobs[0], 8, n_init=n, random_state=0) for n in (1, 20))
    assert inertia(blobs[0], often) <= inertia(blobs[0], once)


@pytest.mark.parametrize("seed", range(3))
def test_breathing_moves_centres_to_where_they_are_of_use(seed):
    """A hundred groups on a grid: each of ten runs of K-means merges some and divides others."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(100), 20)
    grid = np.stack(np.divmod(truth, 10), axis=1)
    rows = (grid + 0.15 * rng.normal(size=(2000, 2))).astype(np.float32)
    often = kmeans(rows, 100, n_init=10, random_state=seed)
    found = breathing_kmeans(rows, 100, random_state=seed)
    assert clustering_accuracy(truth, often.labels) < 0.99
    assert clustering_accuracy(truth, found.labels) > 0.995
    again = breathing_kmeans(rows, 100, random_state=seed)
    np.testing.assert_array_equal(found.labels, again.labels)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_breathing_is_never_worse_than_a_run_of_kmeans(blobs, k):
    once, found = (
        kmeans(blobs[0], k, n_init=1, random_state=0),
        breathing_kmeans(blobs[0], k, random_state=0),
    )
    assert inertia(blobs[0], found) <= inertia(blobs[0], once)
    assert found.centers.shape == (k, 5)
    assert found.centers.dtype == np.float32


def test_breathing_settles_on_a_sample_of_large_data(blobs, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_ROWS", 30)
    partition = breathing_kmeans(blobs[0], K, random_state=0)
    assert partition.labels.shape == (60,)
    assert clustering_accuracy(blobs[1], partition.labels) == 1.0


def test_too_few_distinct_points_pass_without_a_warning():
    labels = kmeans(np.ones((5, 2), dtype=np.float32), 2, n_init=1, random_state=0).labels
    assert set(labels) == {0}
    breathed = breathing_kmeans(np.ones((5, 2), dtype=np.float32), 2, random_state=0)
    assert len(set(breathed.labels)) == 1
