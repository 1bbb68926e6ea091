"""The outer loop of Algorithm 2: linearise the similarity term, solve, and again (Eq. 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caot.transport.alternating import solve_alternating
from caot.transport.arrays import Array
from caot.transport.joint import solve_joint
from caot.transport.linear import LinearProblem, LinearState, start_state
from caot.transport.mass import MassLaw
from caot.transport.problem import TransportProblem
from caot.transport.result import HostCopy, Potentials, Status, TransportResult

if TYPE_CHECKING:
    from caot.transport.solvers import ConsistentTransport

SCHEMES = {"joint": solve_joint, "alternating": solve_alternating}

# A cluster with so much more mass than predictions and evenness give it was drawn together.
COLLAPSED_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Solve:
    """The end of the outer loop, in the arrays of the computation."""

    state: LinearState
    status: Status
    n_outer: int
    objective: tuple[float, ...]
    stopped_early: bool

    def drawn_together(self, problem: TransportProblem) -> bool:
        """Tell whether some cluster has gained far more mass than the predictions gave it."""
        xp = problem.kind.xp
        predicted = xp.mean(xp.exp(-problem.cost), axis=0)
        expected = xp.clip(predicted, 1 / problem.shape[1], 1.0)  # a penalty evens masses out
        gained = float(xp.max(self.state.mass - expected))
        return problem.coupling is not None and gained > COLLAPSED_SHARE

    def result(self, problem: TransportProblem, *, collapsed: bool) -> TransportResult:
        """Return the result in the caller's kind of arrays."""
        xp, give_back = problem.kind.xp, problem.kind.give_back
        plan, mass = self.state.plan, self.state.mass
        labels = xp.astype(xp.argmax(plan, axis=1), xp.int64)
        if self.status is Status.NON_FINITE:  # argmax of NaN is a number all the same
            labels = xp.full_like(labels, -1)
        return TransportResult(
            plan=give_back(plan),
            labels=give_back(labels),
            column_mass=give_back(mass),
            potentials=Potentials(
                give_back(self.state.row), give_back(self.state.column), self.state.normaliser
            ),
            status=self.status,
            n_outer=self.n_outer,
            n_inner=self.state.n_inner,
            objective=self.objective,
            row_error=float(xp.max(xp.abs(xp.sum(plan, axis=1) - 1 / problem.shape[0]))),
            column_error=float(xp.max(xp.abs(xp.sum(plan, axis=0) - mass))),
            stopped_early=self.stopped_early,
            collapsed=collapsed,
            host=HostCopy(labels, mass),
        )


def start_from(
    problem: TransportProblem, law: MassLaw, init: TransportResult | None
) -> LinearState:
    """Return the start of Algorithm 2, or an earlier result as the start."""
    xp = problem.kind.xp
    if init is None or init.status is Status.NON_FINITE:
        return start_state(xp, law, problem.cost)
    n, k = problem.shape
    problem.check_start(init)
    take_in = problem.kind.take_in
    mass = take_in(init.column_mass)
    same_samples = tuple(init.plan.shape) == (n, k)
    return LinearState(
        row=xp.zeros_like(problem.cost[:, 0]),
        column=take_in(init.potentials.column),
        normaliser=init.potentials.normaliser,
        mass=mass,
        plan=take_in(init.plan) if same_samples else xp.zeros_like(problem.cost) + mass / n,
        n_inner=0,
        solved=False,
    )


def iterate(
    solver: ConsistentTransport, problem: TransportProblem, law: MassLaw, state: LinearState
) -> Solve:
    """Linearise, solve, and again: the outer loop of Algorithm 2."""
    xp, scheme = problem.kind.xp, SCHEMES[solver.scheme]
    is_linear = problem.coupling is None or solver.consistency == 0
    attraction = 0.0 if is_linear else solver.consistency * problem.attraction(state.plan)
    labels: Array | None = None
    objective: list[float] = []
    status = Status.STEP_LIMIT
    while status is Status.STEP_LIMIT and len(objective) < solver.max_outer:
        linear = LinearProblem(xp, problem.cost - attraction, solver.epsilon, law)  # Eq. 5
        state = scheme(linear, state, solver.max_inner, solver.inner_tol)
        if not is_linear:
            attraction = solver.consistency * problem.attraction(state.plan)
        objective.append(_objective(linear, state, problem.cost, attraction))
        before, labels = labels, xp.argmax(state.plan, axis=1)
        if not math.isfinite(objective[-1]):
            status = Status.NON_FINITE
        elif state.solved and (
            is_linear or _stands_still(xp, before, labels, objective, solver.outer_tol)
        ):
            status = Status.CONVERGED
    n_outer = len(objective)
    stopped_early = status is Status.CONVERGED and (
        n_outer < solver.max_outer or state.n_inner < solver.max_outer * solver.max_inner
    )
    return Solve(state, status, n_outer, tuple(objective), stopped_early)


def _objective(
    linear: LinearProblem, state: LinearState, cost: Array, attraction: Array | float
) -> float:
    """Return the value of Eq. 4.

    The entropy follows from the multipliers, ε1 log Q = λ + τ − M, and
    2⟨S, QQᵀ⟩ = ⟨Q, (S + Sᵀ)Q⟩.
    """
    xp, plan = linear.xp, state.plan
    rows, columns = xp.sum(plan, axis=1), xp.sum(plan, axis=0)
    entropy = xp.sum(rows * state.row) + xp.sum(columns * state.column)
    work = xp.sum(plan * (cost - linear.cost - attraction / 2))
    total = float(entropy) + float(work) - linear.epsilon * float(xp.sum(rows))
    return total + linear.law.penalty(xp, state.mass)


def _stands_still(
    xp: Any, before: Array | None, labels: Array, objective: list[float], tol: float
) -> bool:
    if before is None or not bool(xp.all(before == labels)):
        return False
    return abs(objective[-1] - objective[-2]) < tol * (1 + abs(objective[-1]))
