"""Means and spreads over seeds, of records that differ by nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from caot.bench.cells import Cell
from caot.bench.paper import Printed
from caot.bench.records import CellRecord, CellStatus


@dataclass(frozen=True, slots=True)
class Summary:
    """A mean, its standard deviation over seeds, and how many there are."""

    mean: float
    spread: float
    n_seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Summarise at least one value."""
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(statistics.mean(values), spread, len(values))

    def __str__(self) -> str:
        if self.n_seeds == 1:
            return f"{self.mean:.2f} (1)"
        return f"{self.mean:.2f} ± {self.spread:.2f} ({self.n_seeds})"


class Results:
    """Records by their cell without the seed.

    Parameters
    ----------
    records
        All that there is.
    """

    def __init__(self, records: Iterable[CellRecord]) -> None:
        self._groups: dict[Cell, list[CellRecord]] = {}
        for record in records:
            self._groups.setdefault(replace(record.cell, seed=0), []).append(record)

    def cells(self) -> list[Cell]:
        """Return the cells that have records, with seed 0."""
        return list(self._groups)

    def of(self, cell: Cell) -> list[CellRecord]:
        """Return the finished records of a cell, all seeds."""
        group = self._groups.get(replace(cell, seed=0), [])
        return [record for record in group if record.is_done]

    def summary(self, cell: Cell, name: str = "accuracy", of: str = "scores") -> Summary | None:
        """Return a score in percent over the seeds of a cell; None if nothing was run."""
        return self.value(cell, lambda record: record.score(name, of))

    def value(self, cell: Cell, read: Callable[[CellRecord], float]) -> Summary | None:
        """Return what ``read`` finds in the records of a cell; None if it finds nothing."""
        found = []
        for record in self.of(cell):
            try:
                found.append(read(record))
            except KeyError:
                continue
        return Summary.of(found) if found else None

    def why_not(self, cell: Cell) -> str:
        """Return what to show where there is no result: a status, or nothing."""
        group = self._groups.get(replace(cell, seed=0), [])
        states = {record.status for record in group} - {CellStatus.DONE}
        return ", ".join(sorted(state.value for state in states))


def shown(results: Results, cell: Cell, name: str = "accuracy", of: str = "scores") -> str:
    """Return a score for a table, or why there is none."""
    found = results.summary(cell, name, of)
    return results.why_not(cell) if found is None else str(found)


def beside(found: Summary | None, printed: Printed | None) -> tuple[str, str]:
    """Return the paper's accuracy, and ours less the paper's."""
    if printed is None:
        return "", ""
    difference = "" if found is None else f"{found.mean - printed.accuracy:+.2f}"
    return f"{printed.accuracy:.2f}", difference


def mean_of(found: Mapping[str, Summary | None]) -> str:
    """Return the mean over data sets, if all of them were run."""
    if not found or any(part is None for part in found.values()):
        return ""
    return f"{statistics.mean(part.mean for part in found.values() if part):.2f}"
