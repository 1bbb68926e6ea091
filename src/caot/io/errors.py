"""What goes wrong with a user's table, in one sentence with the way out."""

from __future__ import annotations

import errno

from caot.files import NotWritableError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class TableError(ValueError):
    """A table cannot be read, understood or written; the message says what to do about it."""


def reading_failed(name: str, error: OSError) -> TableError:
    """Return the error for a file that the system does not let us read."""
    if isinstance(error, FileNotFoundError):
        return TableError(f"there is no file {name}: check the path, or use - to read from stdin")
    if isinstance(error, IsADirectoryError):
        return TableError(f"{name} is a folder: name a file in it")
    if error.errno in _FORBIDDEN:
        return TableError(f"{name} may not be read: check its permissions")
    return TableError(f"{name} cannot be read ({_reason(error)}): check the disk, or copy the file")


def writing_failed(name: str, error: OSError) -> TableError:
    """Return the error for a file that the system does not let us write."""
    if isinstance(error, NotWritableError) and isinstance(error.__cause__, OSError):
        return writing_failed(name, error.__cause__)  # of which a table has more to say
    if error.errno in _FULL:
        return TableError(
            f"the disk is full, {name} was not written: free space, or write elsewhere"
        )
    if error.errno in _FORBIDDEN:
        return TableError(f"{name} may not be written: check the permissions, or write elsewhere")
    if isinstance(error, IsADirectoryError):
        return TableError(f"{name} is a folder: name a file in it")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return TableError(
            f"{name} cannot be written, a file stands where its folder should be: "
            "choose another path"
        )
    return TableError(f"{name} cannot be written ({_reason(error)}): choose another path")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()
