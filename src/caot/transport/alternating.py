"""Algorithm 2's inner loop as printed: {λ, τ} for given b, then {ν, b} for given τ.

The multipliers are kept in the log domain. A sweep of steps works on the kernel
K = exp((λ⁰ + τ⁰ − M)/ε1), in which the multipliers at its start are absorbed, so that a step is two
matrix-vector products; a sweep ends when the multipliers have moved far from those, and the next
one absorbs them anew. Sweeps are compiled where numba is installed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caot.transport import compiled
from caot.transport.arrays import Array
from caot.transport.linear import LinearProblem, LinearState, conditionals, log_sum_exp
from caot.transport.mass import PenalisedMass

# exp(±30) leaves more than 290 decades on either side in float64 and 20 in float32.
_ABSORB_BEYOND = 30.0


class _Sweep(NamedTuple):
    """Where a sweep ended."""

    row: Array  # (n,) λ
    column: Array  # (k,) τ
    normaliser: float  # ν
    mass: Array  # (k,) b
    n_steps: int
    moved: float  # by the last step: the largest change of τ/ε1 and of log b


def solve_alternating(
    problem: LinearProblem, start: LinearState, max_inner: int, tol: float
) -> LinearState:
    """Alternate Eqs. 7 and 8 with Eqs. 10 and 9, ``max_inner`` times at most.

    Stops early when τ/ε1 and log b move by less than ``tol``. The column sums of the plan equal the
    masses of the last step but one, as printed; the result reports by how much they differ.
    """
    epsilon, n_inner = problem.epsilon, 0
    sweep = _compiled_sweep if problem.is_compiled else _sweep
    state = _Sweep(start.row, start.column, start.normaliser, start.mass, 0, math.inf)
    while n_inner < max_inner and not state.moved < tol:
        state = sweep(problem, state, max_inner - n_inner, tol)
        if state.n_steps == 0:
            state = _long_step(problem, state)
        n_inner += state.n_steps
    exponent = (state.row[:, None] + state.column - problem.cost) / epsilon
    return LinearState(
        row=state.row,
        column=state.column,
        normaliser=state.normaliser,
        mass=state.mass,
        plan=problem.xp.exp(exponent),  # Eq. 6
        n_inner=start.n_inner + n_inner,
        solved=state.moved < tol,
    )


def _sweep(problem: LinearProblem, state: _Sweep, max_steps: int, tol: float) -> _Sweep:
    """Take steps on one kernel: to the limit, to the tolerance, or as far as the kernel reaches."""
    xp, epsilon = problem.xp, problem.epsilon
    kernel, row0 = _absorb(problem, state.column)
    column0, log_rows = state.column, math.log(problem.n_samples)
    state = state._replace(n_steps=0)
    while state.n_steps < max_steps:
        scale = xp.exp((state.column - column0) / epsilon)
        row = row0 - epsilon * (log_rows + xp.log(kernel @ scale))  # Eq. 7
        sums = xp.exp((row - row0) / epsilon) @ kernel
        if not float(xp.min(sums)) > 0:
            break  # some column is beyond the kernel's reach
        column = column0 + epsilon * (xp.log(state.mass) - xp.log(sums))  # Eq. 8
        state = _settle_masses(problem, state, row, column)
        far = float(xp.max(xp.abs(column - column0))) > _ABSORB_BEYOND * epsilon
        if far or state.moved < tol:
            break
    return state


def _compiled_sweep(problem: LinearProblem, state: _Sweep, max_steps: int, tol: float) -> _Sweep:
    """Do what :func:`_sweep` does, in machine code."""
    kernel, row0 = _absorb(problem, state.column)
    law = problem.law
    uniformity = law.uniformity if isinstance(law, PenalisedMass) else math.inf
    totals, column, normaliser, mass, n_steps, moved = compiled.sweep(
        kernel,
        state.column,
        state.mass,
        state.normaliser,
        problem.epsilon,
        uniformity,
        max_steps,
        tol,
        _ABSORB_BEYOND,
    )
    row = row0 - problem.epsilon * np.log(problem.n_samples * totals)  # Eq. 7
    return _Sweep(row, column, normaliser, mass, n_steps, moved)


def _long_step(problem: LinearProblem, state: _Sweep) -> _Sweep:
    """Take one step in the log domain, which no distance can underflow."""
    xp, epsilon = problem.xp, problem.epsilon
    reach = log_sum_exp(xp, (state.column - problem.cost) / epsilon, axis=1)
    row = -epsilon * (math.log(problem.n_samples) + reach)  # Eq. 7
    reach = log_sum_exp(xp, (row[:, None] - problem.cost) / epsilon, axis=0)
    column = epsilon * (xp.log(state.mass) - reach)  # Eq. 8
    return _settle_masses(problem, state, row, column)


def _settle_masses(problem: LinearProblem, state: _Sweep, row: Array, column: Array) -> _Sweep:
    """Finish a step: ν and b for the new τ."""
    xp, law = problem.xp, problem.law
    normaliser = law.normaliser(xp, column, state.normaliser)  # Eq. 10
    mass = law.mass(xp, column - normaliser)  # Eq. 9
    moved = float(xp.max(xp.abs(column - state.column))) / problem.epsilon
    moved = max(moved, float(xp.max(xp.abs(xp.log(mass / state.mass)))))
    return _Sweep(row, column, normaliser, mass, state.n_steps + 1, moved)


def _absorb(problem: LinearProblem, column: Array) -> tuple[Array, Array]:
    """Return the kernel with λ⁰ and τ⁰ absorbed, and λ⁰, which makes its rows sum to one."""
    kernel, log_row = conditionals(problem, column)
    return kernel, -problem.epsilon * log_row
