"""Where bytes come from: a file or stdin, unzipped as they are read."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from caot.io.errors import TableError, reading_failed
from caot.io.formats import is_gzip_path

STANDARD = "-"
BLOCK_BYTES = 1 << 18
_HEAD_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or stdin when there is no path."""

    path: Path | None

    @classmethod
    def of(cls, source: str | Path) -> Source:
        """Return the source that a user named; ``-`` is stdin."""
        return cls(None if str(source) == STANDARD else Path(source))

    @property
    def name(self) -> str:
        """The source in messages."""
        return "stdin" if self.path is None else str(self.path)

    @property
    def rereadable(self) -> bool:
        """Whether the source can be read twice: a regular file, no pipe."""
        return self.path is not None and self.path.is_file()


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes to read, with a look at the first of them."""

    name: str
    head: bytes
    stream: BinaryIO

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """Return the next bytes, none at the end."""
        return _read(self.stream, size, self.name)


@contextmanager
def open_bytes(source: Source) -> Iterator[Bytes]:
    """Open a source; gzip is known by its first bytes and unzipped."""
    if source.path is None:
        yield _unzipped(sys.stdin.buffer, source)
        return
    if source.path.is_dir():
        raise reading_failed(source.name, IsADirectoryError())
    try:
        file = source.path.open("rb")
    except OSError as error:
        raise reading_failed(source.name, error) from error
    except ValueError as error:  # a NUL in the path
        msg = f"{source.name!r} is not a path ({error}): check it"
        raise TableError(msg) from error
    with file:
        yield _unzipped(file, source)


def _unzipped(stream: BinaryIO, source: Source) -> Bytes:
    opened = _looked_at(stream, source.name)
    if opened.head.startswith(_GZIP_MAGIC):
        unzipped = gzip.GzipFile(fileobj=opened.stream, mode="rb")
        return _looked_at(io.BufferedReader(unzipped), source.name)
    if source.path is not None and is_gzip_path(source.path) and opened.head:
        msg = f"{source.name} is not gzip, though its name says so: rename it, or fetch it again"
        raise TableError(msg)
    return opened


def _looked_at(stream: BinaryIO, name: str) -> Bytes:
    head = _read(stream, _HEAD_BYTES, name)
    return Bytes(name, head, io.BufferedReader(_Rejoined(head, stream), BLOCK_BYTES))


def _read(stream: BinaryIO, size: int, name: str) -> bytes:
    try:
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        msg = f"{name} is corrupt gzip ({error}): fetch or make it again"
        raise TableError(msg) from error
    except OSError as error:
        raise reading_failed(name, error) from error


class _Rejoined(io.RawIOBase):
    """Bytes that were read ahead, then the rest of their stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        taken = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
