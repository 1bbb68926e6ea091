"""How uneven the clusters are taken to be, and the penalty weight that follows (Eqs. 13-15, 37)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from caot.transport import (
    IMBALANCE_LEVELS,
    collapse_floor,
    effective_imbalance,
    gentle_uniformity,
    imbalance_level,
)

PenaltyKind: TypeAlias = Literal["printed", "gentle"]
ImbalanceSpec: TypeAlias = Literal["auto", "balanced", "slight", "imbalanced", "severe"] | float


@dataclass(frozen=True, slots=True)
class Imbalance:
    """The penalty weight ε2 of a run and where it comes from.

    Attributes
    ----------
    uniformity
        ε2 as used.
    level
        The paper's level; None when ε2 was given as a number.
    coefficient
        The coefficient of variation of the first clusters' sizes (Eq. 14); None when not estimated.
    floor
        The least ε2 at which uniform masses are stable (Eq. 13); 0 in faithful mode.
    """

    uniformity: float
    level: str | None
    coefficient: float | None
    floor: float

    @property
    def sentence(self) -> str:
        """Level, estimate and penalty weight in words."""
        weight = f"penalty weight {self.uniformity:.3g}"
        if self.level is None:
            return f"imbalance: {weight}, as given"
        if self.coefficient is None:
            return f"imbalance: level {self.level}, as given, {weight}"
        estimate = f"sizes of the first clusters vary by {self.coefficient:.2f}"
        return f"imbalance: {estimate} ({self.level}), {weight}"


def check_imbalance(spec: object) -> None:
    """Raise unless ``spec`` is "auto", a level, or a positive number."""
    if isinstance(spec, str) and (spec == "auto" or spec in IMBALANCE_LEVELS):
        return
    if isinstance(spec, Real) and not isinstance(spec, bool) and 0 < float(spec) < math.inf:
        return
    names = ", ".join(repr(name) for name in ("auto", *IMBALANCE_LEVELS))
    msg = (
        f"imbalance must be one of {names}, or a positive number (the penalty weight), got {spec!r}"
    )
    raise ValueError(msg)


def resolve_imbalance(
    spec: ImbalanceSpec,
    *,
    start: NDArray[np.int64],
    n_clusters: int,
    epsilon: float,
    consistency: float,
    penalty: PenaltyKind,
    use_floor: bool,
    scale: float = 1.0,
) -> Imbalance:
    """Return the penalty weight that ``spec`` means for these data.

    Parameters
    ----------
    spec
        "auto" estimates the level from the sizes of the first clusters, and finds ε2 by
        ``penalty``; a level's name; or ε2 itself, which is taken as it is.
    start
        First clusters of the samples, (n,); K-means' in the paper.
    n_clusters, epsilon, consistency
        k, ε1 and ε3, which decide the floor.
    use_floor
        Whether ε2 is raised to the floor; not in faithful mode.
    penalty
        What an estimate of uneven clusters leads to: the paper's value for their level, or a gentle
        one, which lets the data say how uneven. Levels that are named have the paper's.
    scale
        Multiplies ε2 (see :class:`~caot.Variant`).
    """
    floor = collapse_floor(n_clusters, epsilon, consistency) if use_floor else 0.0
    if not isinstance(spec, str):
        return Imbalance(scale * float(spec), None, None, floor)
    coefficient = effective_imbalance(start, n_clusters) if spec == "auto" else None
    level = spec if coefficient is None else imbalance_level(coefficient)
    weight = IMBALANCE_LEVELS[level]
    if spec == "auto" and penalty == "gentle" and level != "balanced":
        weight = gentle_uniformity(n_clusters)
    return Imbalance(max(scale * weight, floor), level, coefficient, floor)
