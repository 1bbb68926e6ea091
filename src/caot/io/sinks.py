"""Frames to CSV, TSV and JSONL, appended to a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from caot.io.cells import cell_text, is_missing, python_values, quoted
from caot.io.errors import TableError
from caot.io.frames import column_index
from caot.io.jsonl import ABSENT, to_json
from caot.io.names import unique_names
from caot.io.targets import ByteStream
from caot.texts import whole_text

EMPTY_ROW = '""'  # of a table of one column: an empty line would be no row
_SLICE_ROWS = 10_000  # what is turned into text at a time


class DelimitedSink:
    """Writes frames as CSV or TSV; the first frame's columns are the header.

    Parameters
    ----------
    stream : binary file
        Where the table goes, in UTF-8.
    name : str
        The table in messages.
    delimiter : str
        Between the cells.
    raw : bool
        Whether cells that a spreadsheet would run as formulas stay as they are.
    """

    def __init__(self, stream: ByteStream, name: str, *, delimiter: str, raw: bool) -> None:
        self._stream = stream
        self._name = name
        self._delimiter = delimiter
        self._raw = raw
        self._columns: pd.Index | None = None

    def write(self, frame: pd.DataFrame) -> bool:
        """Append the rows; tell whether lone surrogates were replaced."""
        named = frame.set_axis(column_index(map(str, frame.columns)), axis=1)
        replaced = False
        if self._columns is None:
            self._columns = named.columns
            replaced = self._append([[cell_text(name, raw=self._raw) for name in self._columns]])
        new = [name for name in named.columns if name not in self._columns]
        if new:
            msg = (
                f"{self._name}: rows further on bring the new columns {', '.join(new)}, for which "
                "the header written has no place: write JSONL, or read from a file, not a pipe"
            )
            raise TableError(msg)
        for part in _slices(named.reindex(columns=self._columns)):
            cells = [self._cells(part[name]) for name in self._columns]
            replaced = self._append(zip(*cells, strict=True)) or replaced
        self._stream.flush()
        return replaced

    def close(self) -> None:
        """Finish; the stream stays open."""

    def abandon(self) -> None:
        """Let go, after a failure; the stream stays open."""

    def _cells(self, column: pd.Series) -> list[str]:
        return [cell_text(value, raw=self._raw) for value in python_values(column)]

    def _append(self, rows: Iterable[Sequence[str]]) -> bool:
        lines = (self._delimiter.join(map(quoted, row)) for row in rows)
        text = "".join(f"{line or EMPTY_ROW}\n" for line in lines)
        whole = whole_text(text)
        self._stream.write(whole.encode())
        return whole != text


class JsonlSink:
    """Writes frames as JSON lines, one object a row.

    Parameters
    ----------
    stream : binary file
        Where the table goes, in UTF-8; lone surrogates are escaped.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def write(self, frame: pd.DataFrame) -> bool:
        """Append the rows; nothing is ever replaced."""
        names = unique_names(map(str, frame.columns))
        for part in _slices(frame):
            columns = [_json_values(part.iloc[:, place]) for place in range(len(names))]
            for row in zip(*columns, strict=True):
                record = {
                    name: value
                    for name, value in zip(names, row, strict=True)
                    if value is not ABSENT
                }
                self._stream.write(_json_bytes(record) + b"\n")
        self._stream.flush()
        return False

    def close(self) -> None:
        """Finish; the stream stays open."""

    def abandon(self) -> None:
        """Let go, after a failure; the stream stays open."""


def _json_values(column: pd.Series) -> list[object]:
    """Return the values, None for missing ones but for keys that an object never had."""
    listed = python_values(column)
    keep_absent = column.dtype == object
    return [
        None if is_missing(value) and not (keep_absent and value is ABSENT) else value
        for value in listed
    ]


def _json_bytes(record: dict[str, object]) -> bytes:
    try:
        return to_json(record).encode()
    except UnicodeEncodeError:
        return to_json(record, escaped=True).encode()


def _slices(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for start in range(0, len(frame), _SLICE_ROWS):
        yield frame.iloc[start : start + _SLICE_ROWS]
