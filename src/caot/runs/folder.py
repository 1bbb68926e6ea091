"""The folder of a run: what lies in it, and how it is written and read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from caot.describe import Description
from caot.files import atomic_file
from caot.io import TextTable, read_table, write_table
from caot.runs.errors import RunError
from caot.runs.facts import history_of
from caot.runs.locking import LOCK, locked, require_idle
from caot.runs.publishing import listed, own_file, publish, staging
from caot.runs.record import RUN_FILE, RunRecord, read_json, write_json
from caot.runs.result import (
    ADDED,
    RunResult,
    clusters_for_programs,
    clusters_for_reading,
    description_from,
)

if TYPE_CHECKING:
    import os

    from caot.clusterer import TextClusterer
    from caot.report import ReportData
    from caot.training import History

MODEL = "model"
ASSIGNMENTS = ("assignments.csv", "assignments.parquet")
CLUSTERS = ("clusters.csv", "clusters.jsonl")
REPORT = "report.html"
HISTORY = "history.npz"
CONFUSION = "confusion.svg"
CHECKPOINT = "checkpoint.safetensors"
BEGUN = "checkpoint.json"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder with ``model/``, assignments, clusters, ``report.html`` and ``run.json``.

    Parameters
    ----------
    path : Path
        Where it is, or will be.

    Examples
    --------
    >>> run = RunFolder.open("tickets-run")  # doctest: +SKIP
    >>> run.model().predict(["my parcel is late"])  # doctest: +SKIP
    """

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return the folder of a complete run."""
        folder = cls(Path(path))
        if not folder.path.is_dir():
            msg = f"there is no run folder {path}: check the path, or make one with caot fit"
            raise RunError(msg)
        if not (folder.path / RUN_FILE).is_file():
            if folder.has_begun:
                msg = f"the run in {path} is not complete: go on with caot fit ... --resume"
            else:
                msg = (
                    f"{path} is not a run folder, it has no {RUN_FILE}: name one that caot fit made"
                )
            raise RunError(msg)
        return folder

    @classmethod
    def prepare(
        cls, path: str | os.PathLike[str], *, force: bool = False, resume: bool = False
    ) -> Self:
        """Return a folder that a new run may use; nothing is written yet.

        Parameters
        ----------
        path
            A folder that does not exist, is empty, or holds a run.
        force
            Whether a run that lies there is replaced. Files that no run wrote always stay, and a
            folder of other things is never used.
        resume
            Whether the run that was begun there goes on.
        """
        folder = cls(Path(path))
        if folder.path.exists() and not folder.path.is_dir():
            msg = f"{path} is a file: choose another name for the run folder"
            raise RunError(msg)
        require_idle(folder.path)
        if resume:
            if not folder.has_begun:
                done = (folder.path / RUN_FILE).is_file()
                why = "the run there is complete" if done else "no run was interrupted there"
                msg = f"there is nothing to resume in {path}, {why}: leave --resume out"
                raise RunError(msg)
            return folder
        folder._require_free(force=force)
        return folder

    @property
    def model_path(self) -> Path:
        """The folder of the model, as `caot.load_model` takes it."""
        return self.path / MODEL

    @property
    def report_path(self) -> Path:
        """The page to show to others."""
        return self.path / REPORT

    @property
    def checkpoint_path(self) -> Path:
        """The state of a training that is under way."""
        return self.path / CHECKPOINT

    @property
    def has_begun(self) -> bool:
        """Whether a run was begun here and is not complete."""
        return (self.path / BEGUN).is_file()

    @property
    def record(self) -> RunRecord:
        """What ``run.json`` says."""
        return RunRecord.read(self.path)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from writing here; raise `RunError` if one does so now."""
        return locked(self.path)

    def begin(self, facts: Mapping[str, Any], *, resume: bool = False) -> dict[str, Any]:
        """Mark the folder as that of a run under way; return the facts of the one that goes on."""
        if resume:
            return read_json(self.path / BEGUN)
        self.path.mkdir(parents=True, exist_ok=True)
        self.checkpoint_path.unlink(missing_ok=True)
        write_json(self.path / BEGUN, dict(facts))
        return dict(facts)

    def abandon(self) -> None:
        """Remove the mark of a run that has nothing to resume from, and the folder if empty."""
        if self.checkpoint_path.is_file() or not self.path.is_dir():
            return
        (self.path / BEGUN).unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def write(
        self,
        model: TextClusterer,
        result: RunResult,
        record: RunRecord,
        *,
        raw: bool = False,
    ) -> RunRecord:
        """Write model, assignments, clusters and record, all or nothing; return the record.

        The report is written afterwards, by `write_report`, so that nothing is lost if it fails.
        """
        before = self._own_files()
        with staging(self.path) as fresh:
            model.save_pretrained(fresh / MODEL)
            history = history_of(model)
            if history is not None:
                _write_history(fresh / HISTORY, history)
            columns = _write_tables(fresh, result, raw=raw)
            record = dataclasses.replace(
                record, columns=columns, files=(*listed(fresh), REPORT, CONFUSION)
            )
            record.write(fresh)
            publish(fresh, self.path, before)
        for name in (CHECKPOINT, BEGUN):
            (self.path / name).unlink(missing_ok=True)
        return record

    def rewrite(self, result: RunResult, record: RunRecord, *, raw: bool = False) -> RunRecord:
        """Write assignments and clusters anew, with another description."""
        with staging(self.path) as fresh:
            record = dataclasses.replace(record, columns=_write_tables(fresh, result, raw=raw))
            record.write(fresh)
            publish(fresh, self.path, ())
        return record

    def write_report(self, data: ReportData) -> Path:
        """Write ``report.html``."""
        from caot.report import write_report  # noqa: PLC0415 - brings in torch

        return _readable(write_report(self.report_path, data))

    def write_confusion(self, svg: str) -> Path:
        """Write the picture of the confusion matrix."""
        path = self.path / CONFUSION
        with atomic_file(path) as temporary:
            temporary.write_text(svg, encoding="utf-8")
        return _readable(path)

    def model(self, *, device: str | None = None) -> TextClusterer:
        """Load the model, whichever method it is of."""
        from caot.loading import load_model  # noqa: PLC0415 - brings in torch

        return load_model(self.model_path, device=device)

    def table(self) -> TextTable:
        """Return the texts and the input's columns."""
        whole, facts = self._assignments(), self.record.input
        frame = whole.frame.iloc[:, : facts["n_columns"]]
        place = facts["id_position"]
        id_column = None if place is None else str(frame.columns[place])
        return dataclasses.replace(
            whole, frame=frame, id_column=id_column, source=str(facts["name"])
        )

    def labels(self) -> NDArray[np.int64]:
        """Return the clusters, (n,); −1 for none."""
        column = self._assignments().frame.iloc[:, self.record.input["n_columns"]]
        labels: NDArray[np.int64] = column.to_numpy(dtype=np.int64)
        return labels

    def description(self) -> Description:
        """Return the clusters in words."""
        content = (self.path / CLUSTERS[1]).read_text(encoding="utf-8")
        return description_from([json.loads(line) for line in content.split("\n") if line])

    def history(self) -> History | None:
        """Return how training went, None if the method does not train, or its record is gone."""
        from caot.training import History  # noqa: PLC0415 - brings in torch

        path = self.path / HISTORY
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            names = [field.name for field in dataclasses.fields(History)]
            return History(**{name: arrays[name] for name in names})

    def _assignments(self) -> TextTable:
        from pyarrow import parquet  # noqa: PLC0415 - only to read results again

        path = self.path / ASSIGNMENTS[1]
        names = parquet.read_schema(path).names
        return read_table(path, text=[names[i] for i in self.record.input["text_positions"]])

    def _require_free(self, *, force: bool) -> None:
        path = self.path
        if not path.is_dir() or all(inside.name == LOCK for inside in path.iterdir()):
            return
        if not self.has_begun and not (path / RUN_FILE).is_file():
            msg = (
                f"{path} holds other things than a run and is not written to: choose another "
                "folder with -o"
            )
            raise RunError(msg)
        if force:
            return
        if self.has_begun:
            msg = (
                f"{path} holds an interrupted run: go on with --resume, or begin anew with --force"
            )
        else:
            msg = f"{path} holds a run already: choose another folder, or replace it with --force"
        raise RunError(msg)

    def _own_files(self) -> tuple[str, ...]:
        """Return the files that an earlier run wrote here, as its record says."""
        try:
            names = RunRecord.read(self.path).files
        except (RunError, OSError):
            return ()
        return tuple(name for name in names if own_file(self.path, name) is not None)


def _write_tables(folder: Path, result: RunResult, *, raw: bool) -> dict[str, str]:
    """Write assignments and clusters; return the names of our columns."""
    assignments = result.assignments()
    for name in ASSIGNMENTS:
        write_table(assignments, folder / name, raw=raw)
    texts = result.table.texts
    write_table(clusters_for_reading(result.description, texts), folder / CLUSTERS[0], raw=raw)
    write_table(clusters_for_programs(result.description, texts), folder / CLUSTERS[1])
    return dict(zip(ADDED, map(str, assignments.columns[-len(ADDED) :]), strict=True))


def _write_history(path: Path, history: History) -> None:
    arrays = {field.name: getattr(history, field.name) for field in dataclasses.fields(history)}
    np.savez_compressed(path, **arrays)


def _readable(path: Path) -> Path:
    """Let others read a file that was made as a private temporary one."""
    path.chmod(0o644)
    return path
