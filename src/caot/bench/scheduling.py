"""Running many cells: those that are missing, a process each, some at a time."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from caot.bench.cells import Cell
from caot.bench.datasets import find_spec, is_file_name, load_data
from caot.bench.records import FORMAT, CellRecord, CellStatus, read_record, write_record
from caot.bench.running import RunPlace, cell_hash, is_current, run_cell

_POLL = 0.2  # seconds

Told = Callable[[Cell, CellRecord], None]


@dataclass(slots=True)
class _Job:
    cell: Cell
    process: BaseProcess
    started: float
    is_late: bool = False


def missing_cells(cells: Iterable[Cell], results: Path, *, retry: bool = False) -> list[Cell]:
    """Return the cells that have no record, or one made with other settings.

    ``retry`` takes those again that failed, ran out of time, or lacked something.
    """
    return [cell for cell in dict.fromkeys(cells) if not _is_settled(cell, results, retry=retry)]


def _is_settled(cell: Cell, results: Path, *, retry: bool) -> bool:
    record = read_record(cell.path(results))
    if record is None:
        return False
    if not record.is_done:
        return not retry
    # A user's file may have changed; the data sets of the benchmark are checked when read.
    if is_file_name(cell.dataset):
        digest = load_data(cell.dataset, None).digest
        if record.content["data_sha256"] != digest:
            return False
    return is_current(record)


def run_cells(
    cells: Sequence[Cell],
    results: Path,
    place: RunPlace,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    told: Told | None = None,
) -> int:
    """Run cells and write their records; return how many did not end well.

    Parameters
    ----------
    cells
        What to run, in this order as far as data sets allow: two runs that begin at once on the
        same texts would both encode them.
    results
        The folder of the records.
    place
        Data, cache and threads of each run.
    jobs
        How many run at a time.
    time_limit
        Seconds after which a run is ended and recorded as such.
    told
        Called with each cell and its record.
    """
    waiting, n_bad = list(cells), 0
    context = _context()
    with _stopping() as running:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = _take_next(waiting, {job.cell.dataset for job in running})
                process = context.Process(
                    target=_work, args=(cell, cell.path(results), place), name=str(cell)
                )
                process.start()
                running.append(_Job(cell, process, time.monotonic()))
            for job in _ended(running, time_limit):
                record = _settle(job, results)
                n_bad += not record.is_done
                if told is not None:
                    told(job.cell, record)
            time.sleep(_POLL)
    return n_bad


def _take_next(waiting: list[Cell], busy: Collection[str]) -> Cell:
    """Take the first cell whose data set no run is busy with, or else the first."""
    free = (place for place, cell in enumerate(waiting) if cell.dataset not in busy)
    return waiting.pop(next(free, 0))


def _context() -> SpawnContext | ForkServerContext:
    """Return what starts processes.

    A fork of a server that has imported everything begins at once, and measures its own memory.
    """
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["caot.bench.running"])
    return context


def _work(cell: Cell, path: Path, place: RunPlace) -> None:
    os.environ["CAOT_CACHE"] = str(place.cache)  # embeddings and lower layers are shared
    torch.set_num_threads(place.n_threads)
    write_record(path, run_cell(cell, place))


@contextmanager
def _stopping() -> Iterator[list[_Job]]:
    """Yield a list of jobs; those still in it when the block ends, by whatever, are ended."""
    running: list[_Job] = []
    try:
        yield running
    finally:
        for job in running:
            job.process.kill()
        for job in running:
            job.process.join()


def _ended(running: list[_Job], time_limit: float | None) -> list[_Job]:
    """Take the jobs from the list that have ended, or have had their time."""
    done = []
    for job in list(running):
        had_its_time = time_limit is not None and time.monotonic() - job.started > time_limit
        job.is_late = had_its_time and job.process.is_alive()
        if job.is_late:
            job.process.kill()
        if job.is_late or not job.process.is_alive():
            job.process.join()
            running.remove(job)
            done.append(job)
    return done


def _settle(job: _Job, results: Path) -> CellRecord:
    """Return the record that a job has written, or write one that tells what became of it."""
    path = job.cell.path(results)
    if job.process.exitcode == 0:
        record = read_record(path)
        if record is not None:
            return record
    seconds = time.monotonic() - job.started
    content: dict[str, Any] = {
        "format": FORMAT,
        "cell": job.cell.as_dict(),
        "status": CellStatus.TIMEOUT if job.is_late else CellStatus.FAILED,
        "error": f"ended after {seconds:.0f} seconds with exit code {job.process.exitcode}",
        "seconds": round(seconds, 3),
    }
    write_record(path, content)
    return CellRecord(job.cell, CellStatus(content["status"]), content)


def check_cells(cells: Iterable[Cell]) -> None:
    """Raise before anything runs if a cell names what does not exist."""
    for name in {cell.dataset for cell in cells}:
        if is_file_name(name):
            load_data(name)
        else:
            find_spec(name)
    for cell in cells:
        cell_hash(cell, 2)
