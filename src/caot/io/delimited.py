"""CSV and TSV to frames, every cell the string that it is."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice, repeat
from typing import Protocol

import pandas as pd

from caot.io.errors import TableError
from caot.io.formats import TableFormat
from caot.io.frames import column_index
from caot.io.names import unique_names

logger = logging.getLogger(__name__)

# A quote that is never closed would swallow the rest of the file into one cell, and memory with it.
_LONGEST_CELL = 1 << 26
_OTHER_DELIMITERS = ";\t|"
_QUOTED = re.compile(r'"[^"]*"?')


class _Reader(Protocol):
    line_num: int

    def __next__(self) -> list[str]: ...


def delimited_frames(
    lines: Iterator[str],
    kind: TableFormat,
    name: str,
    chunk_rows: int | None,
    *,
    header: bool = True,
) -> Iterator[pd.DataFrame]:
    """Yield frames of at most ``chunk_rows`` rows; all rows at once for None.

    The first line that is not blank is the header; a name that it repeats is numbered. Without
    ``header`` it is a row, and the columns are column_1, column_2 and so on. Blank lines are no
    rows, but empty cells inside a table of one column.
    """
    begun = _to_header(lines)
    delimiter = _delimiter("".join(begun), name) if kind is TableFormat.CSV else "\t"
    is_plain = kind is TableFormat.TSV_PLAIN
    reader = csv.reader(
        chain(begun, lines),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if is_plain else csv.QUOTE_MINIMAL,
        strict=True,
    )
    with _long_cells():
        top = next((row for _, row in _parsed_rows(reader, kind, name) if row), None)
    if top is None:
        return
    rows = _checked_rows(reader, len(top), kind, name)
    if header:
        columns = unique_names(top)
        if columns != top:
            logger.warning("%s names columns twice: they are now %s", name, ", ".join(columns))
    else:
        columns = [f"column_{place}" for place in range(1, len(top) + 1)]
        rows = chain([top], rows)
    while True:
        with _long_cells():
            chunk = list(islice(rows, chunk_rows))
        if not chunk:
            return
        yield _frame(chunk, columns)


def _to_header(lines: Iterator[str]) -> list[str]:
    """Return the lines up to the first that is not blank, which is the last of them."""
    begun: list[str] = []
    for line in lines:
        begun.append(line)
        if line.strip("\r\n"):
            break
    return begun


def _frame(rows: list[list[str]], columns: list[str]) -> pd.DataFrame:
    cells = dict(enumerate(map(list, zip(*rows, strict=True))))
    return pd.DataFrame(cells, dtype=object).set_axis(column_index(columns), axis=1)


def _checked_rows(
    reader: _Reader, n_columns: int, kind: TableFormat, name: str
) -> Iterator[list[str]]:
    n_blank = 0
    for line, row in _parsed_rows(reader, kind, name):
        if not row or (n_columns > 1 and len(row) == 1 and not row[0].strip()):
            n_blank += 1
            continue
        if n_columns == 1:
            yield from repeat([""], n_blank)
        n_blank = 0
        if len(row) != n_columns:
            raise _wrong_width(line, len(row), n_columns, kind, name)
        yield row


def _parsed_rows(reader: _Reader, kind: TableFormat, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, each with the number of the line where it begins."""
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            advice = "double the quotes inside it and close it with one"
            if kind is TableFormat.TSV:
                advice += ", or read quotes as they are with --format tsv-plain"
            msg = f"{name}, line {line}: a quoted cell is malformed ({error}): {advice}"
            raise TableError(msg) from error
        yield line, row


def _wrong_width(
    line: int, n_cells: int, n_columns: int, kind: TableFormat, name: str
) -> TableError:
    if n_columns == 1:
        advice = "quote the cells that hold the separator, or read one text a line, --format txt"
    elif kind is TableFormat.TSV_PLAIN:
        advice = "mend the row"
    else:
        advice = "quote the cells that hold the separator"
    return TableError(
        f"{name}, line {line}: the row has {n_cells} cell(s), the header {n_columns}: {advice}"
    )


def _delimiter(header: str, name: str) -> str:
    """Return the comma, unless the header has none and has another usual separator."""
    bare = _QUOTED.sub("", header)
    found = max(_OTHER_DELIMITERS, key=bare.count)
    if "," in bare or found not in bare:
        return ","
    logger.info("%s: cells are separated by %r", name, found)
    return found


@contextmanager
def _long_cells() -> Iterator[None]:
    """Allow longer cells than the csv module does, whose limit is one for the whole process."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
