"""Frames with columns of any name, and our columns beside the user's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from caot.io.names import added_names, unique_names


def column_index(names: Iterable[str]) -> pd.Index:
    """Return names as columns, repeated ones numbered.

    The index holds Python's strings: pandas' own type of texts refuses lone surrogates, which the
    keys of JSON may have.
    """
    return pd.Index(unique_names(names), dtype=object)


def add_columns(
    frame: pd.DataFrame, new_columns: pd.DataFrame | Mapping[str, Iterable[Any]]
) -> pd.DataFrame:
    """Return a table with columns added on its right, row by row whatever their index.

    The table's own columns keep their names and values. One of ours whose name is taken gets the
    suffix ``_caot``, so ``cluster`` becomes ``cluster_caot``, and then ``cluster_caot_2``;
    `added_names` tells which name each one gets.

    Raises
    ------
    ValueError
        If a new column has another number of rows.
    """
    names = added_names(map(str, frame.columns), map(str, new_columns))
    columns = [frame.set_axis(range(frame.shape[1]), axis=1)]
    for name, values in new_columns.items():
        listed = values.array if isinstance(values, pd.Series) else list(values)
        if len(listed) != len(frame):
            msg = f"the column {name!r} has {len(listed)} rows, the table {len(frame)}"
            raise ValueError(msg)
        columns.append(pd.DataFrame({0: listed}, index=frame.index))
    together = pd.concat(columns, axis=1)
    return together.set_axis(column_index([*map(str, frame.columns), *names.values()]), axis=1)
