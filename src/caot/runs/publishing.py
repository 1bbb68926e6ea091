"""Files of a run are made beside their places and moved there when all of them are whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from caot.files import sync
from caot.runs.record import RUN_FILE


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Give an empty folder inside the run's, on the same disk, which is gone afterwards."""
    fresh = Path(tempfile.mkdtemp(dir=folder, prefix=".new-"))
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def listed(folder: Path) -> tuple[str, ...]:
    """Return the files below a folder, relative to it and sorted."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(path.relative_to(folder).as_posix() for path in files))


def publish(fresh: Path, folder: Path, replaced: Iterable[str]) -> None:
    """Move all files of ``fresh`` to their places, and remove those that an earlier run wrote.

    Where files of an earlier run go, its ``run.json`` goes first, and the new one comes last: a
    folder that has one is complete. Files that no run wrote stay where they are.
    """
    new = listed(fresh)
    gone = {*replaced} - {*new}
    if gone:
        (folder / RUN_FILE).unlink(missing_ok=True)
    for name in gone:
        old = own_file(folder, name)
        if old is not None:
            old.unlink(missing_ok=True)
            _remove_if_empty(old.parent, folder)
    for name in sorted(new, key=lambda name: name == RUN_FILE):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).replace(target)
    sync(folder)


def own_file(folder: Path, name: str) -> Path | None:
    """Return the file that a record names, None if it lies elsewhere: a record may be forged."""
    parts = PurePosixPath(name).parts
    path = folder.joinpath(*parts)
    if not parts or path.is_dir() or not path.parent.resolve().is_relative_to(folder.resolve()):
        return None
    return path


def _remove_if_empty(place: Path, folder: Path) -> None:
    while place != folder:
        with suppress(OSError):
            place.rmdir()
        if place.exists():
            return
        place = place.parent
