"""The outer loop of Algorithm 2 on an accelerator: queued as a whole, read once and when one likes.

What :mod:`~caot.transport.outer` decides between its steps (has it converged, is it finite, are the
values probabilities at all) is computed here as numbers on the device; the steps go on to their
limit and keep the old values where the loop has ended. Labels, masses and all these numbers reach
the host in one copy, which may hold other things, too: a training step is read as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caot.transport.arrays import stored_entries, to_host
from caot.transport.fixed import FIXED_SCHEMES, FixedState
from caot.transport.linear import LinearProblem
from caot.transport.mass import MassLaw, UniformMass
from caot.transport.outer import COLLAPSED_SHARE
from caot.transport.problem import TransportProblem, check_log_prob, is_suspect
from caot.transport.result import HostCopy, Potentials, Queued, Status, TransportResult

if TYPE_CHECKING:
    from caot.transport.solvers import ConsistentTransport


class DeviceSolve(NamedTuple):
    """The end of the outer loop; every number is a tensor."""

    state: FixedState
    objective: Tensor  # (max_outer,), NaN after the end
    n_outer: Tensor  # () int64
    converged: Tensor  # () bool
    finite: Tensor  # () bool
    labels: Tensor  # (n,) −1 if not finite


class Outcome(NamedTuple):
    """A result, and the mean entry of S for advice on it."""

    result: TransportResult
    mean_similarity: float


def solve_on_device(
    solver: ConsistentTransport,
    problem: TransportProblem,
    law: MassLaw,
    init: TransportResult | None,
) -> Outcome:
    """Solve on the tensors' device; one read, and a second one if ``init`` led to a collapse."""
    solve = iterate_on_device(solver, problem, law, start_on_device(problem, init))
    values = to_host(_told(problem, solve))
    outcome = _outcome(problem, solve, values, solver.max_outer * solver.max_inner)
    if init is not None and outcome.result.collapsed:
        return solve_on_device(solver, problem, law, None)
    return outcome


def queue_on_device(solver: ConsistentTransport, problem: TransportProblem, law: MassLaw) -> Queued:
    """Tell the tensors' device to solve, without waiting for it."""
    solve = iterate_on_device(solver, problem, law, start_on_device(problem, None))
    return _queued(problem, solve, solver.max_outer * solver.max_inner)


def queue_prediction(problem: TransportProblem) -> Queued:
    """Take P/n as the plan; see :class:`~caot.transport.Prediction`."""
    start = start_on_device(problem, None)
    plan = torch.exp(-problem.cost) / problem.shape[0]
    state = start._replace(plan=plan, mass=plan.sum(dim=0))
    objective = (plan * problem.cost).sum().reshape(1)
    finite = torch.isfinite(objective).all()
    labels = torch.where(finite, plan.argmax(dim=1), -1)
    solve = DeviceSolve(state, objective, start.n_inner, torch.ones_like(finite), finite, labels)
    return _queued(problem, solve, 0)


def start_on_device(problem: TransportProblem, init: TransportResult | None) -> FixedState:
    """Return the start of Algorithm 2, b = 1/k, τ = 0, Q = abᵀ, or an earlier result as it."""
    cost, (n, k) = problem.cost, problem.shape
    mass, column = torch.full_like(cost[0], 1 / k), torch.zeros_like(cost[0])
    plan = torch.full_like(cost, 1 / (n * k))
    if init is not None and init.status is not Status.NON_FINITE:
        problem.check_start(init)
        mass, column = map(problem.kind.take_in, (init.column_mass, init.potentials.column))
        same_samples = tuple(init.plan.shape) == (n, k)
        plan = problem.kind.take_in(init.plan) if same_samples else (mass / n).expand(n, k)
    zero = torch.zeros((), dtype=torch.int64, device=cost.device)
    return FixedState(
        row=torch.zeros_like(cost[:, 0]),
        column=column,
        normaliser=zero.to(cost.dtype),
        mass=mass,
        plan=plan,
        n_inner=zero,
        solved=zero.bool(),
    )


def iterate_on_device(
    solver: ConsistentTransport, problem: TransportProblem, law: MassLaw, state: FixedState
) -> DeviceSolve:
    """Linearise and solve, ``max_outer`` times; nothing moves any more after the end."""
    scheme, cost = FIXED_SCHEMES[solver.scheme], problem.cost
    is_linear = problem.coupling is None or solver.consistency == 0
    weight = 0.0 if is_linear else solver.consistency
    attraction = weight * problem.attraction(state.plan)
    n_outer, converged = torch.zeros_like(state.n_inner), torch.zeros_like(state.solved)
    finite, still = _is_finite(problem), torch.full_like(state.solved, is_linear)
    objective: list[Tensor] = []
    labels = torch.full_like(cost[:, 0], -1, dtype=torch.int64)
    for _ in range(solver.max_outer):
        running = finite & ~converged
        linear = LinearProblem(problem.kind.xp, cost - attraction, solver.epsilon, law)  # Eq. 5
        following = scheme(linear, state, solver.max_inner, solver.inner_tol)
        state = state.kept_unless(running, following)
        attraction = weight * problem.attraction(state.plan)
        value = _objective(linear, state, cost, attraction)
        before, labels = labels, state.plan.argmax(dim=1)
        if objective and not is_linear:
            close = (value - objective[-1]).abs() < solver.outer_tol * (1 + value.abs())
            still = (labels == before).all() & close
        objective.append(torch.where(running, value, torch.nan))
        n_outer = n_outer + running
        finite = finite & (torch.isfinite(value) | ~running)
        converged = converged | (running & finite & state.solved & still)
    labels = torch.where(finite, labels, -1)
    return DeviceSolve(state, torch.stack(objective), n_outer, converged, finite, labels)


