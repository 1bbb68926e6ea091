"""Checks of what a description is made from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caot.shares import NO_CLUSTER


def checked_labels(labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the labels as whole numbers from -1 on, one for each of n texts."""
    array = np.asarray(labels)
    if array.shape != (n,):
        msg = f"labels have shape {array.shape} for {n} texts: pass one for each text"
        raise ValueError(msg)
    if array.size and array.dtype.kind not in "iu":
        msg = f"labels are of type {array.dtype}: pass whole numbers, -1 for texts without cluster"
        raise TypeError(msg)
    if array.size and array.min() < NO_CLUSTER:
        msg = f"labels hold {array.min()}: clusters count from 0, -1 is a text without cluster"
        raise ValueError(msg)
    return array.astype(np.int64)


def checked_matrix(name: str, values: ArrayLike, n: int) -> NDArray[np.floating]:
    """Return finite floating-point numbers of shape (n, columns)."""
    array = np.asarray(values)
    if array.ndim != 2 or len(array) != n or not array.shape[1]:
        msg = f"{name} have shape {array.shape} for {n} texts: pass one row for each text"
        raise ValueError(msg)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        msg = f"{name} are not finite in row {row}: leave such rows out"
        raise ValueError(msg)
    return array


def checked_probabilities(
    probabilities: ArrayLike, labels: NDArray[np.int64]
) -> NDArray[np.floating]:
    """Return the probabilities (n, k), with a column for every label."""
    array = checked_matrix("probabilities", probabilities, len(labels))
    if len(labels) and labels.max() >= array.shape[1]:
        msg = (
            f"probabilities have {array.shape[1]} columns but labels go up to {labels.max()}: "
            "column j must belong to cluster j"
        )
        raise ValueError(msg)
    return array


def check_settings(ngram_range: tuple[int, int], **counts: int) -> None:
    """Raise unless the range of words and the numbers asked for make sense."""
    shortest, longest = ngram_range
    if not 1 <= shortest <= longest:
        msg = f"ngram_range is {ngram_range}: give the least and the most words, such as (1, 2)"
        raise ValueError(msg)
    for name, count in counts.items():
        if count < 0:
            msg = f"{name} is {count}: ask for 0 or more"
            raise ValueError(msg)
