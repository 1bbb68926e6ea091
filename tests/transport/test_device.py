"""What runs on an accelerator, run on the CPU: the same answer, and the host is asked once."""

import dataclasses

import array_api_compat
import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    CollapseWarning,
    ConsistentTransport,
    Prediction,
    Status,
    arrays,
)
from caot.transport.device import iterate_on_device, start_on_device
from caot.transport.fixed import fixed_normaliser
from caot.transport.mass import mass_law
from caot.transport.problem import transport_problem
from tests.host_reads import HostReads
from tests.transport.problems import cosine, predictions

SOLVERS = [
    ConsistentTransport(uniformity=3.5),
    ConsistentTransport(uniformity=0.06, scheme="alternating"),
    AdaptiveTransport(uniformity=0.06),
    AdaptiveTransport(uniformity=0.06, scheme="alternating"),
    BalancedTransport(epsilon=0.05),
    BalancedTransport(scheme="alternating"),
    Prediction(),
]


@pytest.fixture
def on_device(monkeypatch):
    """Return a function that solves tensors as if the CPU were an accelerator."""

    def solve(solver, log_prob, similarity=None, init=None):
        with monkeypatch.context() as patch:
            patch.setattr(arrays, "stays_on", lambda device: True)
            similarity = None if similarity is None else torch.as_tensor(similarity)
            return solver(torch.as_tensor(log_prob), similarity, init)

    return solve


def assert_same_solve(device, host):
    assert np.mean(device.labels.numpy() == host.labels) >= 0.999
    np.testing.assert_allclose(device.column_mass.numpy(), host.column_mass, atol=1e-9)
    np.testing.assert_allclose(device.plan.numpy(), host.plan, atol=1e-9)
    np.testing.assert_allclose(device.objective, host.objective, rtol=1e-9)
    for name in ("status", "n_outer", "n_inner", "stopped_early", "collapsed"):
        assert getattr(device, name) == getattr(host, name), name
    np.testing.assert_allclose(device.row_error, host.row_error, atol=1e-12)
    np.testing.assert_allclose(device.column_error, host.column_error, atol=1e-9)


@pytest.mark.parametrize("uniformity", [0.03, 0.06, 3.5, 100.0])
@pytest.mark.parametrize("k", [4, 20, 89, 152])
@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
def test_a_device_takes_the_steps_of_the_host(on_device, k, uniformity):
    log_prob = predictions(200, k, seed=k)
    similarity = cosine(log_prob)
    limits = {} if k <= 20 else {"max_outer": 4, "max_inner": 6}  # which are not reached
    solver = ConsistentTransport(uniformity=uniformity, **limits)
    host = solver(log_prob, similarity)
    assert_same_solve(on_device(solver, log_prob, similarity), host)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize(("n", "k", "spread"), [(100, 12, 2.0), (60, 5, 12.0), (7, 7, 1.0)])
@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
def test_every_solver_has_its_answer_on_a_device(on_device, solver, n, k, spread):
    log_prob = predictions(n, k, spread=spread)
    similarity = cosine(log_prob)
    host = solver(log_prob, similarity)
    assert_same_solve(on_device(solver, log_prob, similarity), host)


@pytest.mark.parametrize("scheme", ["joint", "alternating"])
def test_probabilities_of_exactly_zero(on_device, scheme):
    with np.errstate(divide="ignore"):
        log_prob = np.log(np.eye(4)[np.repeat([0, 1, 1, 2], 5)])
    solver = ConsistentTransport(uniformity=3.5, scheme=scheme)
    host = solver(log_prob, cosine(log_prob))
    assert_same_solve(on_device(solver, log_prob, cosine(log_prob)), host)


@pytest.mark.parametrize("uniformity", [1e-3, 0.03, 3.5, 1e4])
def test_normaliser_makes_the_masses_one(uniformity):
    rng = np.random.default_rng(0)
    for k in (2, 3, 40):
        law = mass_law(k, uniformity)
        for scale in (0.0, 1e-3, 1.0, 300.0):
            column = torch.tensor(rng.normal(scale=scale, size=k))
            mass = law.mass(torch, column - fixed_normaliser(law, column))
            assert abs(float(mass.sum()) - 1) < 1e-12


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
def test_a_solve_asks_the_host_once(on_device, solver):
    log_prob = predictions(30, 5).astype(np.float32)
    similarity = cosine(log_prob)
    with HostReads() as reads:
        on_device(solver, log_prob, similarity)
    assert reads.calls > 10
    assert reads.questions == []
    assert reads.copies == 1


@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("device", [True, False])
def test_a_solve_that_is_queued_ends_like_one_that_is_waited_for(monkeypatch, solver, device):
    monkeypatch.setattr(arrays, "stays_on", lambda _: device)
    log_prob = torch.as_tensor(predictions(40, 5))
    similarity = torch.as_tensor(cosine(predictions(40, 5)))
    with HostReads() as reads:
        queued = solver.queue(log_prob, similarity)
        labels, finite, told = queued.labels, queued.finite, queued.told
    assert reads.copies == 0 or not device
    assert reads.questions == [] or not device
    found, expected = queued.read(arrays.to_host(told)), solver(log_prob, similarity)
    assert bool(finite)
    torch.testing.assert_close(labels, expected.labels)
    torch.testing.assert_close(found.plan, expected.plan)
    assert (found.status, found.n_inner) == (expected.status, expected.n_inner)
    assert found.objective == expected.objective
    np.testing.assert_array_equal(found.host.column_mass, expected.host.column_mass)


