"""From the probabilities of clusters to clusters: the first choice, and the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NO_CLUSTER = -1
"""The label of a text that has no cluster."""


def most_probable(
    shares: NDArray[np.floating], min_confidence: float | None = None
) -> NDArray[np.int64]:
    """Return the cluster of the highest probability, (n,); −1 for noise, which has none at all.

    Parameters
    ----------
    shares
        (n, k) probabilities.
    min_confidence
        Where the highest is below this, the label is −1 too.
    """
    labels: NDArray[np.int64] = shares.argmax(axis=1).astype(np.int64)
    confidence = shares.max(axis=1)
    labels[confidence <= 0] = NO_CLUSTER
    if min_confidence is not None:
        labels[confidence < min_confidence] = NO_CLUSTER
    return labels


def next_probable(
    shares: NDArray[np.floating], labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
    """Return the most probable cluster other than the label, and its probability, both (n,).

    Where the label is −1 that is the best of all. It is −1 where no other cluster has a share; with
    one cluster alone its probability is NaN.
    """
    rest = shares.copy()
    labelled = np.flatnonzero(labels != NO_CLUSTER)
    rest[labelled, labels[labelled]] = -np.inf
    best = rest.max(axis=1)
    second = np.where(best > 0, rest.argmax(axis=1), NO_CLUSTER).astype(np.int64)
    return second, np.where(np.isfinite(best), best, np.nan)
