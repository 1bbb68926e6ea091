"""Values to texts, and to cells of CSV and TSV that are safe to open in a spreadsheet."""

from __future__ import annotations

import re
from datetime import date, time

import numpy as np
import pandas as pd

from caot.io.jsonl import bytes_text, to_json

# What a spreadsheet takes for a formula, also after control characters and with full-width signs.
_FORMULA = re.compile("[\t\r\n]|[\x00-\x1f\x7f\ufeff]*[=+\\-@＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d[\d.,]*|[.,]\d+)(e[+-]?\d+)?%?", re.ASCII | re.IGNORECASE)
# Separators of other locales' CSV are quoted too; a mark at the start would be lost in reading.
_NEEDS_QUOTES = re.compile('[",;|\t\r\n]|^\ufeff')


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none: None, NaN, NA or NaT."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def python_values(column: pd.Series) -> list[object]:
    """Return a column as Python's values, (n,); missing ones stay what they are."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return list(column.array.__arrow_array__().to_pylist())
    if column.dtype == np.float32:  # the shortest decimals: 0.9, not 0.8999999761581421
        return [float(str(value)) for value in column.to_numpy()]
    return list(column.astype(object).tolist())


def as_text(value: object) -> str:
    """Return a value as text: nothing for a missing one, JSON for a nested one."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, bytes):
        return bytes_text(value)
    if isinstance(value, dict | list | tuple | np.ndarray):
        return to_json(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)


def is_number(text: str) -> bool:
    """Tell whether a text is a plain number such as -5, +3.2, 1e-3 or 12%."""
    return _NUMBER.fullmatch(text) is not None


def harmless(cell: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe goes before what could be a formula."""
    return f"'{cell}" if _FORMULA.match(cell) and not is_number(cell) else cell


def cell_text(value: object, *, raw: bool) -> str:
    """Return a value as the content of a cell, made harmless unless ``raw``."""
    text = as_text(value)
    if raw or isinstance(value, int | float | np.number):
        return text
    return harmless(text)


def quoted(cell: str) -> str:
    """Return a cell as it stands in a file, in quotes where it must be."""
    if _NEEDS_QUOTES.search(cell) is None:
        return cell
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'