@pytest.mark.parametrize("device", [True, False])
def test_a_queued_solve_without_a_finite_plan_says_so(monkeypatch, device):
    monkeypatch.setattr(arrays, "stays_on", lambda _: device)
    log_prob = torch.as_tensor(predictions(40, 5))
    similarity = torch.full((40, 40), 1e305, dtype=torch.float64)
    queued = ConsistentTransport(consistency=1e6).queue(log_prob, similarity)
    assert not bool(queued.finite)
    assert set(queued.labels.tolist()) == {-1}
    assert queued.read(arrays.to_host(queued.told)).status is Status.NON_FINITE


def test_the_count_of_host_reads_sees_them():
    with HostReads() as reads:
        total = torch.ones(3).sum()
        bool(total > 0)
        torch.linalg.solve(torch.eye(2), torch.ones(2))
        total.to("cpu", copy=True)
    assert reads.questions == ["aten::_local_scalar_dense", "aten::_linalg_check_errors"]
    assert reads.copies == 1


@pytest.mark.parametrize("scheme", ["joint", "alternating"])
@pytest.mark.parametrize("uniformity", [3.5, np.inf])
def test_steps_need_no_values(scheme, uniformity):
    """Tensors of the meta device have none: whatever looked at a value would raise."""
    log_prob = torch.empty((30, 5), device="meta")
    problem = transport_problem(log_prob, torch.empty((30, 30), device="meta"))
    solver = ConsistentTransport(uniformity=uniformity, scheme=scheme, max_outer=2, max_inner=2)
    law = mass_law(5, uniformity)
    solve = iterate_on_device(solver, problem, law, start_on_device(problem, None))
    assert solve.state.plan.shape == (30, 5)
    assert solve.objective.shape == (2,)


def test_what_the_host_was_told_is_the_result(on_device):
    log_prob = predictions(40, 5)
    for result in (
        on_device(ConsistentTransport(), log_prob, cosine(log_prob)),
        ConsistentTransport()(torch.tensor(log_prob), torch.tensor(cosine(log_prob))),
    ):
        assert result.host.labels.dtype == np.int64
        np.testing.assert_array_equal(result.host.labels, result.labels.numpy())
        np.testing.assert_array_equal(result.host.column_mass, result.column_mass.numpy())


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_values_that_are_not_finite_are_told_by_the_status(on_device, solver):
    log_prob, similarity = predictions(20, 4), np.ones((20, 20))
    broken = log_prob.copy()
    broken[3] = np.nan
    results = [on_device(solver, broken, similarity)]
    if solver.uses_similarity:
        similarity[2, 5] = np.inf
        results.append(on_device(solver, log_prob, similarity))
    for result in results:
        assert result.status is Status.NON_FINITE
        assert (result.labels == -1).all()
        assert (result.host.labels == -1).all()


def test_values_that_are_no_log_probabilities_are_refused(on_device):
    with pytest.raises(ValueError, match="row 0 is positive"):
        on_device(ConsistentTransport(), np.exp(predictions(20, 4)))
    log_prob = predictions(20, 4)
    log_prob[7] -= 1
    with pytest.raises(ValueError, match=r"row 7 does not sum to one .* \(1 row"):
        on_device(ConsistentTransport(), log_prob)
    log_prob[7] = -np.inf
    with pytest.raises(ValueError, match="row 7 is -inf in every column"):
        on_device(ConsistentTransport(), log_prob)


def test_an_earlier_result_is_a_start(on_device):
    log_prob = predictions(60, 6)
    similarity = cosine(log_prob)
    solver = ConsistentTransport(uniformity=3.5)
    first = on_device(solver, log_prob, similarity)
    again = on_device(solver, log_prob, similarity, first)
    assert_same_solve(again, solver(log_prob, similarity, solver(log_prob, similarity)))
    assert again.n_inner < first.n_inner
    others = predictions(50, 6, seed=1)
    fewer = on_device(solver, others, cosine(others), first)
    assert_same_solve(fewer, solver(others, cosine(others), solver(log_prob, similarity)))
    with pytest.raises(ValueError, match="init has 6 clusters, log_prob has 4"):
        on_device(solver, predictions(60, 4), None, first)


def test_a_collapse_is_told_with_the_same_advice(on_device):
    log_prob = log_softmax(np.random.default_rng(0).normal(scale=0.1, size=(100, 4)), axis=1)
    solver = ConsistentTransport(uniformity=0.03)
    with pytest.warns(CollapseWarning) as expected:
        host = solver(log_prob, cosine(log_prob))
    with pytest.warns(CollapseWarning) as told:
        device = on_device(solver, log_prob, cosine(log_prob))
    assert host.collapsed
    assert device.collapsed
    assert str(told[0].message) == str(expected[0].message)


def test_sparse_similarity_and_single_precision(on_device):
    log_prob = predictions(40, 5)
    similarity = cosine(log_prob)
    solver = ConsistentTransport()
    sparse = on_device(solver, log_prob, torch.tensor(similarity).to_sparse_coo())
    assert_same_solve(sparse, solver(log_prob, similarity))
    single = on_device(dataclasses.replace(solver, precision="float32"), log_prob, similarity)
    assert single.plan.dtype == torch.float32
    np.testing.assert_allclose(single.host.column_mass, sparse.host.column_mass, atol=1e-4)


def test_a_device_without_double_precision_leaves_it_to_the_cpu():
    assert not arrays.stays_on(torch.device("mps"))
    assert not arrays.stays_on(torch.device("cpu"))
    assert arrays.stays_on(torch.device("cuda"))
    meta = arrays.kind_of(torch.zeros((3, 3), device="meta"), "auto")
    assert meta.on_device
    assert meta.precision == torch.float64
    host = arrays.kind_of(torch.zeros((3, 3)), "auto")
    assert host.xp is array_api_compat.numpy
    assert host.give_back(np.zeros(2)).dtype == torch.float64
