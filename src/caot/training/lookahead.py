"""Rows gathered before they are asked for, while an accelerator computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caot.encoders import Batchable


class Lookahead:
    """Takes rows of prepared inputs, and keeps those of one batch that was gathered early."""

    def __init__(self) -> None:
        self._rows = np.empty(0, dtype=np.int64)
        self._gathered: list[tuple[Batchable, Batchable]] = []

    def gather(self, sources: Sequence[Batchable], rows: NDArray[np.int64]) -> None:
        """Take the rows of a coming batch now, from memory or from a file; forget the last ones."""
        self._rows = rows
        self._gathered = [(source, source.take(rows)) for source in sources]

    def take(self, source: Batchable, rows: NDArray[np.int64]) -> Batchable:
        """Return rows of a source: those gathered if they are these, or else taken now."""
        for known, gathered in self._gathered:
            if known is source and np.array_equal(self._rows, rows):
                return gathered
        return source.take(rows)
