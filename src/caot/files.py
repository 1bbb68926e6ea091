"""Files that appear whole or not at all, even when the power fails."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_UNWRITABLE = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS)


class NotWritableError(OSError):
    """A place that cannot be written to; the message says what to do."""


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn errors of the block, which prepares to write to ``path``, into one that says so."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        reason = str(error.strerror).lower()
        msg = f"{path} cannot be written ({reason}): choose another place"
        raise NotWritableError(msg) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path``, which takes its place when the block ends well."""
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, have reached the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """Return ``$CAOT_CACHE``, else ``$XDG_CACHE_HOME/caot``, else ``~/.cache/caot``."""
    if named := os.environ.get("CAOT_CACHE"):
        return Path(named).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "caot"
    return Path.home() / ".cache" / "caot"
