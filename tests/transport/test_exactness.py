"""What a converged joint solve guarantees (Eqs. 1, 3, 4, 6, 11)."""

import numpy as np
import ot
import pytest
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import log_softmax

from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    ConsistentTransport,
    Prediction,
    Status,
)
from tests.transport.problems import cosine, geometric_sizes, predictions

UNIFORMITIES = [1e-4, 0.03, 0.06, 3.5, 100.0, 1e4]


def kkt_residual(result, cost, epsilon, uniformity):
    """The largest violation of stationarity in Q and in b, with M = ``cost``."""
    p, b = result.potentials, result.column_mass
    in_q = cost + epsilon * np.log(result.plan) - p.row[:, None] - p.column
    in_b = -uniformity / b + uniformity / (1 - b) + p.column - p.normaliser
    return np.abs(in_q).max(), np.abs(in_b).max() / max(uniformity * (1 / b).max(), 1)


@pytest.mark.parametrize("uniformity", UNIFORMITIES)
@pytest.mark.parametrize(("n", "k"), [(200, 20), (60, 2), (40, 40), (200, 89)])
def test_eq3_marginals_and_kkt_when_converged(n, k, uniformity):
    log_prob = predictions(n, k)
    result = AdaptiveTransport(1.0, uniformity)(log_prob)
    assert result.status is Status.CONVERGED
    assert result.row_error < 1e-9 / n
    assert result.column_error < 1e-9
    assert abs(result.column_mass.sum() - 1) < 1e-12
    in_q, in_b = kkt_residual(result, -log_prob, 1.0, uniformity)
    assert in_q < 1e-9
    assert in_b < 1e-9


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
def test_eq1_balanced_agrees_with_pot(epsilon):
    log_prob = predictions(150, 12)
    result = BalancedTransport(epsilon)(log_prob)
    a, b = np.full(150, 1 / 150), np.full(12, 1 / 12)
    oracle = ot.bregman.sinkhorn_log(a, b, -log_prob, epsilon, numItermax=100_000, stopThr=1e-14)
    assert result.converged
    np.testing.assert_allclose(result.plan, oracle, atol=1e-8, rtol=0)


def test_eq3_with_its_masses_held_fixed_agrees_with_pot():
    log_prob = predictions(120, 9, sizes=geometric_sizes(9, 20))
    result = AdaptiveTransport(1.0, 0.05)(log_prob)
    a = np.full(120, 1 / 120)
    oracle = ot.bregman.sinkhorn_log(
        a, result.column_mass, -log_prob, 1.0, numItermax=100_000, stopThr=1e-14
    )
    np.testing.assert_allclose(result.plan, oracle, atol=1e-8, rtol=0)


def test_eq3_is_a_minimum_among_all_masses():
    """A general optimiser over b, each b solved by POT, finds no better masses."""
    n, k, epsilon, uniformity = 30, 3, 0.7, 0.2
    log_prob = predictions(n, k, sizes=geometric_sizes(k, 8))
    result = AdaptiveTransport(epsilon, uniformity)(log_prob)

    def value(logits):
        b = np.exp(log_softmax(np.append(logits, 0.0)))
        a = np.full(n, 1 / n)
        plan = ot.bregman.sinkhorn_log(a, b, -log_prob, epsilon, numItermax=5000, stopThr=1e-12)
        entropy = np.sum(plan * (np.log(plan) - 1))
        penalty = -np.sum(np.log(b) + np.log1p(-b))
        return np.sum(plan * -log_prob) + epsilon * entropy + uniformity * penalty

    best = minimize(value, np.zeros(k - 1), method="Nelder-Mead", options={"xatol": 1e-7})
    assert result.objective[-1] == pytest.approx(best.fun, abs=1e-8)
    found = np.exp(log_softmax(np.append(best.x, 0.0)))
    np.testing.assert_allclose(result.column_mass, found, atol=1e-4)


def test_eq1_small_epsilon_approaches_the_assignment():
    n = 12
    log_prob = predictions(n, n, signal=0.0, seed=3)
    solution = None
    for epsilon in (1.0, 0.3, 0.1, 0.03, 0.01):  # each the start of the next
        solution = BalancedTransport(epsilon, max_inner=500)(log_prob, init=solution)
        assert solution.converged
    rows, columns = linear_sum_assignment(-log_prob)
    np.testing.assert_array_equal(solution.labels[rows], columns)
    best = -log_prob[rows, columns].mean()
    assert np.sum(solution.plan * -log_prob) == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("k", [4, 20, 89])
@pytest.mark.parametrize("uniformity", [0.03, 3.5, 100.0])
@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
def test_eq4_objective_never_rises_for_a_positive_semidefinite_similarity(k, uniformity):
    log_prob = predictions(150, k, spread=1.0, signal=1.5)
    solver = ConsistentTransport(
        1.0, uniformity, max_outer=60, max_inner=100, outer_tol=0, inner_tol=1e-13
    )
    result = solver(log_prob, cosine(log_prob, diagonal=True))
    objective = np.array(result.objective)
    assert result.n_outer == 60
    assert np.all(np.diff(objective) <= 1e-12 * (1 + np.abs(objective[1:])))
    assert objective[-1] < objective[0]