def _queued(problem: TransportProblem, solve: DeviceSolve, limit: int) -> Queued:
    def read(values: NDArray[np.float64]) -> TransportResult:
        return _outcome(problem, solve, values, limit).result

    return Queued(solve.labels, solve.finite, _told(problem, solve), read)


def _told(problem: TransportProblem, solve: DeviceSolve) -> Tensor:
    """Return all that the host needs as one vector, in the order in which `_outcome` reads it."""
    numbers = torch.stack(_numbers(problem, solve))
    parts = [solve.labels, solve.state.mass, solve.objective, numbers]
    return torch.cat([part.double() for part in parts])


def _outcome(
    problem: TransportProblem, solve: DeviceSolve, values: NDArray[np.float64], limit: int
) -> Outcome:
    """Return the result of a solve whose numbers came to the host; the plan stays on the device.

    ``limit`` is the number of inner steps that would have been allowed.
    """
    (n, k), state, steps = problem.shape, solve.state, len(solve.objective)
    host = HostCopy(values[:n].astype(np.int64), values[n : n + k].copy())
    objective = tuple(values[n + k : n + k + steps].tolist())
    numbers = _Numbers(*values[n + k + steps :].tolist())
    if numbers.suspect:
        check_log_prob(problem.kind.xp, problem.unchecked)
    n_outer, n_inner = int(numbers.n_outer), int(numbers.n_inner)
    status = Status.CONVERGED if numbers.converged else Status.STEP_LIMIT
    result = TransportResult(
        plan=state.plan,
        labels=solve.labels,
        column_mass=state.mass,
        potentials=Potentials(state.row, state.column, numbers.normaliser),
        status=status if numbers.finite else Status.NON_FINITE,
        n_outer=n_outer,
        n_inner=n_inner,
        objective=objective[: max(1, n_outer)],
        row_error=numbers.row_error,
        column_error=numbers.column_error,
        stopped_early=bool(numbers.converged) and n_inner < limit,
        collapsed=bool(numbers.collapsed),
        host=host,
    )
    return Outcome(result, numbers.mean_similarity)


class _Numbers(NamedTuple):
    """The scalars of a solve as they cross to the host, in the order of :func:`_numbers`."""

    normaliser: float
    n_outer: float
    n_inner: float
    row_error: float
    column_error: float
    mean_similarity: float
    converged: float
    finite: float
    collapsed: float
    suspect: float


def _numbers(problem: TransportProblem, solve: DeviceSolve) -> list[Tensor]:
    plan, mass, n = solve.state.plan, solve.state.mass, problem.shape[0]
    coupling = problem.coupling
    total = torch.zeros_like(mass[0]) if coupling is None else coupling.sum()
    expected = torch.exp(-problem.cost).mean(dim=0).clip(1 / len(mass), 1.0)
    gained = (mass - expected).max() if coupling is not None else torch.zeros_like(total)
    numbers = [
        solve.state.normaliser,
        solve.n_outer,
        solve.state.n_inner,
        (plan.sum(dim=1) - 1 / n).abs().max(),
        (plan.sum(dim=0) - mass).abs().max(),
        total / (2 * n**2),
        solve.converged,
        solve.finite,
        gained > COLLAPSED_SHARE,
        is_suspect(problem.kind.xp, problem.unchecked),
    ]
    return [number.double() for number in numbers]


def _is_finite(problem: TransportProblem) -> Tensor:
    finite = torch.isfinite(problem.cost).all()
    if problem.coupling is None:
        return finite
    return finite & torch.isfinite(stored_entries(problem.coupling)).all()


def _objective(
    linear: LinearProblem, state: FixedState, cost: Tensor, attraction: Tensor
) -> Tensor:
    """Return the value of Eq. 4, (); see :func:`caot.transport.outer._objective`."""
    plan, law = state.plan, linear.law
    rows, columns = plan.sum(dim=1), plan.sum(dim=0)
    entropy = (rows * state.row).sum() + (columns * state.column).sum()
    work = (plan * (cost - linear.cost - attraction / 2)).sum()
    total: Tensor = entropy + work - linear.epsilon * rows.sum()
    if not isinstance(law, UniformMass):
        total = total - law.uniformity * law.barrier(torch, state.mass)
    return total
