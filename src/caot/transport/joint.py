"""All multipliers of the inner problem at once: damped Newton on the column residual (Eq. 11).

For given τ the rows determine λ, hence the column sums c(τ). What remains are k equations
log c_j(τ) = log b(τ_j − ν), with ν the gauge, set anew after each step so that Σ b = 1. Their
Jacobian is a strictly diagonally dominant M-matrix, so the Newton direction exists and always
shortens the residual; halving the step until it does makes the method global, and near the solution
it is quadratic.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device

from caot.transport.arrays import Array
from caot.transport.linear import LinearProblem, LinearState, conditionals, log_sum_exp
from caot.transport.mass import UniformMass

_MAX_HALVINGS = 40
# A step is long enough if it shortens the residual by this share of its length.
DECREASE = 1e-4
# How far Jacobians of balanced problems are damped at most.
MAX_DAMPING = 1e-3


class _Columns(NamedTuple):
    """The problem seen from its columns at some τ."""

    column: Array  # (k,) τ
    conditional: Array  # (n, k) rows sum to 1: the plan times n
    log_row: Array  # (n,) log Σ_j exp((τ_j − M_ij)/ε1)
    log_sums: Array  # (k,) log c
    mass: Array  # (k,) b
    residual: Array  # (k,) log c − log b
    norm: float


def solve_joint(
    problem: LinearProblem, start: LinearState, max_inner: int, tol: float
) -> LinearState:
    """Solve Eq. 11 until every column sum equals its mass to the relative tolerance ``tol``."""
    xp, law = problem.xp, problem.law
    # No column sum is known better than to some rounding errors of its n terms.
    tol = max(tol, 50 * float(xp.finfo(problem.cost.dtype).eps))
    normaliser = law.normaliser(xp, start.column, start.normaliser)
    here = _columns(problem, start.column, normaliser)
    n_inner, solved = 0, _largest(xp, here.residual) <= tol
    while not solved and n_inner < max_inner:
        n_inner += 1
        shifted, damping = here.column - normaliser, min(MAX_DAMPING, here.norm)
        matrix = jacobian(problem, here.conditional, here.log_sums, shifted, damping)
        direction = _solved(xp, matrix, -here.residual)
        following = direction is not None and _line_search(problem, here, direction, normaliser)
        here = following or _columns(problem, _sinkhorn(problem, here), normaliser)
        # Without this, τ would have to drag all of b along where some b is close to one.
        normaliser = law.normaliser(xp, here.column, normaliser)
        here = _with_masses(problem, here, normaliser)
        solved = _largest(xp, here.residual) <= tol
    # What is left of the tolerance goes into the column error: Σ b is one exactly.
    normaliser = law.normaliser(xp, here.column, normaliser)
    return LinearState(
        row=-problem.epsilon * (here.log_row + math.log(problem.n_samples)),
        column=here.column,
        normaliser=normaliser,
        mass=law.mass(xp, here.column - normaliser),
        plan=here.conditional / problem.n_samples,
        n_inner=start.n_inner + n_inner,
        solved=solved,
    )


def _solved(xp: Any, matrix: Array, right: Array) -> Array | None:
    """Return the solution of a linear system, None if rounding has left it singular."""
    try:
        return xp.linalg.solve(matrix, right)
    except (np.linalg.LinAlgError, RuntimeError):  # of numpy, of torch
        return None


def _columns(problem: LinearProblem, column: Array, normaliser: float) -> _Columns:
    xp = problem.xp
    conditional, log_row = conditionals(problem, column)
    sums = xp.mean(conditional, axis=0)
    if float(xp.min(sums)) > float(xp.finfo(sums.dtype).tiny):
        log_sums = xp.log(sums)
    else:  # a column so far away that its sum underflows
        exponent = (column - problem.cost) / problem.epsilon - log_row[:, None]
        log_sums = log_sum_exp(xp, exponent, axis=0) - math.log(problem.n_samples)
    unknown = _Columns(column, conditional, log_row, log_sums, log_sums, log_sums, math.inf)
    return _with_masses(problem, unknown, normaliser)


def _with_masses(problem: LinearProblem, here: _Columns, normaliser: float) -> _Columns:
    """Return the same columns with the masses and the residual for this ν."""
    xp = problem.xp
    mass = problem.law.mass(xp, here.column - normaliser)
    residual = here.log_sums - xp.log(mass)
    norm = float(xp.linalg.vector_norm(residual))
    return here._replace(mass=mass, residual=residual, norm=norm)


def jacobian(
    problem: LinearProblem,
    conditional: Array,
    log_sums: Array,
    shifted: Array,
    damping: Array | float,
) -> Array:
    """Return ∂(log c − log b)/∂τ = (I − T)/ε1 + diag(−d log b/dτ), T row-stochastic.

    For the conditionals (n, k), log c and τ − ν (k,); ``damping`` is for balanced problems alone.
    """
    xp = problem.xp
    sums = xp.exp(log_sums)
    weights = conditional.T @ conditional
    weights /= problem.n_samples * xp.maximum(sums, xp.finfo(sums.dtype).tiny)[:, None]
    identity = xp.eye(sums.shape[0], dtype=sums.dtype, device=device(sums))
    matrix = (identity - weights) / problem.epsilon
    if isinstance(problem.law, UniformMass):
        # Shifting τ changes nothing, as a whole or, where plans are nearly permutations, in parts:
        # the first is fixed, the second damped by an amount that vanishes with the residual.
        return matrix + (sums + identity * damping) / problem.epsilon
    return matrix + identity * problem.law.log_slope(xp, shifted)


def _sinkhorn(problem: LinearProblem, here: _Columns) -> Array:
    """Return τ after a step that fits each column for itself; it helps where Newton's does not."""
    return here.column - problem.epsilon * here.residual


def _line_search(
    problem: LinearProblem, here: _Columns, direction: Array, normaliser: float
) -> _Columns | None:
    """Return the first point along ``direction`` with a shorter residual, None if none is."""
    step = 1.0
    for _ in range(_MAX_HALVINGS):
        there = _columns(problem, here.column + step * direction, normaliser)
        if there.norm <= (1 - DECREASE * step) * here.norm:
            return there
        step /= 2
    return None


def _largest(xp: Any, values: Array) -> float:
    return float(xp.max(xp.abs(values)))