def test_eq4_objective_is_the_printed_one():
    log_prob = predictions(50, 6)
    similarity = np.random.default_rng(1).random((50, 50))  # not symmetric
    result = ConsistentTransport(0.8, 2.0, 7.0)(log_prob, similarity)
    plan, b = result.plan, result.column_mass
    printed = (
        np.sum(plan * -log_prob)
        + 0.8 * np.sum(plan * (np.log(plan) - 1))
        + 2.0 * np.sum(-np.log(b) - np.log(1 - b))
        - 7.0 * np.sum(similarity * (plan @ plan.T))
    )
    assert result.objective[-1] == pytest.approx(printed, rel=1e-12)


def test_eq4_fixed_point_is_stationary():
    log_prob = predictions(80, 5)
    similarity = cosine(log_prob)
    solver = ConsistentTransport(1.0, 3.5, 10.0, max_outer=500, max_inner=100, outer_tol=1e-15)
    result = solver(log_prob, similarity)
    cost = -log_prob - 10.0 * (similarity + similarity.T) @ result.plan  # Eq. 5 at the solution
    in_q, in_b = kkt_residual(result, cost, 1.0, 3.5)
    assert result.converged
    assert in_q < 1e-5
    assert in_b < 1e-9


def test_joint_does_not_oscillate_where_alternating_does():
    """Severe imbalance: ε1 b_j > ε2 for the large clusters."""
    log_prob = predictions(200, 89, spread=0.5, signal=10.0, sizes=geometric_sizes(89, 250))
    similarity = cosine(log_prob)

    def swing(scheme):
        masses = [
            ConsistentTransport(1.0, 0.03, 25.0, 10, steps, scheme, 0, 0)(
                log_prob, similarity
            ).column_mass
            for steps in (10, 11)
        ]
        return np.abs(masses[0] - masses[1]).sum()

    assert swing("alternating") > 0.05
    assert swing("joint") < 1e-6


@pytest.mark.parametrize("scheme", ["joint", "alternating"])
def test_eq11_invariances(scheme):
    log_prob = predictions(70, 7)
    similarity = cosine(log_prob)
    solver = ConsistentTransport(1.0, 3.5, scheme=scheme, outer_tol=0, inner_tol=0)
    plain = solver(log_prob, similarity)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(70), rng.permutation(7)
    by_row = solver(log_prob[rows], similarity[np.ix_(rows, rows)])
    np.testing.assert_allclose(by_row.plan, plain.plan[rows], atol=1e-10)
    by_column = solver(log_prob[:, columns], similarity)
    np.testing.assert_allclose(by_column.plan, plain.plan[:, columns], atol=1e-10)


def test_eq6_shifting_rows_of_the_cost_changes_nothing_but_the_row_multipliers():
    import array_api_compat.numpy as xp

    from caot.transport.joint import solve_joint
    from caot.transport.linear import LinearProblem, start_state
    from caot.transport.mass import PenalisedMass

    cost, law = -predictions(40, 6), PenalisedMass(6, 0.5)
    shift = np.random.default_rng(0).normal(size=40)
    start = start_state(xp, law, cost)
    plain = solve_joint(LinearProblem(xp, cost, 1.0, law), start, 50, 1e-10)
    moved = solve_joint(LinearProblem(xp, cost + shift[:, None], 1.0, law), start, 50, 1e-10)
    np.testing.assert_allclose(moved.plan, plain.plan, atol=1e-12)
    np.testing.assert_allclose(moved.row, plain.row + shift, atol=1e-10)


def test_schemes_agree_on_the_papers_settings():
    for k, uniformity in [(4, 100.0), (8, 3.5), (20, 100.0), (152, 0.06)]:
        log_prob = predictions(200, k)
        similarity = cosine(log_prob)
        labels = [
            ConsistentTransport(uniformity=uniformity, scheme=scheme)(log_prob, similarity).labels
            for scheme in ("joint", "alternating")
        ]
        assert np.mean(labels[0] == labels[1]) >= 0.995


def test_eq12_prediction_is_the_argmax():
    log_prob = predictions(30, 4)
    result = Prediction()(log_prob)
    np.testing.assert_array_equal(result.labels, log_prob.argmax(axis=1))
    np.testing.assert_allclose(result.column_mass, np.exp(log_prob).mean(axis=0))
    assert result.row_error < 1e-15


def test_stops_early_and_says_so():
    log_prob = predictions(100, 5)
    result = ConsistentTransport()(log_prob, cosine(log_prob))
    assert result.stopped_early
    assert result.n_outer < 10
    full = ConsistentTransport(scheme="alternating", outer_tol=0, inner_tol=0)
    exact = full(log_prob, cosine(log_prob))
    assert not exact.stopped_early
    assert (exact.n_outer, exact.n_inner) == (10, 100)
    assert exact.status is Status.STEP_LIMIT
    assert "max_outer" in exact.status.advice
