"""Tables to files and stdout, whole or in chunks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import pandas as pd

from caot.io.errors import TableError, writing_failed
from caot.io.formats import TableFormat, writable_format
from caot.io.parquet import ParquetSink
from caot.io.sinks import DelimitedSink, JsonlSink
from caot.io.targets import Target, target_path, target_stream

logger = logging.getLogger(__name__)


class _Sink(Protocol):
    def write(self, frame: pd.DataFrame) -> bool: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


class TableWriter:
    """Writes a table chunk by chunk, as a context manager.

    A file appears when the block ends well, and not at all when it fails; an existing one is
    replaced. Rows go to stdout as they come, but for Parquet, which goes there at the end.

    In CSV and TSV, cells that a spreadsheet would run as formulas get an apostrophe before them, in
    the header too, unless ``raw``: those that begin with ``=``, ``+``, ``-``, ``@``, tab or a line
    end and are not plain numbers. Lone surrogates become U+FFFD in CSV, TSV and Parquet, with a
    warning in the log. JSONL and Parquet keep all values as they are.

    Parameters
    ----------
    target : str or Path
        The file, ``.gz`` for gzip, or ``-`` for stdout.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        By default the extension's; CSV for stdout.
    raw : bool
        Whether cells of CSV and TSV that look like formulas stay as they are.

    Raises
    ------
    TableError
        If the format cannot be written, the disk is full or the file may not be written. A closed
        pipe raises BrokenPipeError, as is the custom.
    """

    def __init__(
        self,
        target: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        raw: bool = False,
    ) -> None:
        self._target = Target.of(target)
        self._format = writable_format(self._target.path, format)
        self._raw = raw
        self._stack = ExitStack()
        self._sink: _Sink | None = None
        self._told = False

    def __enter__(self) -> Self:
        with _failures(self._target.name):
            self._sink = self._opened()
        return self

    def write(self, frame: pd.DataFrame) -> None:
        """Append the rows of a frame; its index is left out."""
        if self._sink is None:
            msg = "the table is not open: use the writer in a with block"
            raise ValueError(msg)
        with _failures(self._target.name):
            replaced = self._sink.write(frame)
        if replaced and not self._told:
            self._told = True
            logger.warning(
                "%s: lone surrogates, which are no text, were replaced by U+FFFD; JSONL keeps them",
                self._target.name,
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sink, self._sink = self._sink, None
        if sink is None:
            return
        if kind is not None:
            sink.abandon()
            with suppress(OSError):  # a full disk fails again as its file is closed
                self._stack.__exit__(kind, error, trace)
            return
        with _failures(self._target.name), self._stack:
            sink.close()

    def _opened(self) -> _Sink:
        name = self._target.name
        if self._target.path is not None and self._target.path.is_dir():
            raise IsADirectoryError
        if self._format is TableFormat.PARQUET:
            return ParquetSink(self._stack.enter_context(target_path(self._target)), name)
        stream = self._stack.enter_context(target_stream(self._target))
        if self._format is TableFormat.JSONL:
            return JsonlSink(stream)
        delimiter = "\t" if self._format is TableFormat.TSV else ","
        return DelimitedSink(stream, name, delimiter=delimiter, raw=self._raw)


def write_table(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    raw: bool = False,
) -> None:
    """Write a frame to a file, or to stdout for ``-``; see `TableWriter`."""
    with TableWriter(path, format=format, raw=raw) as writer:
        writer.write(frame)


@contextmanager
def _failures(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise writing_failed(name, error) from error
    except RecursionError as error:
        msg = f"{name} cannot be written, its values are nested too deeply: leave that column out"
        raise TableError(msg) from error
