"""The measures against brute force, known values and invariances."""

import itertools
import json
import math

import numpy as np
import pytest

from caot.metrics import (
    ClusteringScores,
    adjusted_rand,
    change_rate,
    clustering_accuracy,
    neighbourhood_similarity,
    nmi,
    purity,
    score,
)

PAIR_SCORES = [
    clustering_accuracy,
    nmi,
    lambda true, pred: nmi(true, pred, average="arithmetic"),
    adjusted_rand,
    purity,
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("n_true", "n_pred"), [(3, 3), (4, 2), (2, 4)])
def test_eq29_is_the_best_of_all_one_to_one_maps(rng, n_true, n_pred):
    true, pred = rng.integers(n_true, size=40), rng.integers(n_pred, size=40)
    names = range(max(n_true, n_pred))
    best = max(np.mean(true == np.array(p)[pred]) for p in itertools.permutations(names))
    assert clustering_accuracy(true, pred) == pytest.approx(best)


def test_eq29_is_not_the_greedy_map():
    # Greedy gives cluster 0 to class 0 (5) and leaves cluster 1 with 0: 5. The best is 4 + 4.
    true = [0] * 5 + [1] * 4 + [0] * 4
    pred = [0] * 5 + [0] * 4 + [1] * 4
    assert clustering_accuracy(true, pred) == pytest.approx(8 / 13)


def entropy(*labels):
    counts = np.unique(np.stack(labels), axis=1, return_counts=True)[1]
    share = counts / counts.sum()
    return -np.sum(share * np.log(share))


def test_eq30_is_the_printed_formula_and_its_arithmetic_variant(rng):
    true = rng.integers(4, size=200)
    pred = np.where(rng.random(200) < 0.5, true, rng.integers(7, size=200))
    information = entropy(true) + entropy(pred) - entropy(true, pred)
    geometric = information / math.sqrt(entropy(true) * entropy(pred))
    arithmetic = information / ((entropy(true) + entropy(pred)) / 2)
    assert nmi(true, pred) == pytest.approx(geometric)
    assert nmi(true, pred, average="arithmetic") == pytest.approx(arithmetic)
    assert geometric > arithmetic


def test_eq30_refuses_other_averages():
    with pytest.raises(ValueError, match="geometric"):
        nmi([0, 1], [0, 1], average="harmonic")


