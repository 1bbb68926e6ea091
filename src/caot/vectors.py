"""Rows of numbers brought to one length, or one scale."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Real = TypeVar("Real", bound=np.floating)

# As many rows as a scale is taken from.
_ENOUGH = 10_000


def unit_rows(rows: NDArray[Real]) -> NDArray[Real]:
    """Return the rows divided by their lengths; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[Real] = (rows / np.where(lengths > 0, lengths, 1)).astype(rows.dtype, copy=False)
    return unit


def unit_scale(rows: NDArray[np.float32]) -> float:
    """Return the factor that gives the rows a mean square of one, from some of them if many."""
    some = rows[:: max(1, len(rows) // _ENOUGH)]
    mean_square = float(np.mean(np.square(some, dtype=np.float64)))
    return 1.0 / math.sqrt(mean_square) if mean_square > 0 else 1.0
