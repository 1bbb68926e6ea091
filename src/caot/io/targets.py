"""Where tables go: files that appear whole or not at all, pipes, stdout."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from caot.files import atomic_file
from caot.io.formats import is_gzip_path
from caot.io.streams import STANDARD


class ByteStream(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> int:
        """Append the bytes."""

    def flush(self) -> None:
        """Send on what was kept back."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file, or stdout when there is no path."""

    path: Path | None

    @classmethod
    def of(cls, target: str | Path) -> Target:
        """Return the target that a user named; ``-`` is stdout. A link stands for its file."""
        return cls(None if str(target) == STANDARD else Path(target).resolve())

    @property
    def name(self) -> str:
        """The target in messages."""
        return "stdout" if self.path is None else str(self.path)

    @property
    def is_file(self) -> bool:
        """Whether the target is, or will be, a regular file, which alone can be replaced."""
        return self.path is not None and (self.path.is_file() or not self.path.exists())


@contextmanager
def target_stream(target: Target) -> Iterator[ByteStream]:
    """Open a target for bytes, gzipped if its name says so."""
    if not target.is_file:
        with _direct(target) as stream:
            yield stream
        return
    with target_path(target) as path, path.open("wb") as file:
        if target.path is not None and is_gzip_path(target.path):
            # Without name and time, the same table gives the same bytes.
            with gzip.GzipFile("", "wb", fileobj=file, compresslevel=6, mtime=0) as zipped:
                yield zipped
        else:
            yield file


@contextmanager
def target_path(target: Target) -> Iterator[Path]:
    """Give a file to write, which becomes the target when the block ends well."""
    if target.path is not None and target.is_file:
        with atomic_file(target.path) as temporary:
            _give_usual_permissions(temporary, target.path)
            yield temporary
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        yield path
        with path.open("rb") as written, _direct(target) as stream:
            shutil.copyfileobj(written, stream)


@contextmanager
def _direct(target: Target) -> Iterator[ByteStream]:
    if target.path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with target.path.open("wb") as stream:
            yield stream


def _give_usual_permissions(temporary: Path, path: Path) -> None:
    """Make a private temporary file one with the old file's rights, or with any new file's."""
    temporary.unlink()
    temporary.touch()
    if path.exists():
        shutil.copymode(path, temporary)
