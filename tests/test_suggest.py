"""The suggested K: right on clear clusters, honest on noise, the same for the same seed."""

import json
import logging

import numpy as np
import pytest

from caot.suggest import KPoint, KSuggestion, _k_values, _recommend, _smooth, suggest_k


def clusters(n_clusters, n_each=40, noise=0.25, width=32, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_clusters, width))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    truth = np.repeat(np.arange(n_clusters), n_each)
    spread = noise / np.sqrt(width) * rng.normal(size=(len(truth), width))
    return (centres[truth] + spread).astype(np.float32)


def curve(scores, start=2):
    return tuple(KPoint(start + i, 0.5, 0.5, 0.5, score) for i, score in enumerate(scores))


@pytest.fixture(scope="module")
def suggestion():
    return suggest_k(clusters(12, n_each=20), n_repeats=1)


@pytest.mark.parametrize("n_clusters", [4, 30])
def test_clear_clusters_are_found(n_clusters):
    rows = clusters(n_clusters, n_each=20)
    found = suggest_k(rows, k_values=[n_clusters // 2, n_clusters, 2 * n_clusters], n_repeats=2)
    assert found.low <= n_clusters <= found.high
    assert found.best == n_clusters


def test_default_grid_finds_them_too(suggestion):
    assert suggestion.low <= 12 <= suggestion.high
    assert abs(suggestion.best - 12) <= 3
    assert suggestion.curve[0].n_clusters == 2
    assert suggestion.curve[-1].n_clusters == 24


def test_measures_of_clear_clusters_are_near_their_best(suggestion):
    point = min(suggestion.curve, key=lambda p: abs(p.n_clusters - 12))
    assert point.stability > 0.6
    assert point.silhouette > 0.6
    assert point.modularity > 0.8


def test_noise_has_no_k_that_stands_out():
    rows = np.random.default_rng(0).normal(size=(200, 32))
    found = suggest_k(rows, k_values=[2, 4, 16], n_repeats=1)
    assert max(point.score for point in found.curve) < 0.2
    assert (found.low, found.high) == (2, 16)
    assert "No K stands out" in found.reason


def test_one_long_direction_is_not_taken_for_two_clusters():
    # K-means halves an elongated cloud the same way each time, which says nothing about clusters.
    rows = np.random.default_rng(0).normal(size=(200, 8)) * [3, *[0.3] * 7] + [10, *[0] * 7]
    rows = np.hstack([rows[:, 1:], rows[:, :1], np.full((200, 1), 20.0)])
    found = suggest_k(rows, k_values=[2], n_repeats=2)
    assert found.curve[0].stability < 0.2
    assert "No K stands out" in found.reason


def test_length_of_rows_and_repeats_do_not_matter():
    rows = clusters(5, n_each=20)
    lengths = 2.0 ** np.random.default_rng(1).integers(-3, 4, size=(len(rows), 1))
    values = [3, 5, 9]
    plain = suggest_k(rows, k_values=values, n_repeats=1, max_samples=1000)
    scaled = suggest_k(rows * lengths, k_values=values, n_repeats=1, max_samples=1000)
    assert plain.best == scaled.best == 5
    repeated = suggest_k(np.repeat(rows, 3, axis=0), k_values=values, n_repeats=1)
    assert repeated.best == 5
    with pytest.raises(ValueError, match="2 to 50"):  # 100 distinct rows, however often
        suggest_k(np.repeat(rows, 3, axis=0), k_values=[51])


def test_a_seed_gives_one_answer():
    rows = clusters(4, n_each=20, noise=1.0)
    runs = [suggest_k(rows, k_values=[3, 4], n_repeats=1, random_state=s) for s in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_max_samples_bounds_the_rows():
    with pytest.raises(ValueError, match="2 to 20"):
        suggest_k(clusters(10), k_values=[2, 100], max_samples=40)


def test_range_is_the_run_around_the_best():
    found = _recommend(curve([0.9, 0.5, 0.93, 1.0, 0.91, 0.8, 0.95]))
    assert (found.low, found.best, found.high) == (4, 5, 6)
    assert "From 4 to 6" in found.reason
    assert "largest" not in found.reason


def test_range_at_the_end_of_the_curve_says_so():
    found = _recommend(curve([0.3, 0.85, 0.9]))
    assert (found.low, found.best, found.high) == (3, 4, 4)
    assert f"K = {found.high} is the largest tried" in found.reason


def test_scores_are_smoothed_over_nearby_k_alone():
    far = np.array([0.1, 0.5, 0.3])
    assert _smooth([2, 4, 40], far) == pytest.approx([0.1, 0.5, 0.3], abs=0.01)
    assert _smooth([100, 120], np.array([0.3, 0.6])) == pytest.approx([0.4, 0.5])


def test_a_flat_curve_recommends_everything():
    found = _recommend(curve([0.0, 0.0, 0.0]))
    assert (found.low, found.high) == (2, 4)


@pytest.mark.parametrize(("n_rows", "top"), [(8, 2), (20, 5), (60, 10), (500, 50), (5000, 200)])
def test_default_grid_is_geometric_and_bounded(n_rows, top):
    values = _k_values(None, n_rows)
    assert values[0] == 2
    assert values[-1] == top
    assert values == sorted(set(values))
    ratios = np.divide(values[1:], values[:-1])
    assert (ratios <= 1.5).all()
    assert len(values) <= 27


def test_result_is_frozen_and_ready_for_json(suggestion):
    assert json.loads(json.dumps(suggestion.as_dict())) == suggestion.as_dict()
    frame = suggestion.frame()
    assert list(frame.columns) == ["n_clusters", "stability", "silhouette", "modularity", "score"]
    assert frame.loc[frame["score"].idxmax(), "n_clusters"] == suggestion.best
    assert isinstance(suggestion, KSuggestion)
    with pytest.raises(AttributeError):
        suggestion.best = 3


@pytest.mark.parametrize("values", [[], [1, 2], [2, 81], [0]])
def test_k_values_out_of_bounds_are_refused(values):
    with pytest.raises(ValueError, match="integers from 2 to 80"):
        suggest_k(clusters(4), k_values=values)


def test_a_k_that_is_no_integer_is_refused():
    with pytest.raises(TypeError, match="float"):
        suggest_k(clusters(4), k_values=[2.5])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(5), r"shape \(5,\)"),
        (np.ones((50, 4)), "1 distinct embeddings"),
        (np.zeros((0, 4)), "0 distinct embeddings"),
        (np.full((20, 4), np.nan), "NaN"),
    ],
)
def test_bad_embeddings_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        suggest_k(rows)


@pytest.mark.parametrize("setting", [{"n_repeats": 0}, {"max_samples": 3}])
def test_bad_settings_are_refused(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        suggest_k(clusters(4), **setting)


def test_eight_rows_and_a_zero_row_are_enough():
    rows = np.vstack([np.eye(9), np.zeros((1, 9))])
    found = suggest_k(rows, n_repeats=1)
    assert found.low == found.high == found.best == 2


def test_progress_is_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="caot.suggest"):
        suggest_k(clusters(3), k_values=[2, 3], n_repeats=1)
    assert [record.args[0] for record in caplog.records] == [2, 3]
