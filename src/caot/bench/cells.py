"""A cell: one method on one data set with one seed; and where its record lies."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One run of the benchmark.

    Parameters
    ----------
    dataset
        A name of `caot.bench.datasets.DATASETS`, or the path of a file.
    method
        A name of `caot.bench.methods.METHODS`.
    encoder
        As `caot.CAOT` takes it; "auto" is the embedded one.
    variant
        A name of `caot.bench.variants.VARIANTS`, or ``parameter=value``.
    finetune
        Which layers learn: "none", "auto", "all", or a number of top layers.
    max_iter
        Iterations; None is the method's own number.
    seed
        ``random_state`` of the method.
    """

    dataset: str
    method: str = "caot"
    encoder: str = "auto"
    variant: str = "full"
    finetune: str = "none"
    max_iter: int | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """What tells it from all other cells, fit for a file name."""
        parts = [
            self.method,
            self.encoder,
            self.variant,
            f"finetune-{self.finetune}",
            "own-iter" if self.max_iter is None else f"iter-{self.max_iter}",
            f"seed-{self.seed}",
        ]
        return ".".join(_slug(part) for part in parts)

    def path(self, results: Path) -> Path:
        """Return the file of its record in a folder of results."""
        return results / _folder_name(self.dataset) / f"{self.name}.json"

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.dataset} {self.name}"


def _folder_name(dataset: str) -> str:
    """Return the folder of a data set's records; files of one name in two places have two."""
    path = Path(dataset)
    if path.name == dataset:
        return _slug(dataset)
    place = hashlib.sha256(str(path.resolve().parent).encode()).hexdigest()
    return f"{_slug(path.name)}-{place[:8]}"


def _slug(part: str) -> str:
    """Return a part of a file name: a slash or a dot in it would lead astray."""
    return re.sub(r"[^A-Za-z0-9=_-]+", "-", part.replace(".", "p") if "=" in part else part)
