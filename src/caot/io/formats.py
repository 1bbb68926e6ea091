"""The formats of tables, and which of them a file has."""

from __future__ import annotations

import csv
import io
import re
from enum import StrEnum
from itertools import islice
from pathlib import Path

from caot.io.errors import TableError
from caot.io.names import TEXT_NAMES, plain_name

GZIP_EXTENSION = ".gz"
_PARQUET_MAGIC = b"PAR1"
_GUESS_ROWS = 20
_JSON_ARRAY = re.compile(r"\[\s*\{")


class TableFormat(StrEnum):
    """How a table is laid out in bytes.

    ``TSV_PLAIN`` is TSV in which a quote is a character like any other, and ``TXT`` one text a
    line; both are read, never written.
    """

    CSV = "csv"
    TSV = "tsv"
    TSV_PLAIN = "tsv-plain"
    JSONL = "jsonl"
    PARQUET = "parquet"
    TXT = "txt"

    @property
    def delimited(self) -> bool:
        """Whether rows are lines of cells, under a header."""
        return self in {TableFormat.CSV, TableFormat.TSV, TableFormat.TSV_PLAIN}

    @property
    def writable(self) -> bool:
        """Whether tables can be written in this format."""
        return self not in {TableFormat.TSV_PLAIN, TableFormat.TXT}


_EXTENSIONS = {
    ".csv": TableFormat.CSV,
    ".tsv": TableFormat.TSV,
    ".tab": TableFormat.TSV,
    ".jsonl": TableFormat.JSONL,
    ".ndjson": TableFormat.JSONL,
    ".parquet": TableFormat.PARQUET,
    ".pq": TableFormat.PARQUET,
    ".txt": TableFormat.TXT,
}
_SAVE_AS_CSV = "save the table as CSV"
_INSTEAD = {
    ".json": "write JSONL, one object a line, and name it .jsonl; or save the table as CSV",
    ".xlsx": _SAVE_AS_CSV,
    ".xls": _SAVE_AS_CSV,
    ".ods": _SAVE_AS_CSV,
}


def named_format(name: str) -> TableFormat:
    """Return the format that a user named."""
    try:
        return TableFormat(name.lower())
    except ValueError:
        msg = f"{name!r} is not a format: use {_listed(list(TableFormat))}"
        raise TableError(msg) from None


def path_format(path: Path) -> TableFormat:
    """Return the format that a path's extension names, gzip's left out."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [GZIP_EXTENSION]
    extension = "".join(suffixes[:-1][-1:] if zipped else suffixes[-1:])
    found = _EXTENSIONS.get(extension)
    if found is None:
        what = f"the extension {extension}" if extension else "no extension"
        usual = f"use one of {', '.join(_EXTENSIONS)}, or name the format with --format"
        way_out = _INSTEAD.get(extension, usual)
        msg = f"{path} has {what}, which names no format: {way_out}"
        raise TableError(msg)
    if zipped and found is TableFormat.PARQUET:
        msg = f"{path} is gzipped Parquet, which is compressed already: use {path.stem}"
        raise TableError(msg)
    return found


def writable_format(path: Path | None, name: str | None) -> TableFormat:
    """Return the format to write: the named one, the path's, or CSV for stdout (no path)."""
    if name is not None:
        chosen = named_format(name)
    else:
        chosen = TableFormat.CSV if path is None else path_format(path)
    if not chosen.writable:
        allowed = _listed([each for each in TableFormat if each.writable])
        msg = f"a table cannot be written as {chosen}: use {allowed}"
        raise TableError(msg)
    return chosen


def is_gzip_path(path: Path) -> bool:
    """Tell whether a path is named as gzip."""
    return path.suffix.lower() == GZIP_EXTENSION


def guess_format(head: bytes, encoding: str) -> TableFormat:
    """Guess a stream's format from its first bytes.

    Rows of an even number of cells under a header of distinct names are CSV or TSV, a line that
    begins an object is JSONL, and everything else is plain text.
    """
    if head.startswith(_PARQUET_MAGIC):
        return TableFormat.PARQUET
    text = head.decode(encoding, "replace").removeprefix("\ufeff").lstrip("\r\n")
    if text.startswith("{") or _JSON_ARRAY.match(text):  # an array fails, with what to do
        return TableFormat.JSONL
    if _is_tabular(text, "\t"):
        return TableFormat.TSV
    if any(_is_tabular(text, delimiter) for delimiter in ",;"):
        return TableFormat.CSV
    header = text.split("\n", 1)[0].strip('\r"')
    return TableFormat.CSV if plain_name(header) in TEXT_NAMES else TableFormat.TXT


def _is_tabular(text: str, delimiter: str) -> bool:
    whole = text[: text.rfind("\n") + 1] or text  # the last line may be cut
    try:
        parsed = csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter)
        rows = [row for row in islice(parsed, _GUESS_ROWS) if row]
    except csv.Error:
        return False
    widths = {len(row) for row in rows}
    if len(rows) < 2 or len(widths) != 1 or max(widths) < 2:
        return False
    header = rows[0]
    return len(set(header)) == len(header) and all(cell == cell.strip() for cell in header)


def _listed(formats: list[TableFormat]) -> str:
    return f"{', '.join(formats[:-1])} or {formats[-1]}"
