"""How uneven clusters are, and which penalty weight ε2 fits them (Eqs. 13 to 15, 37)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The paper's four levels, with the upper end of their interval of the coefficient of variation.
_LEVELS = (
    ("balanced", 0.2, 100.0),
    ("slight", 0.4, 3.5),
    ("imbalanced", 0.6, 0.06),
    ("severe", float("inf"), 0.03),
)

IMBALANCE_LEVELS: Mapping[str, float] = MappingProxyType(
    {name: value for name, _, value in _LEVELS}
)
"""Penalty weight ε2 by the name of the paper's level of imbalance."""


# The force of the penalty on a cluster of average size, on the scale of the cost −log P.
_GENTLE_PULL = 2.0


def effective_imbalance(labels: ArrayLike, n_clusters: int | None = None) -> float:
    """Return the coefficient of variation of cluster sizes (Eq. 14).

    Parameters
    ----------
    labels
        Cluster of each sample, (n,), integers ≥ 0.
    n_clusters
        How many clusters there are; empty ones count. By default the distinct labels.

    Examples
    --------
    >>> effective_imbalance([0, 0, 1, 1])
    0.0
    >>> effective_imbalance([0, 0, 0, 1])
    0.5
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        msg = f"labels must be a non-empty vector, got shape {labels.shape}"
        raise ValueError(msg)
    _, sizes = np.unique(labels, return_counts=True)
    if n_clusters is not None:
        if n_clusters < sizes.size:
            msg = f"labels has {sizes.size} distinct values, more than n_clusters={n_clusters}"
            raise ValueError(msg)
        sizes = np.pad(sizes, (0, n_clusters - sizes.size))
    return float(sizes.std() / sizes.mean())


def imbalance_level(coefficient: float) -> str:
    """Return the paper's level for a coefficient of variation (Eq. 15)."""
    if not coefficient >= 0:
        msg = f"the coefficient of variation must be at least 0, got {coefficient}"
        raise ValueError(msg)
    return next(name for name, end, _ in _LEVELS if coefficient < end or end == float("inf"))


def uniformity_for(coefficient: float, floor: float = 0.0) -> float:
    """Return ε2 for a coefficient of variation (Eq. 15), at least ``floor`` (Eq. 13)."""
    return max(IMBALANCE_LEVELS[imbalance_level(coefficient)], floor)


def gentle_uniformity(n_clusters: int) -> float:
    """Return the ε2 that holds a cluster of average size by the same force for any k (Eq. 37)."""
    return _GENTLE_PULL / n_clusters


def safe_uniformity(
    n_clusters: int, epsilon: float, consistency: float, mean_similarity: float = 1.0
) -> float:
    """Return the smallest ε2 at which no cluster can profit by outgrowing the others (Eq. 13).

    :func:`collapse_floor` asks whether uniform masses are stable against small changes; this asks
    whether they are better than any masses (t, (1−t)/(k−1), …), so that a large change does not
    pay either. It is the greatest value over t of what the similarity gains, less what the entropy
    loses, per unit of penalty.
    """
    k = n_clusters
    large = np.linspace(1 / k, 1, 2002)[1:-1]
    small = (1 - large) / (k - 1)

    def over_all(function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Any:
        uniform = function(np.array([1 / k]))[0]
        return function(large) + (k - 1) * function(small) - k * uniform

    squares = over_all(np.square)
    entropy = over_all(lambda b: b * np.log(b))
    penalty = over_all(lambda b: -np.log(b) - np.log1p(-b))
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (consistency * mean_similarity * squares - epsilon * entropy) / penalty
    # Near t = 1/k all three vanish together; the limit there is the floor.
    needed = needed[penalty > 1e-9]
    return max(collapse_floor(k, epsilon, consistency, mean_similarity), float(needed.max()))


def collapse_floor(
    n_clusters: int, epsilon: float, consistency: float, mean_similarity: float = 1.0
) -> float:
    """Return the smallest ε2 at which uniform masses are stable under uniform predictions (Eq. 13).

    Below it, similarity pulls samples whose predictions say nothing into one cluster; above it a
    large enough push can still do so, see :func:`safe_uniformity`. The default mean similarity of
    1 is the worst case: predictions that are all alike.
    """
    k = n_clusters
    excess = 2 * consistency * mean_similarity - epsilon * k
    return max(0.0, excess / (k**2 * (1 + 1 / (k - 1) ** 2)))
