"""What is told of a transport that made new pseudo-labels."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from caot.metrics import change_rate
from caot.training.events import TargetsMade
from caot.transport import TransportResult

_Scalar = TypeVar("_Scalar", bound=np.generic)


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
        rows=_read_only(rows),
        labels=_read_only(labels),
        column_mass=_read_only(result.host.column_mass),
        change_rate=change_rate(before, labels),
        objective=result.objective[-1] if result.objective else math.nan,
        status=result.status,
        n_outer=result.n_outer,
        n_inner=result.n_inner,
        stopped_early=result.stopped_early,
        collapsed=result.collapsed,
    )


def _read_only(values: NDArray[_Scalar]) -> NDArray[_Scalar]:
    copy = values.copy()
    copy.setflags(write=False)
    return copy
