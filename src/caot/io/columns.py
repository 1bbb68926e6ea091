"""Which columns hold the texts, and the texts in them."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence

import pandas as pd

from caot.io.cells import as_text, is_number, python_values
from caot.io.errors import TableError
from caot.io.names import TEXT_NAMES, last_word, plain_name
from caot.texts import whole_text

logger = logging.getLogger(__name__)

SEPARATOR = " "  # between the texts of several columns; empty ones are left out
SAMPLE_ROWS = 1_000  # what the search looks at, so that a file and its stream give one answer
_SHOWN_COLUMNS = 20
_WORDS_OF_NAMES = 3  # what has more may be a text
_LONG_TEXT = 500  # longer texts are no better


def text_columns(
    frame: pd.DataFrame,
    text: str | Sequence[str] | None,
    id_column: str | None,
    source: str,
) -> tuple[str, ...]:
    """Return the columns of the texts: the named ones, or the one that looks most like it.

    Raises
    ------
    TableError
        If a named column is not there, or none looks like texts.
    """
    if id_column is not None:
        _require(id_column, frame, source)
    if text is None:
        found = _found(frame.head(SAMPLE_ROWS), id_column, source)
        logger.info("%s: the texts are in the column %r; choose another with --text", source, found)
        return (found,)
    names = (text,) if isinstance(text, str) else tuple(text)
    if not names:
        msg = "no text column is named: name at least one, or none at all to have it found"
        raise TableError(msg)
    for name in names:
        _require(name, frame, source)
    return names


def warn_of_header(frame: pd.DataFrame, columns: Sequence[str], source: str) -> None:
    """Warn if a text stands where the names of columns should: the first line may be lost."""
    for name in columns if len(frame.columns) > 1 else map(str, frame.columns):
        if len(name.split()) > _WORDS_OF_NAMES:
            logger.warning(
                "%s: the first line was read as the header, though %r looks like a text; if the "
                "file has no header, use --no-header",
                source,
                name,
            )


def joined_texts(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    """Return each row's text, (n,): the columns' texts joined with one space, empty ones left out.

    Missing values are empty texts, and U+FFFD stands for lone surrogates, which encoders refuse.
    """
    parts = [_texts(frame[column]) for column in columns]
    if len(parts) == 1:
        return tuple(parts[0])
    return tuple(SEPARATOR.join(filter(None, row)) for row in zip(*parts, strict=True))


def require_texts(
    texts: Sequence[str], frame: pd.DataFrame, columns: Sequence[str], source: str
) -> None:
    """Raise if no row has a text other than a number, or a date, or a nested value."""
    if any(map(_is_text, texts)) and not all(
        _holds_no_strings(frame[column]) for column in columns
    ):
        return
    is_empty = not any(text.strip() for text in texts)
    what = "only empty cells" if is_empty else "no texts but numbers, dates or nested values"
    named = ", ".join(map(repr, columns))
    msg = f"{source}: {named} holds {what}: choose a column of texts among {_listed(frame)}"
    raise TableError(msg)


def _require(name: str, frame: pd.DataFrame, source: str) -> None:
    names = [str(column) for column in frame.columns]
    if name in names:
        return
    folded = {plain_name(column): column for column in reversed(names)}
    near = difflib.get_close_matches(plain_name(name), folded, n=1)
    hint = f"did you mean {folded[near[0]]!r}? Its" if near else "its"
    msg = f"{source} has no column {name!r}: {hint} columns are {_listed(frame)}"
    raise TableError(msg)


def _found(sample: pd.DataFrame, id_column: str | None, source: str) -> str:
    texts = {
        str(name): _texts(sample[name])
        for name in sample.columns
        if name != id_column and not _holds_no_strings(sample[name])
    }
    candidates = {name: cells for name, cells in texts.items() if any(map(_is_text, cells))}
    if not candidates:
        msg = (
            f"no column of {source} looks like texts: name one of its columns {_listed(sample)} "
            "with --text"
        )
        raise TableError(msg)
    for known in (plain_name, last_word):
        named = [name for name in candidates if known(name) in TEXT_NAMES]
        if named:
            return min(named, key=lambda name: TEXT_NAMES.index(known(name)))
    return max(candidates, key=lambda name: _likeness(candidates[name]))


def _likeness(cells: Sequence[str]) -> tuple[float, float]:
    """Return how much a column looks like texts: length times distinctness, words before codes."""
    distinct = len(set(cells)) / len(cells)
    lengths = [min(len(cell), _LONG_TEXT) for cell in cells]
    words = sum(n for cell, n in zip(cells, lengths, strict=True) if _has_words(cell))
    return distinct * words / len(cells), distinct * sum(lengths) / len(cells)


def _has_words(cell: str) -> bool:
    """Tell words from codes, links and addresses, which are one ASCII string without spaces."""
    return _is_text(cell) and (not cell.isascii() or len(cell.split()) > 1)


def _is_text(cell: str) -> bool:
    """Tell whether a cell is neither empty, nor a number, nor a date in digits."""
    return bool(cell.strip()) and not is_number(cell) and not _is_digits(cell)


def _is_digits(cell: str) -> bool:
    """Tell whether ASCII digits and signs are all that a cell has, as in 2026-01-31 12:00."""
    return cell.isascii() and any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))


def _holds_no_strings(column: pd.Series) -> bool:
    """Tell whether no value is a text or bytes, though there are values."""
    present = [value for value in python_values(column) if not _is_empty(value)]
    return bool(present) and not any(isinstance(value, str | bytes) for value in present)


def _is_empty(value: object) -> bool:
    return not isinstance(value, list | dict) and as_text(value) == ""


def _texts(column: pd.Series) -> list[str]:
    return [whole_text(as_text(value)) for value in python_values(column)]


def _listed(frame: pd.DataFrame) -> str:
    names = [str(name) for name in frame.columns]
    shown = ", ".join(names[:_SHOWN_COLUMNS])
    return (
        shown if len(names) <= _SHOWN_COLUMNS else f"{shown} and {len(names) - _SHOWN_COLUMNS} more"
    )
