"""What both inner schemes share: the linear transport problem and its state.

The inner problem is Eq. 3 with a cost M: given M, find the plan Q and the column masses b. A scheme
takes a :class:`LinearProblem` and a :class:`LinearState` to start from and returns the next state.

================  ===========  ======
symbol            name         shape
================  ===========  ======
M                 cost         (n, k)
λ                 row          (n,)
τ                 column       (k,)
ν                 normaliser   scalar
b                 mass         (k,)
Q                 plan         (n, k)
ε1                epsilon      scalar
================  ===========  ======
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import array_api_compat.numpy
import numpy as np

from caot.transport import compiled
from caot.transport.arrays import Array
from caot.transport.mass import MassLaw


@dataclass(frozen=True, slots=True)
class LinearProblem:
    """Transport at a fixed cost M, rows of mass 1/n, columns under a mass law."""

    xp: Any
    cost: Array
    epsilon: float
    law: MassLaw

    @property
    def n_samples(self) -> int:
        """The number of rows n."""
        return int(self.cost.shape[0])

    @property
    def is_compiled(self) -> bool:
        """Whether the inner loops run in machine code: numpy arrays in double precision."""
        is_numpy = self.xp is array_api_compat.numpy
        return compiled.AVAILABLE and is_numpy and self.cost.dtype == np.float64


@dataclass(frozen=True, slots=True)
class LinearState:
    """Multipliers, masses and plan of a linear problem, with how far they are from optimal."""

    row: Array
    column: Array
    normaliser: float
    mass: Array
    plan: Array
    n_inner: int
    solved: bool


def start_state(xp: Any, law: MassLaw, like: Array) -> LinearState:
    """Return the start of Algorithm 2: b = 1/k, τ = 0, Q = abᵀ."""
    n, k = like.shape
    column = xp.zeros_like(like[0, :])
    return LinearState(
        row=xp.zeros_like(like[:, 0]),
        column=column,
        normaliser=law.normaliser(xp, column, 0.0),
        mass=xp.full_like(column, 1 / k),
        plan=xp.full_like(like, 1 / (n * k)),
        n_inner=0,
        solved=False,
    )


def log_sum_exp(xp: Any, values: Array, axis: int) -> Array:
    """Return log Σ exp along ``axis`` without overflow."""
    top = xp.max(values, axis=axis, keepdims=True)
    return xp.squeeze(top, axis=axis) + xp.log(xp.sum(xp.exp(values - top), axis=axis))


def conditionals(problem: LinearProblem, column: Array) -> tuple[Array, Array]:
    """Return softmax_j((τ_j − M_ij)/ε1), (n, k), and the logarithm of its denominators, (n,).

    The plan with rows of the right mass for given τ is the first, over n; λ of Eq. 7 is
    −ε1 times the second, plus log n.
    """
    if problem.is_compiled:
        return compiled.conditionals(problem.cost, column, problem.epsilon)
    xp = problem.xp
    exponent = (column - problem.cost) / problem.epsilon
    top = xp.max(exponent, axis=1, keepdims=True)
    exponent -= top
    weights = xp.exp(exponent)
    totals = xp.sum(weights, axis=1, keepdims=True)
    weights /= totals
    return weights, (top + xp.log(totals))[:, 0]
