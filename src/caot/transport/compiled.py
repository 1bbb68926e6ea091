"""The inner loops of both schemes in machine code, where numba is installed (extra ``fast``).

They do step for step what the other modules do with arrays; tests compare the two.
"""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np

AVAILABLE = importlib.util.find_spec("numba") is not None

_MAX_STEPS = 200


def _conditionals(cost: Any, column: Any, epsilon: float) -> tuple[Any, Any]:
    """Return row softmax and log denominators; see :func:`caot.transport.linear.conditionals`."""
    n, k = cost.shape
    weights, log_row = np.empty((n, k)), np.empty(n)
    for i in range(n):
        top = -np.inf
        for j in range(k):
            weights[i, j] = (column[j] - cost[i, j]) / epsilon
            top = max(top, weights[i, j])
        total = 0.0
        for j in range(k):
            weights[i, j] = math.exp(weights[i, j] - top)
            total += weights[i, j]
        for j in range(k):
            weights[i, j] /= total
        log_row[i] = top + math.log(total)
    return weights, log_row


def _masses(column: Any, nu: float, uniformity: float, mass: Any) -> tuple[float, float]:
    """Write b(τ − ν) (Eq. 9) to ``mass``; return its sum and the derivative of that by ν."""
    total, slope = 0.0, 0.0
    for j in range(column.size):
        y = (column[j] - nu) / (2 * uniformity)
        b = 1 / (1 + math.exp(math.asinh(y)))
        mass[j] = b
        total += b
        slope += b * (1 - b) / (2 * uniformity * math.sqrt(1 + y * y))
    return total, slope


def _normalise(column: Any, start: float, uniformity: float, mass: Any) -> float:
    """Solve Eq. 10 for ν and write the masses; see :meth:`PenalisedMass.normaliser`."""
    k = column.size
    offset = uniformity * k * (k - 2) / (k - 1)
    low, high = column.min() - offset, column.max() - offset
    nu = start if low <= start <= high else 0.5 * (low + high)
    for _ in range(_MAX_STEPS):
        total, slope = _masses(column, nu, uniformity, mass)
        excess = total - 1
        if abs(excess) <= 1e-15 or not math.isfinite(excess):
            break
        if excess < 0:
            low = nu
        else:
            high = nu
        following = nu - excess / slope
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == nu:
            break
        nu = following
    return nu


def _column_sums(kernel: Any, scale: Any, sums: Any, totals: Any) -> None:
    """Write K v to ``totals`` and Kᵀ(a / K v) to ``sums``: both halves of a step in one pass."""
    n, k = kernel.shape
    sums[:] = 0.0
    for i in range(n):
        total = 0.0
        for j in range(k):
            total += kernel[i, j] * scale[j]
        totals[i] = total
        weight = 1 / (n * total)
        for j in range(k):
            sums[j] += weight * kernel[i, j]


def _sweep(
    kernel: Any,
    column0: Any,
    mass0: Any,
    normaliser: float,
    epsilon: float,
    uniformity: float,
    max_steps: int,
    tol: float,
    reach: float,
) -> tuple[Any, Any, float, Any, int, float]:
    """Alternate on one kernel; see :func:`caot.transport.alternating._sweep`."""
    n, k = kernel.shape
    column, mass, fresh = column0.copy(), mass0.copy(), mass0.copy()
    sums, totals = np.empty(k), np.ones(n)
    n_steps, moved = 0, np.inf
    while n_steps < max_steps:
        _column_sums(kernel, np.exp((column - column0) / epsilon), sums, totals)
        if not sums.min() > 0:
            break
        following = column0 + epsilon * (np.log(mass) - np.log(sums))  # Eq. 8
        if uniformity < np.inf:
            normaliser = _normalise(following, normaliser, uniformity, fresh)  # Eqs. 10 and 9
        moved = max(
            np.abs(following - column).max() / epsilon,
            np.abs(np.log(fresh / mass)).max(),
        )
        column = following
        mass[:] = fresh
        n_steps += 1
        if moved < tol or np.abs(column - column0).max() > reach * epsilon:
            break
    return totals, column, normaliser, mass, n_steps, moved


if AVAILABLE:
    import numba

    # Sums may be regrouped to use vector instructions; NaN and infinity keep their meaning.
    _compile = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
    _conditionals = _compile(_conditionals)
    _masses = _compile(_masses)
    _normalise = _compile(_normalise)
    _column_sums = _compile(_column_sums)
    _sweep = _compile(_sweep)

conditionals = _conditionals
sweep = _sweep
