"""Two coordinates for every text, so that a map can be drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from caot.report.sampling import fair_sample
from caot.vectors import unit_rows

_COMPONENTS = 50
_PERPLEXITY = 30.0
_N_ITER = 600
_NEIGHBOURS = 5
# A text lies among those of its nearest neighbours which themselves lie together: within this
# share of the map's width of the nearest one. A mean over two islands would fall into the sea.
_TOGETHER = 0.05
# Fewer distinct points than this have no neighbourhoods worth preserving.
_FEWEST = 8


def project(
    embeddings: NDArray[np.float32],
    random_state: int = 0,
    *,
    labels: NDArray[np.int64] | None = None,
    max_fit: int = 5000,
) -> NDArray[np.float32]:
    """Return a map of the embeddings, (n, 2): texts of one meaning lie together.

    Directions are reduced to 50 by PCA and laid out by t-SNE. Of more than ``max_fit`` rows a
    sample is laid out, and each other row is placed among its nearest neighbours of the sample.
    The same input gives the same map.

    Parameters
    ----------
    embeddings
        (n, d), finite.
    random_state
        Seed of the sample and of t-SNE.
    labels
        Clusters, (n,): the sample then keeps some rows of each.
    max_fit
        How many rows t-SNE sees; its time grows a little faster than this.
    """
    points = _directions(np.asarray(embeddings, dtype=np.float32))
    n = len(points)
    if labels is not None and len(labels) != n:
        msg = f"labels has {len(labels)} entries for {n} embeddings; give one for each"
        raise ValueError(msg)
    groups = np.zeros(n, dtype=np.int64) if labels is None else labels
    # One thread: sums in a fixed order, whatever the machine.
    with threadpool_limits(limits=1):
        n_components = min(_COMPONENTS, *points.shape)
        if n_components < 2 or len(np.unique(points, axis=0)) < _FEWEST:
            return _plain(points)
        reduced = PCA(n_components, svd_solver="full" if n < 200 else "covariance_eigh")
        points = reduced.fit_transform(points).astype(np.float32)
        rows = fair_sample(groups, max_fit, random_state=random_state)
        fitted = _lay_out(points[rows], random_state)
        return fitted if len(rows) == n else _place(points, rows, fitted)


def _directions(embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    if embeddings.ndim != 2 or 0 in embeddings.shape:
        msg = f"embeddings must be a matrix with rows and columns, got shape {embeddings.shape}"
        raise ValueError(msg)
    if not np.isfinite(embeddings).all():
        msg = "embeddings has NaN or infinite entries; check the encoder that made them"
        raise ValueError(msg)
    return unit_rows(embeddings).astype(np.float32)


def _plain(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first two principal components, zeros where there are none."""
    centred = points - points.mean(axis=0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    coordinates = np.zeros((len(points), 2), dtype=np.float32)
    rank = min(2, scale.size)
    coordinates[:, :rank] = left[:, :rank] * scale[:rank]
    return coordinates


def _lay_out(points: NDArray[np.float32], random_state: int) -> NDArray[np.float32]:
    model = TSNE(
        perplexity=min(_PERPLEXITY, (len(points) - 1) / 3),
        init="pca",
        learning_rate="auto",
        max_iter=_N_ITER,
        random_state=random_state,
        n_jobs=1,
    )
    coordinates: NDArray[np.float32] = model.fit_transform(points).astype(np.float32)
    return coordinates


def _place(
    points: NDArray[np.float32], rows: NDArray[np.int64], fitted: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return coordinates (n, 2) of all points: ``fitted`` at ``rows``, the others near those."""
    others = np.setdiff1d(np.arange(len(points)), rows)
    index = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(rows)), n_jobs=1).fit(points[rows])
    distances, neighbours = index.kneighbors(points[others])
    spots = fitted[neighbours]  # (m, 5, 2)
    away = np.linalg.norm(spots - spots[:, :1], axis=2)
    reach = _TOGETHER * float(np.ptp(fitted, axis=0).max())
    # Nearer neighbours weigh more; the farthest of them sets the scale.
    scale = np.maximum(distances[:, -1:], np.finfo(np.float32).tiny)
    weights = np.where(away <= reach, 1 / (distances / scale + 1e-3) ** 2, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    coordinates = np.empty((len(points), 2), dtype=np.float32)
    coordinates[rows] = fitted
    coordinates[others] = (spots * weights[:, :, None]).sum(axis=1)
    return coordinates
