"""Views on disk, found again by the hash of all that they depend on."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from caot.files import cache_folder

logger = logging.getLogger("caot.augment")

_T = TypeVar("_T")
_FILE = "views.sqlite"
_TABLE = "CREATE TABLE IF NOT EXISTS views (key BLOB PRIMARY KEY, view BLOB, seal BLOB)"
_WAIT_SECONDS = 30.0  # for another process that writes to the same file


def default_cache_dir() -> Path:
    """Return the folder of cached views: `CAOT_CACHE`, or `caot` in the user's cache folder."""
    return cache_folder() / "augment"


@dataclass(frozen=True, slots=True)
class ViewCache:
    """Text → view for one scope of model, settings and seed; safe to delete at any time.

    All scopes share one SQLite file, whose transactions make writes atomic. Each row carries a
    seal over key and view, so a damaged row counts as absent. A damaged file is replaced, and a
    file that cannot be opened or written is done without: both with a warning in the log.

    Parameters
    ----------
    folder : Path
        Where the file lies; made when needed, readable by its owner alone.
    scope : str
        All that a view depends on besides its text.
    """

    folder: Path
    scope: str

    @property
    def path(self) -> Path:
        """The file of the cache."""
        return self.folder / _FILE

    def load(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the known views of `texts`."""

        def select(connection: sqlite3.Connection) -> dict[str, str]:
            found: dict[str, str] = {}
            for text in texts:
                key = self._key(text)
                row = connection.execute(
                    "SELECT view, seal FROM views WHERE key = ?", (key,)
                ).fetchone()
                if row is not None and _seal(key, row[0]) == row[1]:
                    found[text] = _decode(row[0])
            return found

        return self._on_file(select) or {}

    def store(self, views: Mapping[str, str]) -> None:
        """Keep the views of texts, in one transaction."""
        rows = []
        for text, view in views.items():
            key, value = self._key(text), _encode(view)
            rows.append((key, value, _seal(key, value)))

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO views VALUES (?, ?, ?)", rows)

        if rows:
            self._on_file(insert)

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(_encode(f"{self.scope}\0{text}"), digest_size=16).digest()

    def _on_file(self, work: Callable[[sqlite3.Connection], _T]) -> _T | None:
        for _ in range(2):
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as connection:
                    connection.execute(_TABLE)
                    return work(connection)
            except (sqlite3.OperationalError, OSError) as error:
                logger.warning("The cache of views %s is not used: %s.", self.path, error)
                return None
            except sqlite3.DatabaseError as error:
                logger.warning("The cache of views %s is damaged (%s): new.", self.path, error)
                self.path.unlink(missing_ok=True)
        return None


def _seal(key: bytes, value: object) -> bytes:
    content = value if isinstance(value, bytes) else repr(value).encode()
    return hashlib.blake2b(key + content, digest_size=8).digest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
