"""What the data sets are, beside the paper's Table 1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from caot.bench.datasets import DATASETS, BenchmarkData, DatasetError, DatasetSpec, load_data

ABSENT, AS_EXPECTED, OTHER_ROWS, UNKNOWN = "absent", "as expected", "other rows", "not stated"


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One data set: what was found in the file, and what should be there."""

    spec: DatasetSpec
    size: int = 0
    n_classes: int = 0
    words: float | None = None
    ratio: float = 0.0
    check: str = ABSENT

    @property
    def is_wrong(self) -> bool:
        """Whether the file is there and holds something else."""
        return self.check == OTHER_ROWS

    @property
    def shown(self) -> tuple[str, ...]:
        """The cells of a table."""
        spec = self.spec
        stated = f"{spec.size or '?'}, {spec.n_classes or '?'}, {spec.words or '-'}, "
        stated += str(spec.ratio or "-")
        if self.check == ABSENT:
            return (spec.title, "", "", "", "", stated, ABSENT)
        words = "-" if self.words is None else f"{self.words:.1f}"
        figures = (str(self.size), str(self.n_classes), words, f"{self.ratio:.1f}")
        return (spec.title, *figures, stated, self.check)

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {
            "name": self.spec.name,
            "size": self.size,
            "n_classes": self.n_classes,
            "words": self.words,
            "ratio": self.ratio,
            "check": self.check,
        }


def dataset_rows(folder: Path) -> list[DatasetRow]:
    """Return all data sets; rows with an empty text are not counted."""
    return [_row(spec, folder) for spec in DATASETS.values()]


def _row(spec: DatasetSpec, folder: Path) -> DatasetRow:
    try:
        data = load_data(spec.name, folder)
    except DatasetError:
        return DatasetRow(spec)
    sizes = np.bincount(data.truth)
    words = None
    if isinstance(data.inputs, list):
        words = float(np.mean([len(text.split()) for text in data.inputs]))
    ratio = float(sizes.max() / sizes.min())
    return DatasetRow(spec, len(data), data.n_classes, words, ratio, _check(spec, data))


def _check(spec: DatasetSpec, data: BenchmarkData) -> str:
    if spec.digest is None:
        return UNKNOWN
    return AS_EXPECTED if data.digest == spec.digest else OTHER_ROWS
