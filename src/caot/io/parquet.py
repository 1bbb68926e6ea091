"""Parquet in and out, a batch of rows at a time."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from caot.io.arrow import ArrowTable, arrow_frame, arrow_table, json_array
from caot.io.errors import TableError, reading_failed
from caot.io.streams import Bytes

logger = logging.getLogger(__name__)

Schema: TypeAlias = Any


def parquet_frames(
    source: Bytes, path: Path | None, chunk_rows: int | None
) -> Iterator[pd.DataFrame]:
    """Yield frames of at most ``chunk_rows`` rows; all rows at once for None.

    Without a ``path``, as from a pipe, the bytes go to a temporary file first: Parquet is read
    from its end.
    """
    with _failures(source.name), _seekable(source, path) as file, pq.ParquetFile(file) as parquet:
        if chunk_rows is None:
            yield _checked_frame(parquet.read())
            return
        for batch in parquet.iter_batches(batch_size=chunk_rows):
            yield _checked_frame(pa.Table.from_batches([batch]))


def _checked_frame(table: ArrowTable) -> pd.DataFrame:
    table.validate(full=True)  # bytes that are not UTF-8 would fail much later otherwise
    return arrow_frame(table)


@contextmanager
def _seekable(source: Bytes, path: Path | None) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() if path is None else path.open("rb") as file:
        if path is None:
            while block := source.read():
                file.write(block)
            file.seek(0)
        yield file


@contextmanager
def _failures(name: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise _corrupt(name, error) from error
    except OSError as error:
        raise (reading_failed(name, error) if error.errno else _corrupt(name, error)) from error


def _corrupt(name: str, error: Exception) -> TableError:
    reason = str(error).strip().split("\n")[0].rstrip(".")
    return TableError(f"{name} is not Parquet, or corrupt ({reason}): fetch or make it again")


class ParquetSink:
    """Writes frames to one Parquet file, each a row group.

    A frame that brings new columns or wider types makes the rows written before fit it. Columns
    whose values share no type become JSON texts.

    Parameters
    ----------
    path : Path
        The file; it is whole after ``close``.
    name : str
        The table in messages.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._part = path
        self._as_json: frozenset[str] = frozenset()
        self._schema: Schema = None
        self._writer: Any = None

    def write(self, frame: pd.DataFrame) -> bool:
        """Append the rows; tell whether lone surrogates were replaced."""
        try:
            return self._write(frame)
        except pa.ArrowException as error:
            msg = f"{self._name} cannot be Parquet ({error}): write JSONL instead"
            raise TableError(msg) from error

    def close(self) -> None:
        """Finish the file."""
        if self._writer is None:
            self._start(self._path, pa.schema([]))
        self._writer.close()
        if self._part != self._path:
            self._part.replace(self._path)

    def abandon(self) -> None:
        """Let go of the file, after a failure."""
        with suppress(OSError, pa.ArrowException):
            if self._writer is not None:
                self._writer.close()
        for part in self._other_parts():
            part.unlink(missing_ok=True)

    def _write(self, frame: pd.DataFrame) -> bool:
        converted = arrow_table(frame, self._as_json)
        if self._writer is None:
            self._tell_json(converted.as_json)
            self._as_json = converted.as_json
            self._start(self._path, converted.table.schema)
        clashing = _clashing(self._schema, converted.table.schema)
        if clashing:
            converted = arrow_table(frame, converted.as_json | clashing)
        new_json = converted.as_json - self._as_json
        schema = _merged(self._schema, converted.table.schema, converted.as_json)
        if new_json or schema != self._schema:
            self._tell_json(new_json)
            self._rewrite(schema, new_json)
            self._as_json = converted.as_json
        self._writer.write_table(_fitted(converted.table, self._schema))
        return converted.replaced

    def _start(self, part: Path, schema: Schema) -> None:
        self._part, self._schema = part, schema
        self._writer = pq.ParquetWriter(str(part), schema)

    def _rewrite(self, schema: Schema, new_json: frozenset[str]) -> None:
        """Write the rows so far again, under a wider schema."""
        self._writer.close()
        before = self._part
        self._start(next(part for part in self._other_parts() if part != before), schema)
        with pq.ParquetFile(before) as parquet:
            for batch in parquet.iter_batches():
                table = _with_json(pa.Table.from_batches([batch]), new_json)
                self._writer.write_table(_fitted(table, schema))
        before.unlink()

    def _other_parts(self) -> list[Path]:
        return [self._path.with_name(f"{self._path.name}.{end}") for end in ("a", "b")]

    def _tell_json(self, columns: frozenset[str]) -> None:
        if columns:
            names = ", ".join(sorted(columns))
            logger.warning(
                "%s: the values of %s have no type in common, so they are written as JSON texts",
                self._name,
                names,
            )


def _clashing(before: Schema, now: Schema) -> frozenset[str]:
    """Return the columns whose types before and now cannot be one."""
    clashing = set()
    for field in now:
        if field.name in before.names:
            try:
                _unified(pa.schema([before.field(field.name)]), pa.schema([field]))
            except pa.ArrowException:
                clashing.add(field.name)
    return frozenset(clashing)


def _merged(before: Schema, now: Schema, as_json: frozenset[str]) -> Schema:
    texts = [
        pa.schema(
            [pa.field(each.name, pa.string()) if each.name in as_json else each for each in schema]
        )
        for schema in (before, now)
    ]
    return _unified(*texts)


def _unified(before: Schema, now: Schema) -> Schema:
    return pa.unify_schemas([before, now], promote_options="permissive")


def _with_json(table: ArrowTable, columns: frozenset[str]) -> ArrowTable:
    for name in columns.intersection(table.column_names):
        place = table.column_names.index(name)
        table = table.set_column(place, name, json_array(table[name].to_pylist()))
    return table


def _fitted(table: ArrowTable, schema: Schema) -> ArrowTable:
    """Return a table with a wider schema, nulls in the columns that it lacks."""
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        if column.type == field.type:
            columns.append(column)
        elif column.type.num_fields:  # Arrow cannot cast all nested types
            columns.append(pa.chunked_array([pa.array(column.to_pylist(), field.type)]))
        else:
            columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)
