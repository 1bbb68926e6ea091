"""Fair samples: every cluster stays visible, large ones stay large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fair_sample(
    labels: NDArray[np.int64], limit: int, *, random_state: int = 0
) -> NDArray[np.int64]:
    """Return at most ``limit`` row numbers, sorted: all rows when there are no more than that.

    Half of the room is dealt out evenly, so that every cluster keeps up to limit / 2k of its
    rows; the other half in proportion to what is left of each.

    Parameters
    ----------
    labels
        Cluster of each row, (n,).
    limit
        How many rows to keep.
    random_state
        Seed of the choice within each cluster.
    """
    if limit < 1:
        msg = f"limit must be at least 1, got {limit}"
        raise ValueError(msg)
    n = len(labels)
    if n <= limit:
        return np.arange(n, dtype=np.int64)
    _, members, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    quotas = _quotas(sizes.astype(np.int64), limit)
    shuffled = np.random.default_rng(random_state).permutation(n)
    grouped = shuffled[np.argsort(members[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.arange(n) - np.repeat(starts, sizes)
    kept: NDArray[np.int64] = np.sort(grouped[rank < np.repeat(quotas, sizes)]).astype(np.int64)
    return kept


def _quotas(sizes: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return how many rows each cluster keeps; they add up to ``limit`` < Σ sizes."""
    base = np.minimum(sizes, limit // (2 * len(sizes)))
    left = sizes - base
    room = limit - int(base.sum())
    exact = left * (room / left.sum())
    quotas: NDArray[np.int64] = base + np.floor(exact).astype(np.int64)
    # Largest remainders first; a cluster with a remainder still has rows to give.
    short = limit - int(quotas.sum())
    quotas[np.argsort(-(exact - np.floor(exact)), kind="stable")[:short]] += 1
    return quotas
