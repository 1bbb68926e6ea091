"""One process at a time writes to a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from caot.files import writable
from caot.runs.errors import RunError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a folder, which is made if it is not there.

    Afterwards the lock's file is gone, and so is the folder if nothing was written to it. The lock
    of a process that died holds nobody up.
    """
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with _held(folder):
            yield
    finally:
        with suppress(OSError):  # it holds something
            folder.rmdir()


def require_idle(folder: Path) -> None:
    """Raise if a process is writing to a folder now."""
    if (folder / LOCK).exists():
        with _held(folder):
            return


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        with writable(folder):
            lock.acquire()
    except Timeout:
        msg = f"another process is writing to {folder}: wait for it, or choose another folder"
        raise RunError(msg) from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes it by itself
            (folder / LOCK).unlink()
        lock.release()
