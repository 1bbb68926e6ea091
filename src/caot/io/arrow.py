"""Frames to Arrow's tables and back, types kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa

from caot.io.cells import is_missing, python_values
from caot.io.frames import column_index
from caot.io.jsonl import to_json
from caot.io.names import unique_names
from caot.texts import whole_text

# pyarrow has no types of its own.
ArrowTable: TypeAlias = Any
ArrowArray: TypeAlias = Any
ArrowType: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Converted:
    """A frame as an Arrow table, with what could not be kept as it was.

    Attributes
    ----------
    table
        The table, columns in the frame's order.
    as_json
        Columns of values that share no type, which are JSON texts in the table.
    replaced
        Whether lone surrogates were replaced.
    """

    table: ArrowTable
    as_json: frozenset[str]
    replaced: bool


def arrow_frame(table: ArrowTable) -> pd.DataFrame:
    """Return a table as a frame whose columns keep Arrow's types."""
    columns = {
        place: pd.Series(pd.arrays.ArrowExtensionArray(column))
        for place, column in enumerate(table.columns)
    }
    frame = pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows))
    return frame.set_axis(column_index(table.column_names), axis=1)


def arrow_table(frame: pd.DataFrame, as_json: Iterable[str] = ()) -> Converted:
    """Return a frame as a table; the columns ``as_json`` become JSON texts."""
    given = [str(name) for name in frame.columns]
    names = unique_names(map(whole_text, given))
    wanted, replaced = set(as_json), names != given
    arrays = []
    for place, name in enumerate(names):
        column = frame.iloc[:, place]
        array = None if name in wanted else _typed(column)
        if array is None and name not in wanted:
            array = _typed(_whole_column(column))
            replaced = replaced or array is not None
        if array is None:
            wanted.add(name)
            array = json_array(python_values(column))
        arrays.append(array)
    table = pa.Table.from_arrays([_chunked(array) for array in arrays], names=names)
    return Converted(table, frozenset(wanted), replaced)


def json_array(values: Iterable[object]) -> ArrowArray:
    """Return values as JSON texts, missing ones as nulls, (n,)."""
    texts = [None if is_missing(value) else whole_text(to_json(value)) for value in values]
    return pa.array(texts, type=pa.string())


def _typed(column: pd.Series) -> ArrowArray | None:
    """Return a column as an array, or None if its values have no type in common."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return column.array.__arrow_array__()
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, ValueError, OverflowError):
        return None
    return None if _has_empty_struct(array.type) else array


def _whole_column(column: pd.Series) -> pd.Series:
    return pd.Series([_whole(value) for value in python_values(column)], dtype=object)


def _whole(value: object) -> object:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return value


def _has_empty_struct(kind: ArrowType) -> bool:
    """Tell whether a type holds objects without keys, which Parquet cannot."""
    if pa.types.is_struct(kind) and kind.num_fields == 0:
        return True
    return any(_has_empty_struct(kind.field(place).type) for place in range(kind.num_fields))


def _chunked(array: ArrowArray) -> ArrowArray:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
