"""What a run of the benchmark leaves behind: one JSON file a cell."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from caot.bench.cells import Cell
from caot.files import atomic_file

FORMAT = 1


class CellStatus(StrEnum):
    """How a run ended."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, eq=False)
class CellRecord:
    """A record that was read: its cell, how it ended, and all that it says."""

    cell: Cell
    status: CellStatus
    content: Mapping[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether there are results."""
        return self.status is CellStatus.DONE

    @property
    def is_failure(self) -> bool:
        """Whether the run went wrong, rather than lacking something that the machine has not."""
        return self.status in (CellStatus.FAILED, CellStatus.TIMEOUT)

    def score(self, name: str, of: str = "scores") -> float:
        """Return one of the scores in percent."""
        return 100 * float(self.content[of][name])


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """Write a record whole or not at all; numbers that JSON has not become null."""
    with atomic_file(path) as temporary:
        temporary.write_text(
            json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )
        temporary.chmod(0o644)  # a temporary file is private, a record is not


def read_record(path: Path) -> CellRecord | None:
    """Return the record of a file; None if there is none, or it is not one of ours."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return CellRecord(Cell(**content["cell"]), CellStatus(content["status"]), content)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_records(results: Path) -> list[CellRecord]:
    """Return all records below a folder, in the order of their cells."""
    # What begins with a dot was being written when its process ended.
    paths = [path for path in sorted(results.rglob("*.json")) if path.name[0] != "."]
    found = [read_record(path) for path in paths]
    return sorted((record for record in found if record), key=lambda record: str(record.cell))


def config_hash(parts: Mapping[str, Any]) -> str:
    """Return a short hash of settings."""
    text = json.dumps(_plain(parts), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def machine_facts(n_threads: int) -> dict[str, Any]:
    """Return what may explain a time: processor, cores, threads, load."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    return {
        "architecture": platform.machine(),
        "cpu_count": os.cpu_count(),
        "threads": n_threads,
        "load": round(load, 2),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - anything that a record may hold
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return _plain(value.tolist())
    if isinstance(value, Iterable):
        return [_plain(part) for part in value]
    return str(value)
