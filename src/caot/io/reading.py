"""Tables with texts from files and stdin, whole or in chunks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd

from caot.io.columns import joined_texts, require_texts, text_columns, warn_of_header
from caot.io.decoding import check_encoding, decoded_lines
from caot.io.delimited import delimited_frames
from caot.io.errors import TableError
from caot.io.formats import TableFormat, guess_format, named_format, path_format
from caot.io.jsonl import jsonl_columns, jsonl_frames
from caot.io.parquet import parquet_frames
from caot.io.plain_text import text_frames
from caot.io.streams import Bytes, Source, open_bytes

logger = logging.getLogger(__name__)

_ENOUGH_TEXTS = 100  # fewer may be numbers or empty by chance, which a stream does not mind


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A table of n rows and the text of each.

    Attributes
    ----------
    frame : DataFrame
        All columns as they were read: strings from CSV, TSV and plain text, Python's values from
        JSONL, Arrow's types from Parquet. The index counts rows from 0.
    texts : tuple of str, (n,)
        The texts, several columns joined with one space; missing ones are empty.
    text_columns : tuple of str
        Where the texts come from.
    id_column : str or None
        The column of ids, if one was named; ids may repeat.
    source : str
        What was read, for messages.
    """

    frame: pd.DataFrame
    texts: tuple[str, ...]
    text_columns: tuple[str, ...]
    id_column: str | None
    source: str

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def ids(self) -> pd.Series | None:
        """The ids, (n,), if a column of them was named."""
        return None if self.id_column is None else self.frame[self.id_column]


def read_table(
    source: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    id_column: str | None = None,
    format: str | None = None,  # noqa: A002
    encoding: str = "utf-8",
    header: bool = True,
) -> TextTable:
    """Read a whole table.

    Parameters
    ----------
    source : str or Path
        A file, gzipped or not, or ``-`` for stdin.
    text : str or sequence of str, optional
        The column of the texts; several are joined with one space. By default a column with a name
        such as text, title or subject is taken, else the one with the longest and most distinct
        texts; the log says which.
    id_column : str, optional
        The column of the ids.
    format : {"csv", "tsv", "tsv-plain", "jsonl", "parquet", "txt"}, optional
        By default the extension's; stdin's is guessed. ``tsv-plain`` is TSV without quoting.
    encoding : str
        Of CSV, TSV, JSONL and plain text.
    header : bool
        Whether the first line of CSV and TSV names the columns; if not, they are called column_1,
        column_2 and so on.

    Raises
    ------
    TableError
        If the table cannot be read, has no rows or no such column.
    """
    place = Source.of(source)
    (frame,) = _frames(place, format, encoding, None, header=header)
    name = place.name
    columns = text_columns(frame, text, id_column, name)
    if header and _may_have_header(place, format):
        warn_of_header(frame, columns, name)
    texts = joined_texts(frame, columns)
    require_texts(texts, frame, columns, name)
    return TextTable(frame, texts, columns, id_column, name)


def iter_tables(
    source: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    id_column: str | None = None,
    format: str | None = None,  # noqa: A002
    encoding: str = "utf-8",
    header: bool = True,
    preferred: Sequence[str] = (),
    chunk_rows: int = 10_000,
) -> Iterator[TextTable]:
    """Read a table of any size in chunks of at most ``chunk_rows`` rows, in order.

    The parameters are those of `read_table`; where ``text`` names no column, those of
    ``preferred`` are taken if all of them are there. The first chunk is read at once, so that most
    errors come before any work is done; it also decides the text column. The columns of a JSONL
    file are those of all its lines; those of JSONL from a pipe may grow from chunk to chunk.

    Raises
    ------
    TableError
        As `read_table`; a malformed row further on raises when its chunk is due.
    """
    if chunk_rows < 1:
        msg = f"chunk_rows is {chunk_rows}: use at least 1"
        raise ValueError(msg)
    place = Source.of(source)
    frames = _frames(place, format, encoding, chunk_rows, header=header)
    first = next(frames)
    name = place.name
    if text is None and preferred and set(preferred) <= set(map(str, first.columns)):
        text = preferred
    columns = text_columns(first, text, id_column, name)
    if header and _may_have_header(place, format):
        warn_of_header(first, columns, name)
    texts = joined_texts(first, columns)
    if sum(map(bool, texts)) >= _ENOUGH_TEXTS:
        require_texts(texts, first, columns, name)
    return (
        TextTable(frame, joined_texts(frame, columns), columns, id_column, name)
        for frame in chain([first], frames)
    )


def _may_have_header(source: Source, named: str | None) -> bool:
    kind = _known_format(source, named)
    return kind is None or kind.delimited


def _frames(
    source: Source, named: str | None, encoding: str, chunk_rows: int | None, *, header: bool
) -> Iterator[pd.DataFrame]:
    """Yield at least one frame, none of them empty; exactly one for no ``chunk_rows``."""
    check_encoding(encoding)
    kind = _known_format(source, named)
    with open_bytes(source) as opened:
        if not opened.head.strip(b"\r\n"):
            msg = f"{source.name} is empty: there is nothing to cluster, check the file"
            raise TableError(msg)
        if kind is None:
            kind = guess_format(opened.head, encoding)
            logger.info("%s looks like %s; name another format with --format", source.name, kind)
        if not header and kind in {TableFormat.JSONL, TableFormat.PARQUET}:
            msg = f"{source.name} is {kind}, which has no header line: leave --no-header out"
            raise TableError(msg)
        n_rows = 0
        for frame in _parsed(opened, source, kind, encoding, chunk_rows, header=header):
            n_rows += len(frame)
            if len(frame):
                yield frame
    if n_rows == 0:
        msg = f"{source.name} has no rows, at most a header: check the file"
        raise TableError(msg)


def _known_format(source: Source, named: str | None) -> TableFormat | None:
    """Return the format by name or extension, None if it is to be guessed from the bytes."""
    if named is not None:
        return named_format(named)
    path = source.path
    if path is None or not path.exists() or path.is_dir():
        return None  # stdin, or a path that fails as it is opened
    is_unnamed_pipe = not path.is_file() and not path.suffix
    return None if is_unnamed_pipe else path_format(path)


def _parsed(
    opened: Bytes,
    source: Source,
    kind: TableFormat,
    encoding: str,
    chunk_rows: int | None,
    *,
    header: bool,
) -> Iterator[pd.DataFrame]:
    if kind is TableFormat.PARQUET:
        return parquet_frames(opened, source.path if source.rereadable else None, chunk_rows)
    if kind is TableFormat.TXT:
        return text_frames(decoded_lines(opened, encoding), chunk_rows)
    if kind is TableFormat.JSONL:
        columns: Sequence[str] = ()
        if chunk_rows is not None and source.rereadable:
            columns = _all_columns(source, encoding)
        return jsonl_frames(decoded_lines(opened, encoding), source.name, chunk_rows, columns)
    lines = decoded_lines(opened, encoding, newline="")
    return delimited_frames(lines, kind, source.name, chunk_rows, header=header)


def _all_columns(source: Source, encoding: str) -> list[str]:
    with open_bytes(source) as opened:
        return jsonl_columns(decoded_lines(opened, encoding), source.name)
