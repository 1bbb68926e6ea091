"""Inputs at the edge, and beyond it."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.special import log_softmax

from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    CollapseWarning,
    ConsistentTransport,
    Prediction,
    Status,
    collapse_floor,
    joint,
    safe_uniformity,
)
from tests.transport.problems import cosine, predictions

SOLVERS = [
    BalancedTransport(),
    BalancedTransport(scheme="alternating"),
    AdaptiveTransport(uniformity=0.06),
    AdaptiveTransport(uniformity=0.06, scheme="alternating"),
    ConsistentTransport(uniformity=3.5),
    ConsistentTransport(uniformity=3.5, scheme="alternating"),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_probabilities_of_exactly_zero_and_one(solver):
    prob = np.eye(4)[np.repeat([0, 1, 1, 2], 5)]  # nobody predicts cluster 3
    with np.errstate(divide="ignore"):
        log_prob = np.log(prob)
    result = solver(log_prob, cosine(log_prob))
    assert np.isfinite(result.plan).all()
    assert np.isfinite(result.column_mass).all()
    assert result.status is not Status.NON_FINITE
    assert abs(result.column_mass.sum() - 1) < 1e-9
    if solver.scheme == "joint":
        assert result.converged
        assert result.column_error < 1e-9


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_identical_rows_stay_identical(solver):
    log_prob = np.repeat(predictions(1, 5), 20, axis=0)
    result = solver(log_prob, np.zeros((20, 20)))
    np.testing.assert_allclose(result.plan, np.repeat(result.plan[:1], 20, axis=0), atol=1e-12)
    assert len(set(result.labels.tolist())) == 1


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize(("n", "k"), [(50, 2), (2, 2), (30, 30), (1, 3)])
def test_two_clusters_and_as_many_clusters_as_samples(solver, n, k):
    log_prob = predictions(n, k)
    result = solver(log_prob, cosine(log_prob))
    assert result.plan.shape == (n, k)
    assert result.labels.dtype == np.int64
    assert np.isfinite(result.plan).all()


@pytest.mark.parametrize("uniformity", [1e-4, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("scheme", ["joint", "alternating"])
@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
def test_uniformity_over_eight_decades(uniformity, scheme):
    log_prob = predictions(100, 10)
    result = ConsistentTransport(1.0, uniformity, scheme=scheme)(log_prob, cosine(log_prob))
    assert np.isfinite(result.plan).all()
    assert abs(result.column_mass.sum() - 1) < 1e-9


def test_large_uniformity_evens_the_masses_out():
    log_prob = predictions(100, 10)
    result = AdaptiveTransport(1.0, 1e4)(log_prob)
    np.testing.assert_allclose(result.column_mass, 0.1, atol=1e-5)
    balanced = BalancedTransport()(log_prob)
    np.testing.assert_array_equal(balanced.labels, result.labels)


def test_similarity_that_is_not_symmetric_acts_as_its_symmetric_part():
    log_prob = predictions(60, 4)
    similarity = np.triu(np.random.default_rng(0).random((60, 60)), 1)
    solver = ConsistentTransport()
    one_sided = solver(log_prob, similarity)
    both = solver(log_prob, (similarity + similarity.T) / 2)
    np.testing.assert_allclose(one_sided.plan, both.plan, atol=1e-12)


def test_sparse_similarity_equals_dense():
    log_prob = predictions(80, 6)
    similarity = cosine(log_prob) * (np.random.default_rng(0).random((80, 80)) < 0.1)
    dense = ConsistentTransport()(log_prob, similarity)
    for sparse in (scipy.sparse.csr_array, scipy.sparse.coo_array, scipy.sparse.csr_matrix):
        result = ConsistentTransport()(log_prob, sparse(similarity))
        np.testing.assert_allclose(result.plan, dense.plan, atol=1e-13)


def test_eq13_collapse_is_detected_and_the_advice_avoids_it():
    rng = np.random.default_rng(0)
    k = 10
    logits = 0.01 * rng.normal(size=(100, k))
    log_prob = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    similarity = cosine(log_prob, diagonal=True)  # all but equal to one
    floor = collapse_floor(k, 1.0, 25.0, similarity.mean())
    advised = safe_uniformity(k, 1.0, 25.0, similarity.mean())
    collapsing = ConsistentTransport(uniformity=0.5 * floor, max_outer=50)
    with pytest.warns(CollapseWarning, match=f"at least {advised:.4g}"):
        result = collapsing(log_prob, similarity)
    assert result.collapsed
    assert result.column_mass.max() > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        safe = ConsistentTransport(uniformity=1.1 * floor, max_outer=50)(log_prob, similarity)
    assert not safe.collapsed
    assert safe.column_mass.max() < 0.3


@pytest.mark.parametrize("k", [4, 10, 20, 30])
@pytest.mark.parametrize("spread", [0.01, 0.3, 0.6])
def test_eq13_the_advised_uniformity_prevents_collapse_above_the_floor_too(k, spread):
    rng = np.random.default_rng(0)
    log_prob = log_softmax(spread * rng.normal(size=(200, k)), axis=1)
    similarity = cosine(log_prob)
    advised = safe_uniformity(k, 1.0, 25.0, similarity.mean())
    assert advised >= collapse_floor(k, 1.0, 25.0, similarity.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ConsistentTransport(uniformity=advised, max_outer=50)(log_prob, similarity)
    assert not result.collapsed


def test_collapse_above_the_floor_is_reported():
    log_prob = log_softmax(0.6 * np.random.default_rng(0).normal(size=(200, 20)), axis=1)
    similarity = cosine(log_prob)
    uniformity = 1.1 * collapse_floor(20, 1.0, 25.0, similarity.mean())
    with pytest.warns(CollapseWarning):
        result = ConsistentTransport(uniformity=uniformity, max_outer=50)(log_prob, similarity)
    assert result.collapsed


def test_even_masses_for_uneven_predictions_are_no_collapse():
    prob = np.tile([0.9, 0.1], (40, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ConsistentTransport(uniformity=100.0)(np.log(prob), np.ones((40, 40)))
    assert not result.collapsed


def test_masses_close_to_one_take_few_steps():
    log_prob = log_softmax(np.random.default_rng(0).normal(size=(30, 2)), axis=1)
    with pytest.warns(CollapseWarning):
        result = ConsistentTransport(1.0, 1e-4)(log_prob, cosine(log_prob, diagonal=True))
    assert result.converged
    assert result.n_inner < 40
    assert np.all(np.diff(result.objective) <= 0)


def test_a_warm_start_that_is_not_finite_is_left_aside():
    log_prob = predictions(10, 3)
    bad = AdaptiveTransport(epsilon=1e-320)(log_prob)
    assert AdaptiveTransport()(log_prob, init=bad).converged


def test_collapsed_warm_start_is_restarted():
    rng = np.random.default_rng(0)
    logits = 0.01 * rng.normal(size=(100, 10))
    log_prob = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    similarity = cosine(log_prob, diagonal=True)
    floor = collapse_floor(10, 1.0, 25.0, similarity.mean())
    with pytest.warns(CollapseWarning):
        collapsed = ConsistentTransport(uniformity=0.1 * floor, max_outer=50)(log_prob, similarity)
    solver = ConsistentTransport(uniformity=1.1 * floor, max_outer=50)
    cold, warm = solver(log_prob, similarity), solver(log_prob, similarity, init=collapsed)
    np.testing.assert_allclose(warm.column_mass, cold.column_mass, atol=1e-6)


def test_warm_start_reaches_the_same_solution_sooner():
    log_prob = predictions(100, 8)
    first = AdaptiveTransport(1.0, 0.5)(log_prob)
    again = AdaptiveTransport(1.0, 0.5)(log_prob, init=first)
    assert again.n_inner == 0
    np.testing.assert_allclose(again.plan, first.plan, atol=1e-12)
    other = AdaptiveTransport(1.0, 0.5)(predictions(70, 8, seed=1), init=first)  # another batch
    assert other.converged


@pytest.mark.parametrize("scheme", ["joint", "alternating"])
def test_non_finite_is_a_status_and_gives_no_labels(scheme):
    result = ConsistentTransport(epsilon=1e-320, scheme=scheme)(predictions(10, 3))
    assert result.status is Status.NON_FINITE
    np.testing.assert_array_equal(result.labels, -1)
    assert "epsilon" in result.status.advice


def corrupted(value, row=3):
    log_prob = predictions(10, 4)
    log_prob[row, 1] = value
    return log_prob


@pytest.mark.parametrize(
    ("log_prob", "message"),
    [
        (corrupted(np.nan), r"row 3 is NaN .*diverged"),
        (corrupted(np.inf), r"row 3 is positive .*log_softmax"),
        (corrupted(0.5), r"row 3 is positive .*not probabilities"),
        (corrupted(-0.001), r"row 3 does not sum to one .*log_softmax"),
        (np.full((5, 3), -np.inf), r"row 0 is -inf in every column \(5 row"),
        (np.zeros(5), r"must be a matrix"),
        (np.zeros((5, 1)), r"\(5, 1\).*two clusters.*every label is 0"),
        (np.zeros((0, 4)), r"at least one sample"),
    ],
)
@pytest.mark.parametrize("solver", [Prediction(), BalancedTransport(), ConsistentTransport()])
def test_bad_log_prob_names_the_row_and_the_way_out(solver, log_prob, message):
    with pytest.raises(ValueError, match=message):
        solver(log_prob)


def test_bad_similarity():
    log_prob = predictions(6, 3)
    with pytest.raises(ValueError, match=r"must be \(6, 6\).*got \(5, 5\)"):
        ConsistentTransport()(log_prob, np.eye(5))
    with pytest.raises(ValueError, match="NaN or infinite"):
        ConsistentTransport()(log_prob, np.full((6, 6), np.nan))
    with pytest.raises(ValueError, match="NaN or infinite"):
        ConsistentTransport()(log_prob, scipy.sparse.csr_array(np.diag([np.inf] * 6)))


def test_bad_init():
    first = BalancedTransport()(predictions(10, 3))
    with pytest.raises(ValueError, match="init has 3 clusters, log_prob has 4"):
        BalancedTransport()(predictions(10, 4), init=first)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": np.inf}, "epsilon must be positive"),
        ({"uniformity": -1}, "uniformity must be positive"),
        ({"consistency": -1}, "consistency must be at least 0"),
        ({"max_outer": 0}, "max_outer must be at least 1"),
        ({"max_inner": 0}, "max_inner must be at least 1"),
        ({"scheme": "newton"}, "scheme must be one of"),
        ({"precision": "float16"}, "precision must be"),
        ({"inner_tol": np.nan}, "inner_tol must be at least 0"),
    ],
)
def test_settings_are_checked_when_the_solver_is_made(settings, message):
    with pytest.raises(ValueError, match=message):
        ConsistentTransport(**settings)


@pytest.mark.parametrize("value", [ConsistentTransport(), BalancedTransport(), Prediction()])
def test_solvers_and_results_are_immutable(value):
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.precision = "float32"
    result = value(predictions(5, 3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.labels = None


@pytest.mark.parametrize("module", ["numpy", "torch"])
def test_a_singular_system_leaves_the_step_to_sinkhorn(module):
    xp = pytest.importorskip(f"array_api_compat.{module}")
    assert joint._solved(xp, xp.zeros((2, 2)), xp.ones(2)) is None
    solution = joint._solved(xp, 2 * xp.eye(2), xp.ones(2))
    assert solution.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("seed", range(3))
def test_extreme_weights_in_float32_end_with_a_status(seed):
    rng = np.random.default_rng(seed)
    log_prob = log_softmax(30 * rng.standard_normal((8, 10)), axis=1).astype(np.float32)
    solver = ConsistentTransport(epsilon=0.0013, uniformity=6e-8, consistency=344.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = solver(log_prob, cosine(log_prob))
    assert isinstance(result.status, Status)
