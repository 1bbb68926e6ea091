"""What training begins with: first clusters and neighbours."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

import caot.kmeans
from caot import start
from caot.kmeans import breathing_kmeans, kmeans
from caot.neighbours import Neighbours
from caot.start import Beginning, StartSettings, average_linkage, begin
from caot.vectors import unit_rows


def blobs(sizes: list[int], spread: float = 0.8) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return unit vectors around as many directions as there are sizes, and where they belong."""
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = unit_rows(rng.normal(size=(len(sizes), 24)).astype(np.float32))
    noise = rng.normal(size=(len(truth), 24)) / np.sqrt(24)
    return unit_rows((centres[truth] + spread * noise).astype(np.float32)), truth


UNEVEN = [400, 300, 200, *[15] * 12]


def find(vectors: NDArray[np.float32], k: int, kind: str = "neighbours") -> NDArray[np.int64]:
    return begin_with(vectors, k, StartSettings(kind, restarts=3)).clusters  # type: ignore[arg-type]


def begin_with(
    vectors: NDArray[np.float32],
    k: int,
    settings: StartSettings,
    *,
    with_neighbours: bool = False,
) -> Beginning:
    return begin(vectors, k, settings, with_neighbours=with_neighbours, random_state=0)


def test_large_and_small_clusters_side_by_side(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "caot")
    vectors, truth = blobs(UNEVEN)
    usual = adjusted_rand_score(truth, find(vectors, len(UNEVEN), "kmeans"))
    found = adjusted_rand_score(truth, find(vectors, len(UNEVEN)))
    assert found > 0.95
    assert found > usual + 0.1
    assert "first clusters: average linkage (modularity 0." in caplog.text


def test_where_groups_overlap_kmeans_is_chosen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "caot")
    vectors, truth = blobs([150] * 4, spread=1.5)
    labels = find(vectors, 4)
    smoothed = Neighbours.of(vectors, 10).smooth(vectors)
    np.testing.assert_array_equal(labels, breathing_kmeans(smoothed, 4, random_state=0).labels)
    assert "first clusters: K-means" in caplog.text
    linked = average_linkage(smoothed, 4, random_state=0)
    assert adjusted_rand_score(truth, labels) > adjusted_rand_score(truth, linked) + 0.2


@pytest.mark.parametrize(("ahead", "linked"), [(0.01, False), (0.03, True)])
def test_linkage_must_be_clearly_ahead(
    monkeypatch: pytest.MonkeyPatch, ahead: float, linked: bool
) -> None:
    vectors, _ = blobs(UNEVEN)
    smoothed = Neighbours.of(vectors, 10).smooth(vectors)
    expected = average_linkage(smoothed, 5, random_state=0)
    fits = iter([0.6 + ahead, 0.6])  # of linkage, and of K-means
    monkeypatch.setattr(Neighbours, "modularity", lambda _self, _labels: next(fits))
    assert np.array_equal(find(vectors, 5), expected) is linked


def test_kmeans_as_in_the_paper() -> None:
    vectors, _ = blobs(UNEVEN)
    expected = kmeans(vectors, 6, n_init=3, random_state=0).labels
    np.testing.assert_array_equal(find(vectors, 6, "kmeans"), expected)


def test_a_beginning_knows_how_well_it_cuts_the_graph() -> None:
    for sizes in (UNEVEN, [150] * 4):  # linked, and rounded
        vectors, _ = blobs(sizes)
        found = begin_with(vectors, len(sizes), StartSettings("neighbours"))
        assert found.neighbours is not None
        assert found.modularity == found.neighbours.modularity(found.clusters)
    assert np.isnan(begin_with(vectors, 4, StartSettings(), with_neighbours=True).modularity)


def test_neighbours_are_found_where_they_are_needed() -> None:
    vectors, _ = blobs([60, 60])
    assert begin_with(vectors, 2, StartSettings()).neighbours is None
    asked = begin_with(vectors, 2, StartSettings(), with_neighbours=True).neighbours
    own = begin_with(vectors, 2, StartSettings("neighbours")).neighbours
    assert asked is not None
    assert own is not None
    np.testing.assert_array_equal(asked.index, own.index)


@pytest.mark.parametrize("k", [2, 7, 15])
def test_linkage_ends_with_k_groups(k: int) -> None:
    vectors, _ = blobs(UNEVEN)
    labels = average_linkage(vectors, k, random_state=0)
    assert np.unique(labels).tolist() == list(range(k))
    known = fcluster(linkage(vectors, "average", "cosine"), k, "maxclust")
    assert adjusted_rand_score(known, labels) == 1.0


def test_linkage_of_equal_texts_still_has_k_groups() -> None:
    vectors, _ = blobs([3, 3])
    many = np.repeat(vectors, 20, axis=0)
    assert len(np.unique(average_linkage(many, 5, random_state=0))) == 5


def test_of_many_rows_some_are_linked_and_the_others_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "LINKED_ROWS", 100)
    vectors, truth = blobs([200, 100, 60])
    labels = average_linkage(vectors, 3, random_state=0)
    assert adjusted_rand_score(truth, labels) > 0.95


def test_more_clusters_than_rows_can_be_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "LINKED_ROWS", 20)
    monkeypatch.setattr(caot.kmeans, "SAMPLE_ROWS", 20)
    vectors, _ = blobs([20, 20, 20])
    settings = StartSettings("neighbours")
    found = begin(vectors, 30, settings, with_neighbours=True, random_state=0)
    assert len(np.unique(found.clusters)) == 30


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "random"}, "start must be 'kmeans' or 'neighbours', got 'random'"),
        ({"restarts": 0}, "kmeans_restarts must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StartSettings(**settings)  # type: ignore[arg-type]
