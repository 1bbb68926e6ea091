"""``run.json``: what was run on what, with which settings, versions, times and warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from caot.files import atomic_file
from caot.runs.errors import RunError

FORMAT_VERSION = 1
RUN_FILE = "run.json"
_LATER = ("title", "method", "threads")  # which the first runs did not write


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record of a run; every value is plain.

    Attributes
    ----------
    created
        When the run ended, ISO 8601 in UTC.
    settings
        What was asked for, `RunSettings.as_dict`.
    parameters
        What the estimator was given; a K that was found stands here as a number.
    versions
        Of the libraries that results depend on.
    encoder
        Its name.
    input
        ``name``, ``sha256`` (None for a pipe), ``n_columns``, ``text_columns`` and
        ``text_positions``, ``id_column`` and ``id_position``.
    columns
        The names of our columns in the assignments by what they hold.
    counts
        Texts, distinct, empty, without a cluster; clusters asked for (None where the method found
        their number) and used.
    training
        Iterations done and saved, and why it ended; less where the method has less to tell.
    imbalance
        The penalty weight and where it comes from; empty where the method has none.
    timings
        Seconds of each part.
    warnings
        A sentence each.
    files
        All files of the run but this one, relative to its folder.
    title
        Of the report; None for the input's name.
    method
        The name of the method.
    threads
        How many computed: the same seed gives the same labels with the same number of them.
    """

    created: str
    settings: Mapping[str, Any]
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]
    encoder: str
    input: Mapping[str, Any]
    columns: Mapping[str, str]
    counts: Mapping[str, int | None]
    training: Mapping[str, Any]
    imbalance: Mapping[str, Any]
    timings: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    title: str | None = None
    method: str = "caot"
    threads: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        plain = finite({"format_version": FORMAT_VERSION, **asdict(self)})
        return {str(name): value for name, value in plain.items()}

    def write(self, folder: Path) -> None:
        """Write ``run.json``, whole or not at all."""
        write_json(folder / RUN_FILE, self.as_dict())

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read ``run.json``.

        Raises
        ------
        RunError
            If there is none, it is damaged, or of a newer version.
        """
        path = folder / RUN_FILE
        content = read_json(path)
        version = content.get("format_version")
        if not isinstance(version, int):
            msg = f"{path} was not written by caot: choose a run folder"
            raise RunError(msg)
        if version > FORMAT_VERSION:
            written = content.get("versions", {}).get("caot", "a newer one")
            msg = (
                f"{folder} was written by caot {written} in a newer format ({version}, this "
                f"version reads up to {FORMAT_VERSION}): use that version, or a later one"
            )
            raise RunError(msg)
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in content and name not in _LATER]
        if missing:
            msg = f"{path} is damaged, it lacks {', '.join(missing)}: run caot fit again"
            raise RunError(msg)
        values = {name: content[name] for name in names if name in content}
        lists = {name: tuple(map(str, values[name])) for name in ("warnings", "files")}
        return cls(**{**values, **lists})


def write_json(path: Path, content: object) -> None:
    """Write JSON that any editor can open, whole or not at all."""
    text = json.dumps(content, indent=2, default=str)
    with atomic_file(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.chmod(0o644)


def read_json(path: Path) -> dict[str, Any]:
    """Read an object from a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        msg = f"{path} is damaged ({error}): restore it, or run caot fit again"
        raise RunError(msg) from error
    if not isinstance(content, dict):
        msg = f"{path} was not written by caot: choose a run folder"
        raise RunError(msg)
    return content


def finite(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value with None for NaN and infinity, which JSON cannot hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value
