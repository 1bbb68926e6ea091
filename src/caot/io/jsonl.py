"""JSON lines to frames, and values to JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from itertools import islice

import numpy as np
import pandas as pd

from caot.io.errors import TableError
from caot.io.frames import column_index

# A key that a line does not have, as against null, which is None.
ABSENT = pd.NA


def jsonl_frames(
    lines: Iterable[str], name: str, chunk_rows: int | None, columns: Iterable[str] = ()
) -> Iterator[pd.DataFrame]:
    """Yield frames of at most ``chunk_rows`` rows; all rows at once for None.

    The columns are those given, then the keys in their order of appearance; values stay what they
    are in Python, nested ones too. A key that a line lacks is ``pandas.NA``.
    """
    records = _records(lines, name)
    names = dict.fromkeys(columns)
    while chunk := list(islice(records, chunk_rows)):
        for record in chunk:
            names.update(dict.fromkeys(record))
        cells = {
            place: [record.get(column, ABSENT) for record in chunk]
            for place, column in enumerate(names)
        }
        frame = pd.DataFrame(cells, index=range(len(chunk)), dtype=object)
        yield frame.set_axis(column_index(names), axis=1)


def jsonl_columns(lines: Iterable[str], name: str) -> list[str]:
    """Return all keys of a file, each once."""
    names: dict[str, None] = {}
    for record in _records(lines, name):
        names.update(dict.fromkeys(record))
    return list(names)


def _records(lines: Iterable[str], name: str) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=lambda _: None)
        except json.JSONDecodeError as error:
            if line.lstrip().startswith("["):
                raise _no_array(name, number) from error
            msg = (
                f"{name}, line {number}: not JSON ({error.msg}, character {error.pos + 1}): mend "
                "the line, or name the file's format with --format"
            )
            raise TableError(msg) from error
        except (ValueError, RecursionError) as error:
            msg = f"{name}, line {number}: JSON that is too large to read ({error}): mend the line"
            raise TableError(msg) from error
        if isinstance(record, list):
            raise _no_array(name, number)
        if not isinstance(record, dict):
            msg = (
                f"{name}, line {number}: a {type(record).__name__} where an object should be: "
                'write each row as one line such as {"text": "..."}'
            )
            raise TableError(msg)
        yield record


def _no_array(name: str, line: int) -> TableError:
    return TableError(
        f"{name}, line {line}: a JSON array where an object should be: write one object a line, "
        'such as {"text": "..."}, or save the table as CSV'
    )


def to_json(value: object, *, escaped: bool = False) -> str:
    """Return a value as JSON, in ASCII if ``escaped``; NaN and infinities are null."""
    try:
        return json.dumps(value, ensure_ascii=escaped, allow_nan=False, default=plain)
    except (ValueError, TypeError):  # what JSON lacks: infinities, keys that are no texts
        return json.dumps(_finite(value), ensure_ascii=escaped, default=plain)


def plain(value: object) -> object:
    """Return what JSON can hold of a value that it does not know."""
    if isinstance(value, bytes):
        return bytes_text(value)
    if isinstance(value, date | time):  # datetime and pandas' Timestamp are dates
        return value.isoformat()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if value is pd.NA:
        return None
    return str(value)


def bytes_text(value: bytes) -> str:
    """Return bytes as the UTF-8 text that they are, or else in base 64."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, np.generic | np.ndarray):
        return _finite(value.tolist())
    return value
