"""When transport makes new pseudo-labels for a whole data set, and what is told of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caot.metrics import change_rate
from caot.training import TargetsMade
from caot.transport import TransportResult


def targets_made(
    iteration: int,
    rows: NDArray[np.int64],
    before: NDArray[np.int64],
    result: TransportResult,
) -> TargetsMade:
    """Return the event that a transport gave new labels to some rows, which had others before."""
    labels = result.host.labels
    return TargetsMade(
        iteration=iteration,
        rows=rows,
        labels=labels.copy(),
        column_mass=result.host.column_mass,
        change_rate=change_rate(before, labels),
        objective=result.objective[-1] if result.objective else math.nan,
        status=result.status,
        n_outer=result.n_outer,
        n_inner=result.n_inner,
        stopped_early=result.stopped_early,
        collapsed=result.collapsed,
    )


def solve_times(start: int, end: int, count: int) -> frozenset[int]:
    """Return the iterations of the transports: quadratically spaced from start to before end.

    >>> sorted(solve_times(0, 100, 6))
    [0, 2, 11, 25, 44, 69]
    """
    return frozenset(start + int((end - start) * (j / count) ** 2) for j in range(count))
