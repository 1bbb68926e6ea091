"""Optimal transport from cluster probabilities to pseudo-labels.

Problem, solver and result are separate immutable values: a solver is a record of settings, and
calling it on log-probabilities (and a similarity between the samples) returns a
:class:`TransportResult`.
"""

from caot.transport.imbalance import (
    IMBALANCE_LEVELS,
    collapse_floor,
    effective_imbalance,
    gentle_uniformity,
    imbalance_level,
    safe_uniformity,
    uniformity_for,
)
from caot.transport.problem import TransportProblem, transport_problem
from caot.transport.result import CollapseWarning, Potentials, Queued, Status, TransportResult
from caot.transport.solvers import (
    AdaptiveTransport,
    BalancedTransport,
    ConsistentTransport,
    Prediction,
    Transport,
)

__all__ = [
    "IMBALANCE_LEVELS",
    "AdaptiveTransport",
    "BalancedTransport",
    "CollapseWarning",
    "ConsistentTransport",
    "Potentials",
    "Prediction",
    "Queued",
    "Status",
    "Transport",
    "TransportProblem",
    "TransportResult",
    "collapse_floor",
    "effective_imbalance",
    "gentle_uniformity",
    "imbalance_level",
    "safe_uniformity",
    "transport_problem",
    "uniformity_for",
]
