"""What users pass as X: texts in any of the usual containers, or vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_SHOWN_ROWS = 10
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def is_vectors(inputs: object) -> TypeGuard[NDArray[Any]]:
    """Tell whether the inputs are a table of numbers rather than texts."""
    if isinstance(inputs, pd.DataFrame):
        return inputs.shape[1] > 0 and all(kind.kind in "fiu" for kind in inputs.dtypes)
    shape, dtype = getattr(inputs, "shape", None), getattr(inputs, "dtype", None)
    return shape is not None and len(shape) == 2 and not _holds_strings(dtype)


def tensor_values(tensor: Any) -> NDArray[Any]:  # noqa: ANN401 - torch is not imported for it
    """Return the values of a tensor of torch, wherever it is and whatever follows from it."""
    plain = tensor.detach().cpu()
    values: NDArray[Any] = (plain.float() if plain.dtype.is_floating_point else plain).numpy()
    return values


def whole_text(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates, which no encoding of text can hold."""
    try:
        text.encode()  # much faster than a search
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def as_texts(inputs: Iterable[object]) -> list[str]:
    """Return the texts as a list of strings, with U+FFFD for lone surrogates.

    Raises
    ------
    TypeError, ValueError
        With the rows at fault and the way out.
    """
    if isinstance(inputs, str | bytes):
        msg = "X is a single text: pass a list of texts, [text]"
        raise TypeError(msg)
    if isinstance(inputs, pd.DataFrame):
        names = ", ".join(map(str, inputs.columns))
        msg = f"X is a table with the columns {names}: pass one of them, X[column]"
        raise TypeError(msg)
    if isinstance(inputs, np.ndarray) and inputs.ndim != 1:
        msg = f"X has shape {inputs.shape}: pass a vector of texts, or a matrix of numbers"
        raise ValueError(msg)
    if not isinstance(inputs, Iterable):
        msg = f"X is a {type(inputs).__name__}: pass a list of texts"
        raise TypeError(msg)
    texts = list(inputs)
    wrong = [row for row, text in enumerate(texts) if not isinstance(text, str)]
    if wrong:
        first = texts[wrong[0]]
        advice = "convert them with str, or fill missing ones"
        if isinstance(first, list | tuple | np.ndarray):
            advice = "vectors are passed as one array, np.asarray(X)"
        msg = (
            f"X holds values that are not texts, such as a {type(first).__name__}, in rows "
            f"{listed(wrong)}: {advice}"
        )
        raise TypeError(msg)
    return [whole_text(str(text)) for text in texts]


def empty_rows(texts: list[str]) -> NDArray[np.bool_]:
    """Return which texts have nothing but white space, (n,)."""
    return np.array([not text.strip() for text in texts], dtype=np.bool_)


def reject_empty(empty: NDArray[np.bool_]) -> None:
    """Raise an error that lists the empty rows, if there are any."""
    rows = np.flatnonzero(empty).tolist()
    if rows:
        msg = (
            f"{len(rows)} text(s) are empty, in rows {listed(rows)}: remove or fill them, or use "
            "on_empty='own-cluster', which puts them in a cluster of their own"
        )
        raise ValueError(msg)


def listed(rows: list[int]) -> str:
    """Return the first rows, and how many more there are."""
    shown = ", ".join(map(str, rows[:_SHOWN_ROWS]))
    return shown if len(rows) <= _SHOWN_ROWS else f"{shown} and {len(rows) - _SHOWN_ROWS} more"


def _holds_strings(dtype: object) -> bool:
    return getattr(dtype, "kind", "f") in "OUST"
