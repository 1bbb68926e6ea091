"""Neighbours by cosine, and what they say about clusters (Eqs. 33 to 35)."""

from __future__ import annotations

import numpy as np
import pytest

from caot import neighbours
from caot.neighbours import Neighbours, usual_count
from caot.vectors import unit_rows

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(300, 8)).astype(np.float32)


def test_the_nearest_by_cosine_without_the_sample_itself() -> None:
    found = Neighbours.of(VECTORS, 5).index
    cosines = unit_rows(VECTORS) @ unit_rows(VECTORS).T
    np.fill_diagonal(cosines, -np.inf)
    expected = np.argsort(-cosines, axis=1)[:, :5]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


def test_length_does_not_count() -> None:
    scaled = VECTORS * RNG.uniform(0.1, 10, size=(300, 1)).astype(np.float32)
    found, expected = Neighbours.of(scaled, 5).index, Neighbours.of(VECTORS, 5).index
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


def test_few_samples_have_few_neighbours() -> None:
    assert Neighbours.of(VECTORS[:4], 10).index.shape == (4, 3)


@pytest.mark.parametrize(("n", "k", "count"), [(20_000, 20, 10), (36, 3, 6), (10, 5, 2)])
def test_no_more_neighbours_than_half_a_cluster(n: int, k: int, count: int) -> None:
    assert usual_count(n, k) == count


def test_a_copy_is_a_neighbour_and_zeros_do_no_harm() -> None:
    doubled = np.concatenate([VECTORS[:20], VECTORS[:20], np.zeros((1, 8), np.float32)])
    found = Neighbours.of(doubled, 1).index
    np.testing.assert_array_equal(found[:20, 0], np.arange(20, 40))
    assert found.max() < len(doubled)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 300 rows be many."""
    for name, value in {"ALL_ROWS": 150, "_CELL_ROWS": 20, "_SEARCHED": 60}.items():
        monkeypatch.setattr(neighbours, name, value)


def in_common(found: Neighbours, exact: Neighbours) -> float:
    """Return which share of the exact neighbours was found."""
    pairs = zip(found.index, exact.index, strict=True)
    return float(np.mean([np.isin(theirs, ours).mean() for ours, theirs in pairs]))


def test_of_many_samples_most_neighbours_are_found(request: pytest.FixtureRequest) -> None:
    centers = 4 * RNG.normal(size=(6, 8))
    groups = np.repeat(centers, 50, axis=0) + RNG.normal(size=(300, 8))
    vectors = groups.astype(np.float32)
    exact = Neighbours.of(vectors, 5)
    request.getfixturevalue("cells")
    found = Neighbours.of(vectors, 5, random_state=3)
    assert in_common(found, exact) > 0.9
    assert not (found.index == np.arange(300)[:, None]).any()
    np.testing.assert_array_equal(found.index, Neighbours.of(vectors, 5, random_state=3).index)
    # Without the cells around, far more are missed.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "_SEARCHED", 6)
        assert in_common(Neighbours.of(vectors, 5, random_state=3), exact) < in_common(found, exact)


@pytest.mark.usefixtures("cells")
def test_many_samples_may_be_alike() -> None:
    alike = np.concatenate([np.ones((280, 8), np.float32), VECTORS[:20]])
    found = Neighbours.of(alike, 5).index
    assert not (found == np.arange(300)[:, None]).any()
    assert all(len(set(row)) == 5 for row in found.tolist())
    assert (found[:280] < 280).all()


def test_smoothing_is_equation_33() -> None:
    graph = Neighbours.of(VECTORS, 5)
    expected = unit_rows(VECTORS)
    for _ in range(2):
        expected = unit_rows(expected + expected[graph.index].mean(axis=1))
    np.testing.assert_allclose(graph.smooth(VECTORS, rounds=2), expected, atol=1e-6)
    np.testing.assert_allclose(graph.smooth(VECTORS, rounds=0), unit_rows(VECTORS))


def test_modularity_is_equation_34() -> None:
    graph, labels = Neighbours.of(VECTORS, 5), RNG.integers(4, size=300)
    edges = np.zeros((300, 300))
    np.add.at(edges, (np.repeat(np.arange(300), 5), graph.index.ravel()), 1.0)
    edges = edges + edges.T
    degree = edges.sum(axis=1)
    same = labels[:, None] == labels
    expected = ((edges - np.outer(degree, degree) / degree.sum()) * same).sum() / degree.sum()
    assert graph.modularity(labels) == pytest.approx(expected)


def test_modularity_prefers_true_groups_and_is_nothing_for_one_cluster() -> None:
    truth = np.repeat(np.arange(3), 40)
    grouped = 6 * np.eye(8)[truth] + RNG.normal(size=(120, 8))
    graph = Neighbours.of(grouped.astype(np.float32), 10)
    assert graph.modularity(np.zeros(120, dtype=np.int64)) == pytest.approx(0.0)
    assert graph.modularity(truth) > graph.modularity(RNG.permutation(truth)) + 0.4


def test_votes_are_shares_of_the_neighbours() -> None:
    graph = Neighbours(np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32))
    votes = graph.votes(np.array([0, 1, 1]), np.array([2, 0]), 3)
    np.testing.assert_array_equal(votes, [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    assert votes.dtype == np.float32
