"""Probabilities agree with the clusters of near texts (Eq. 32)."""

import numpy as np
import pytest

from caot import CAOT
from caot.calibration import neighbour_temperature
from tests.estimator_corpus import corpus, quick_text


def clustered(rng, n=600, k=4, width=8, noise=0.3):
    """Return vectors around k centres, and their clusters."""
    clusters = rng.integers(k, size=n)
    centers = 3 * np.eye(width)[:k]
    return (centers[clusters] + noise * rng.normal(size=(n, width))).astype(np.float32), clusters


def sure_of(clusters, k=4, margin=10.0):
    """Return log-probabilities that leave hardly any doubt."""
    logits = margin * np.eye(k, dtype=np.float32)[clusters]
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def tempered(log_prob, temperature):
    shares = np.exp(log_prob / temperature)
    return shares / shares.sum(axis=1, keepdims=True)


def test_clusters_that_neighbours_share_need_no_doubt():
    vectors, clusters = clustered(np.random.default_rng(0))
    assert neighbour_temperature(sure_of(clusters), vectors) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_confidence_becomes_how_often_neighbours_agree(share):
    rng = np.random.default_rng(1)
    vectors, clusters = clustered(rng, n=2000)
    wrong = rng.random(2000) < share
    found = np.where(wrong, rng.integers(4, size=2000), clusters)
    log_prob = sure_of(found)
    temperature = neighbour_temperature(log_prob, vectors)
    right = 1 - 0.75 * share  # a random cluster is the right one in a quarter of the cases
    expected = right**2 + (1 - right) ** 2 / 3
    assert tempered(log_prob, temperature).max(axis=1).mean() == pytest.approx(expected, abs=0.03)


def test_the_least_of_a_plain_search():
    rng = np.random.default_rng(2)
    vectors, clusters = clustered(rng, n=80, noise=1.5)
    log_prob = sure_of(clusters) + rng.normal(size=(80, 4)).astype(np.float32)
    log_prob -= np.log(np.exp(log_prob).sum(axis=1, keepdims=True))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = log_prob.argmax(axis=1)

    def surprise(temperature):
        total = 0.0
        for i in range(80):
            near = sorted((j for j in range(80) if j != i), key=lambda j: -unit[i] @ unit[j])[:5]
            shares = tempered(log_prob[i : i + 1], temperature)[0]
            total -= sum(np.log(shares[labels[j]]) for j in near)
        return total

    grid = np.exp(np.linspace(0, np.log(50), 300))
    best = grid[np.argmin([surprise(value) for value in grid])]
    assert neighbour_temperature(log_prob, vectors) == pytest.approx(best, rel=0.03)


def test_copies_tell_nothing():
    vectors = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)
    log_prob = sure_of(np.repeat([0, 1], 10), k=2)
    # Without copies the only neighbours lie in the other cluster: nothing could be less sure.
    assert neighbour_temperature(log_prob, vectors) == pytest.approx(50, rel=0.01)
    assert neighbour_temperature(log_prob[:10], vectors[:10]) == 1.0


def test_a_model_keeps_its_temperature_and_its_labels(tmp_path):
    texts = corpus()[0]
    model = quick_text().fit(texts)
    assert 1 <= model.temperature_ <= 50
    shares = model.predict_proba(texts)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
    model.save_pretrained(tmp_path / "m")
    again = CAOT.from_pretrained(tmp_path / "m")
    assert again.temperature_ == model.temperature_
    np.testing.assert_allclose(again.predict_proba(texts), shares, atol=1e-6)


@pytest.mark.filterwarnings("ignore:only . of 3 clusters:caot.EmptyClusterWarning")
def test_faithful_models_are_as_sure_as_their_network():
    texts = corpus()[0]
    views = [text + " new" for text in texts], [text + " old" for text in texts]
    assert quick_text(mode="faithful").fit(texts, views=views).temperature_ == 1.0
