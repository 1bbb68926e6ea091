"""Numpy and torch, dense and sparse, compiled and not: one answer."""

import dataclasses

import array_api_compat
import numpy as np
import pytest
import torch

from caot.transport import BalancedTransport, ConsistentTransport, Prediction, compiled
from caot.transport.arrays import kind_of
from caot.transport.mass import mass_law
from caot.transport.outer import iterate, start_from
from caot.transport.problem import transport_problem
from tests.transport.problems import cosine, predictions


@pytest.mark.parametrize("solver", [ConsistentTransport(), BalancedTransport(), Prediction()])
def test_torch_in_torch_out(solver):
    log_prob = predictions(40, 5)
    similarity = cosine(log_prob)
    expected = solver(log_prob, similarity)
    result = solver(torch.tensor(log_prob, requires_grad=True), torch.tensor(similarity))
    for name in ("plan", "labels", "column_mass"):
        value = getattr(result, name)
        assert isinstance(value, torch.Tensor)
        assert not value.requires_grad
        np.testing.assert_array_equal(value.numpy(), getattr(expected, name))
    assert isinstance(result.potentials.row, torch.Tensor)
    assert isinstance(expected.plan, np.ndarray)


def test_torch_sparse_layouts():
    log_prob = predictions(40, 5)
    similarity = cosine(log_prob) * (np.random.default_rng(0).random((40, 40)) < 0.2)
    expected = ConsistentTransport()(log_prob, similarity)
    coo = torch.tensor(similarity).to_sparse_coo()
    result = ConsistentTransport()(torch.tensor(log_prob), coo)
    np.testing.assert_allclose(result.plan.numpy(), expected.plan, atol=1e-13)


def test_computation_on_torch_tensors_agrees_with_numpy():
    """What runs on an accelerator, run on the CPU."""
    log_prob = predictions(60, 7)
    similarity = cosine(log_prob)
    for scheme in ("joint", "alternating"):
        solver = ConsistentTransport(uniformity=3.5, scheme=scheme)
        expected = solver(log_prob, similarity)
        problem = transport_problem(log_prob, similarity)
        tensor = torch.tensor(problem.cost)
        kind = dataclasses.replace(
            problem.kind, xp=array_api_compat.array_namespace(tensor), precision=torch.float64
        )
        problem = dataclasses.replace(
            problem, cost=tensor, coupling=torch.tensor(problem.coupling), kind=kind
        )
        law = mass_law(7, 3.5)
        result = iterate(solver, problem, law, start_from(problem, law, None)).result(
            problem, collapsed=False
        )
        np.testing.assert_allclose(result.plan.numpy(), expected.plan, atol=1e-12)
        np.testing.assert_array_equal(result.labels.numpy(), expected.labels)
        assert result.n_inner == expected.n_inner


def test_float32_on_request():
    log_prob = predictions(100, 10).astype(np.float32)
    double = ConsistentTransport()(log_prob, cosine(log_prob))
    single = ConsistentTransport(precision="float32")(log_prob, cosine(log_prob))
    assert double.plan.dtype == np.float64
    assert single.plan.dtype == np.float32
    assert np.mean(single.labels == double.labels) >= 0.99
    np.testing.assert_allclose(single.column_mass, double.column_mass, atol=1e-4)
    alternating = ConsistentTransport(precision="float32", scheme="alternating")
    assert alternating(log_prob, cosine(log_prob)).plan.dtype == np.float32


def test_inputs_are_left_alone():
    log_prob = predictions(30, 4)
    similarity = cosine(log_prob)
    before = log_prob.copy(), similarity.copy()
    ConsistentTransport()(log_prob, similarity)
    np.testing.assert_array_equal(log_prob, before[0])
    np.testing.assert_array_equal(similarity, before[1])


def test_mixed_kinds_name_the_problem():
    kind = kind_of(torch.zeros((3, 3), device="meta"), "auto")
    assert kind.precision == torch.float64
    with pytest.raises(TypeError, match="expected a torch tensor"):
        kind.take_in(np.eye(3))


@pytest.mark.skipif(not compiled.AVAILABLE, reason="numba is not installed")
@pytest.mark.parametrize("uniformity", [0.03, 3.5, 100.0, np.inf])
@pytest.mark.filterwarnings("ignore::caot.transport.CollapseWarning")
def test_compiled_sweeps_take_the_same_steps(monkeypatch, uniformity):
    log_prob = predictions(80, 12, spread=6.0)
    solver = ConsistentTransport(0.2, uniformity, scheme="alternating")
    fast = solver(log_prob, cosine(log_prob))
    monkeypatch.setattr(compiled, "AVAILABLE", False)
    plain = solver(log_prob, cosine(log_prob))
    np.testing.assert_array_equal(fast.labels, plain.labels)
    np.testing.assert_allclose(fast.plan, plain.plan, atol=1e-9)
    assert abs(fast.n_inner - plain.n_inner) <= 1


def test_half_precision_tensors_and_lists_are_accepted():
    log_prob = predictions(30, 4)
    for dtype in (torch.bfloat16, torch.float16):
        half = ConsistentTransport()(torch.tensor(log_prob).to(dtype).log_softmax(dim=1))
        assert half.plan.dtype == torch.float64
    similarity = cosine(log_prob)
    listed = ConsistentTransport()(log_prob.tolist(), similarity.tolist())
    np.testing.assert_array_equal(listed.plan, ConsistentTransport()(log_prob, similarity).plan)
