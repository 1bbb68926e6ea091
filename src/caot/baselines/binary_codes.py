"""Short codes of texts that keep neighbours together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import kneighbors_graph
from torch import Tensor

from caot.vectors import unit_rows


def binary_codes(texts: Sequence[str], n_bits: int, n_neighbors: int, random_state: int) -> Tensor:
    """Return codes (n, bits) of zeros and ones from locality preserving indexing.

    TF-IDF rows are reduced by a singular value decomposition, then to the directions along which
    neighbours differ least (He, Cai, Liu and Ma, SIGIR 2004), and cut at the median of each.
    """
    weights = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(texts)
    size = min(4 * n_bits, min(weights.shape) - 1)
    rows = TruncatedSVD(size, random_state=random_state).fit_transform(weights)
    rows -= rows.mean(axis=0)
    unit = unit_rows(rows)
    graph = kneighbors_graph(unit, min(n_neighbors, len(unit) - 1), include_self=False)
    graph = graph.maximum(graph.T)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    spread = unit.T @ (degree[:, None] * unit)
    local = spread - unit.T @ (graph @ unit)
    spread += 1e-6 * np.trace(spread) / size * np.eye(size)
    _, directions = scipy.linalg.eigh(local, spread, subset_by_index=(0, min(n_bits, size) - 1))
    reduced = unit @ directions
    return torch.from_numpy((reduced > np.median(reduced, axis=0)).astype(np.float32))