def test_adjusted_rand_has_known_values(rng):
    assert adjusted_rand([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(4 / 7)
    random = [adjusted_rand(*rng.integers(3, size=(2, 300))) for _ in range(20)]
    assert np.mean(random) == pytest.approx(0.0, abs=0.01)


def test_purity_rewards_splitting_but_not_merging():
    true = [0, 0, 1, 1, 1]
    assert purity(true, [0, 1, 2, 3, 4]) == 1.0
    assert purity(true, [7, 7, 7, 7, 7]) == pytest.approx(3 / 5)


@pytest.mark.parametrize("measure", PAIR_SCORES)
def test_scores_do_not_depend_on_names_or_order(rng, measure):
    true, pred = rng.integers(3, size=60), rng.integers(5, size=60)
    value = measure(true, pred)
    order = rng.permutation(60)
    assert measure(true[order], pred[order]) == pytest.approx(value)
    assert measure(np.array(["b", "c", "a"])[true], [int(9 - p) for p in pred]) == pytest.approx(
        value
    )


@pytest.mark.parametrize("measure", PAIR_SCORES)
@pytest.mark.parametrize("labels", [[0, 1, 1, 2], ["x"] * 3, [5]])
def test_scores_of_a_perfect_clustering_are_one(measure, labels):
    renamed = [f"cluster {label}" for label in labels]
    assert measure(labels, renamed) == pytest.approx(1.0)


@pytest.mark.parametrize("measure", PAIR_SCORES)
def test_scores_refuse_labels_that_do_not_pair_up(measure):
    with pytest.raises(ValueError, match=r"labels_true has shape \(2,\)"):
        measure([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="labels_true"):
        measure([], [])
    with pytest.raises(ValueError, match="labels_pred has shape"):
        measure([0, 1], [[0, 1]])


@pytest.mark.parametrize("missing", [None, math.nan])
def test_scores_name_the_row_of_a_missing_label(missing):
    with pytest.raises(ValueError, match=r"1 missing value.* row 2"):
        clustering_accuracy(np.array(["a", "b", missing], dtype=object), [0, 1, 1])


def test_score_collects_every_measure(rng):
    true, pred = rng.integers(4, size=50), 10 * rng.integers(3, size=50)
    scores = score(true, pred)
    assert scores == ClusteringScores(
        accuracy=clustering_accuracy(true, pred),
        nmi_geometric=nmi(true, pred),
        nmi_arithmetic=nmi(true, pred, average="arithmetic"),
        ari=adjusted_rand(true, pred),
        purity=purity(true, pred),
        n_clusters_used=3,
    )
    assert json.loads(json.dumps(scores.as_dict())) == scores.as_dict()
    assert ClusteringScores(**scores.as_dict()) == scores
    with pytest.raises(AttributeError):
        scores.accuracy = 1.0


def naive_neighbourhood_similarity(z0, z1, labels):
    inside = total = 0.0
    for i, u in enumerate(z0):
        for j, v in enumerate(z1):
            similarity = u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
            total += similarity
            if labels[i] == labels[j]:
                inside += similarity
    return inside / total


def test_eq31_equals_the_double_loop(rng):
    z0, z1 = rng.normal(size=(2, 30, 6)) + 1.0
    labels = rng.choice(["a", "b", "c"], size=30)
    expected = naive_neighbourhood_similarity(z0, z1, labels)
    assert neighbourhood_similarity(z0, z1, labels) == pytest.approx(expected)
    order = rng.permutation(30)
    permuted = neighbourhood_similarity(3 * z0[order], z1[order], labels[order])
    assert permuted == pytest.approx(expected)


def test_eq31_is_one_for_orthogonal_classes():
    z = np.repeat(np.eye(3), 4, axis=0)
    assert neighbourhood_similarity(z, 2 * z, np.repeat([2, 0, 1], 4)) == pytest.approx(1.0)


def test_eq31_is_nan_with_a_warning_where_the_denominator_is_not_positive():
    z = np.array([[1.0, 0.0], [-1.0, 0.0]])
    with pytest.warns(RuntimeWarning, match="NS is NaN"):
        assert math.isnan(neighbourhood_similarity(z, z, [0, 1]))
    with pytest.warns(RuntimeWarning, match="sum to -4"):
        assert math.isnan(neighbourhood_similarity(z[[0, 0]], z[[1, 1]], [0, 1]))


def test_eq31_takes_a_zero_row_as_unlike_everything():
    z = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert neighbourhood_similarity(z, z, [0, 0, 1]) == pytest.approx(2 / 4)


def test_eq31_refuses_what_does_not_fit():
    z = np.ones((3, 2))
    with pytest.raises(ValueError, match="one label for each"):
        neighbourhood_similarity(z, z, [0, 1])
    with pytest.raises(ValueError, match="same samples"):
        neighbourhood_similarity(z, z[:2], [0, 1, 1])
    with pytest.raises(ValueError, match="z1 must be finite"):
        neighbourhood_similarity(z, np.full((3, 2), np.nan), [0, 1, 1])


def test_eq28_counts_only_samples_that_had_a_label():
    assert change_rate([0, 1, -1, 2], [0, 2, 1, 2]) == pytest.approx(1 / 3)
    assert change_rate([0, 1], [0, 1]) == 0.0


def test_eq28_is_one_before_any_sample_had_a_label():
    assert change_rate([-1, -1], [0, 1]) == 1.0


def test_eq28_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"before has shape \(2,\) and after has shape \(3,\)"):
        change_rate([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="at least one sample"):
        change_rate([], [])
