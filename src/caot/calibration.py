"""How sure a fitted model may be, told without labels (Eq. 32)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from caot.vectors import unit_rows

ENOUGH_TEXTS = 20_000
"""More texts tell no more."""

_NEIGHBOURS, _ASKING = 5, 2_000
_HIGHEST = 50.0
# Copies of a text, which share its cluster by construction, tell nothing.
_SAME = 1 - 1e-6


def neighbour_temperature(
    log_prob: NDArray[np.float32], vectors: NDArray[np.float32], *, random_state: int = 0
) -> float:
    """Return the temperature at which probabilities agree with the clusters of near texts.

    Networks that learn their own pseudo-labels end up sure of all of them. Near texts mostly belong
    together, so how often a text's neighbours lie in other clusters tells how sure one may be:
    probabilities p^(1/T), normalised, should be those of the neighbours' clusters (Eq. 32).

    Parameters
    ----------
    log_prob
        log P of the texts, (n, k).
    vectors
        Embeddings from before the training, (n, width): what has learned from the clusters would
        only confirm them.
    random_state
        Draws the texts, where there are many.

    Returns
    -------
    float
        From 1, which leaves the probabilities as they are, to 50.
    """
    rng = np.random.default_rng(random_state)
    asked = rng.permutation(len(vectors))[:ENOUGH_TEXTS]
    asking = asked[:_ASKING]
    clusters = _neighbour_clusters(vectors, log_prob.argmax(axis=1), asking, asked)
    rows, places = np.nonzero(clusters >= 0)
    if not rows.size:
        return 1.0
    wanted, known = clusters[rows, places], log_prob[asking].astype(np.float64)

    def surprise(log_temperature: float) -> float:
        tempered = known / math.exp(log_temperature)
        total = np.log(np.exp(tempered - tempered.max(axis=1, keepdims=True)).sum(axis=1))
        normalised = tempered - tempered.max(axis=1, keepdims=True) - total[:, None]
        return float(-normalised[rows, wanted].mean())

    found = minimize_scalar(surprise, bounds=(0.0, math.log(_HIGHEST)), method="bounded")
    return math.exp(float(found.x))


def _neighbour_clusters(
    vectors: NDArray[np.float32],
    labels: NDArray[np.int64],
    asking: NDArray[np.int64],
    asked: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the clusters of the nearest other texts, (m, 5); −1 where there is none."""
    pool = unit_rows(np.asarray(vectors[asked]))
    similar = unit_rows(np.asarray(vectors[asking])) @ pool.T
    similar[similar > _SAME] = -np.inf
    count = min(_NEIGHBOURS, len(asked))
    nearest = np.argpartition(-similar, count - 1, axis=1)[:, :count]
    clusters: NDArray[np.int64] = labels[asked[nearest]].astype(np.int64)
    clusters[np.isneginf(np.take_along_axis(similar, nearest, axis=1))] = -1
    return clusters
