"""Measures of a clustering (Eqs. 28 to 31 of docs/maths.md).

None of them is used in training, except the change rate, which knows no true labels.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from caot.vectors import unit_rows

Average = Literal["geometric", "arithmetic"]

UNLABELLED = -1
"""The pseudo-label of a sample that has not been labelled yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusteringScores:
    """Agreement of a clustering with true labels; each score is 1 for a perfect one."""

    accuracy: float
    nmi_geometric: float
    nmi_arithmetic: float
    ari: float
    purity: float
    n_clusters_used: int

    def as_dict(self) -> dict[str, float | int]:
        """Return the scores by name, ready for JSON."""
        return dataclasses.asdict(self)


def score(labels_true: ArrayLike, labels_pred: ArrayLike) -> ClusteringScores:
    """Compute all scores of predicted clusters against true labels, both (n,)."""
    true, pred = _encode_pair(labels_true, labels_pred)
    return ClusteringScores(
        accuracy=clustering_accuracy(true, pred),
        nmi_geometric=nmi(true, pred, average="geometric"),
        nmi_arithmetic=nmi(true, pred, average="arithmetic"),
        ari=adjusted_rand(true, pred),
        purity=purity(true, pred),
        n_clusters_used=int(pred.max()) + 1,
    )


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that are right under the best one-to-one map of clusters (Eq. 29).

    Clusters without a partner count as wrong, so the numbers of clusters may differ.
    """
    counts = contingency(labels_true, labels_pred)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


def nmi(labels_true: ArrayLike, labels_pred: ArrayLike, average: Average = "geometric") -> float:
    """Mutual information over the mean of the two entropies (Eq. 30).

    The paper's formula takes the geometric mean; scikit-learn's default is the arithmetic one.
    Two clusterings of one cluster each agree perfectly and score 1.
    """
    if average not in get_args(Average):
        raise ValueError(f"average is {average!r}: choose one of {get_args(Average)}.")
    true, pred = _encode_pair(labels_true, labels_pred)
    return float(normalized_mutual_info_score(true, pred, average_method=average))


def adjusted_rand(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of pairs on which both agree, corrected for chance: 0 expected of a random one."""
    return float(adjusted_rand_score(*_encode_pair(labels_true, labels_pred)))


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples whose true label is the commonest of their cluster."""
    counts = contingency(labels_true, labels_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def contingency(labels_true: ArrayLike, labels_pred: ArrayLike) -> NDArray[np.int64]:
    """Count the samples of each true label (row) in each cluster (column), both in sorted order."""
    true, pred = _encode_pair(labels_true, labels_pred)
    n_true, n_pred = int(true.max()) + 1, int(pred.max()) + 1
    counts = np.bincount(true * n_pred + pred, minlength=n_true * n_pred)
    return counts.astype(np.int64).reshape(n_true, n_pred)


def neighbourhood_similarity(z0: ArrayLike, z1: ArrayLike, labels: ArrayLike) -> float:
    """Share of the total cosine similarity that lies inside the classes, NS (Eq. 31).

    The double sums factor into sums over classes, so time and memory are O(n d).

    Parameters
    ----------
    z0, z1 : array of shape (n, d)
        Features of the original texts and of one augmented view; a zero row has cosine 0.
    labels : array of shape (n,)
        Classes.

    Returns
    -------
    float
        NaN, with a RuntimeWarning, where the cosines do not sum to a positive number.
    """
    codes = _encode("labels", labels)
    unit0, unit1 = _unit_rows("z0", z0), _unit_rows("z1", z1)
    if unit0.shape != unit1.shape or len(unit0) != len(codes):
        raise ValueError(
            f"z0 is {unit0.shape}, z1 is {unit1.shape} and there are {len(codes)} labels: "
            "give both features of the same samples, and one label for each."
        )
    total = float(unit0.sum(axis=0) @ unit1.sum(axis=0))
    if total <= 0:
        warnings.warn(
            f"The cosines sum to {total:.3g}, so their share inside the classes means nothing: "
            "NS is NaN. Features centred at zero do this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return float("nan")
    return float(np.sum(_class_sums(unit0, codes) * _class_sums(unit1, codes)) / total)


def change_rate(before: ArrayLike, after: ArrayLike) -> float:
    """Share of samples whose pseudo-label differs from their previous one (Eq. 28).

    Samples that had none (-1 in ``before``) are left out. Where no sample had one the rate is 1:
    everything is new, and no rule that waits for a small rate takes it for convergence.
    """
    old, new = np.asarray(before), np.asarray(after)
    _check_lengths("before", old, "after", new)
    known = old != UNLABELLED
    if not known.any():
        return 1.0
    return float(np.mean(old[known] != new[known]))


def _encode_pair(
    labels_true: ArrayLike, labels_pred: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    true, pred = _encode("labels_true", labels_true), _encode("labels_pred", labels_pred)
    _check_lengths("labels_true", true, "labels_pred", pred)
    return true, pred


def _encode(name: str, labels: ArrayLike) -> NDArray[np.int64]:
    """Replace the distinct labels, of any kind, by the numbers from 0 on."""
    array = np.asarray(labels)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: give one label for each sample, (n,).")
    missing = np.flatnonzero(pd.isna(array))
    if missing.size:
        raise ValueError(
            f"{name} has {missing.size} missing value(s), the first in row {missing[0]}: "
            "leave these samples out of the scores."
        )
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _check_lengths(
    name_a: str, a: NDArray[np.generic], name_b: str, b: NDArray[np.generic]
) -> None:
    if a.ndim != 1 or a.shape != b.shape or not a.size:
        raise ValueError(
            f"{name_a} has shape {a.shape} and {name_b} has shape {b.shape}: "
            "give one label of each kind for every sample, (n,), and at least one sample."
        )


def _unit_rows(name: str, rows: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers of shape (n, d); it is {array.shape}.")
    return unit_rows(array)


def _class_sums(rows: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum the rows (n, d) of each class; the result has one row a class."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(rows[order], starts, axis=0)
