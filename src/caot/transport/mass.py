"""How much mass a cluster receives, as a law of its column multiplier (Eqs. 9 and 10).

================  ===========  ======
symbol            name         shape
================  ===========  ======
τ                 column       (k,)
ν                 normaliser   scalar
b                 mass         (k,)
ε2                uniformity   scalar
================  ===========  ======
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from caot.transport.arrays import Array

_MAX_STEPS = 200


@dataclass(frozen=True, slots=True)
class UniformMass:
    """Every cluster receives 1/k, whatever its multiplier: the balanced problem (Eq. 1)."""

    n_clusters: int

    def normaliser(self, xp: Any, column: Array, start: float) -> float:
        """Return 0: nothing has to be normalised."""
        return 0.0

    def mass(self, xp: Any, shifted: Array) -> Array:
        """Return 1/k for each column."""
        return xp.full_like(shifted, 1 / self.n_clusters)

    def penalty(self, xp: Any, mass: Array) -> float:
        """Return 0: the masses are given."""
        return 0.0


@dataclass(frozen=True, slots=True)
class PenalisedMass:
    """Masses under the penalty Ψ (Eq. 2) with weight ``uniformity``.

    Stationarity in b reads τ − ν = −2 ε2 sinh(logit b), so b is a logistic function of an inverse
    hyperbolic sine: no singularity at τ = ν and no cancellation on either side of it.
    """

    n_clusters: int
    uniformity: float

    @property
    def offset(self) -> float:
        """τ − ν of a cluster with the mass 1/k; ν is between the extreme τ less this (Eq. 10)."""
        k = self.n_clusters
        return self.uniformity * k * (k - 2) / (k - 1)

    def mass(self, xp: Any, shifted: Array) -> Array:
        """Return b for x = τ − ν (Eq. 9)."""
        return 1 / (1 + xp.exp(xp.asinh(shifted / (2 * self.uniformity))))

    def log_slope(self, xp: Any, shifted: Array) -> Array:
        """Return −d log b / dτ = (1 − b) / √(x² + 4 ε2²)."""
        root = xp.sqrt(shifted * shifted + (2 * self.uniformity) ** 2)
        return (1 - self.mass(xp, shifted)) / root

    def penalty(self, xp: Any, mass: Array) -> float:
        """Return ε2 Σ Ψ(b_j) (Eq. 2)."""
        return -self.uniformity * float(self.barrier(xp, mass))

    def barrier(self, xp: Any, mass: Array) -> Array:
        """Return −Σ Ψ(b_j), as an array without dimensions."""
        return xp.sum(xp.log(mass) + xp.log1p(-mass))

    def normaliser(self, xp: Any, column: Array, start: float) -> float:
        """Solve Σ_j b(τ_j − ν) = 1 for ν by Newton's method inside the exact bracket (Eq. 10).

        A step that would leave the bracket is replaced by bisection, so it cannot fail; a ``start``
        from an earlier solve saves steps.
        """
        low, high = (float(end) - self.offset for end in (xp.min(column), xp.max(column)))
        resolution = 4 * float(xp.finfo(column.dtype).eps)
        nu = start if low <= start <= high else 0.5 * (low + high)
        for _ in range(_MAX_STEPS):
            shifted = column - nu
            mass = self.mass(xp, shifted)
            excess = float(xp.sum(mass)) - 1
            if abs(excess) <= resolution or not math.isfinite(excess):
                break
            if excess < 0:
                low = nu
            else:
                high = nu
            following = nu - excess / float(xp.sum(mass * self.log_slope(xp, shifted)))
            if not low < following < high:
                following = 0.5 * (low + high)
            if following == nu:
                break
            nu = following
        return nu


MassLaw: TypeAlias = UniformMass | PenalisedMass


def mass_law(n_clusters: int, uniformity: float) -> MassLaw:
    """Return the law for ``uniformity``; infinity is the balanced problem."""
    if math.isinf(uniformity):
        return UniformMass(n_clusters)
    return PenalisedMass(n_clusters, uniformity)
