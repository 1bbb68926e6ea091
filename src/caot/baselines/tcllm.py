"""TCLLM-BERT's recipe: embeddings of a language model, and one of the classical algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from sklearn.cluster import SpectralClustering

from caot.baselines.agglomerative import Agglomerative
from caot.baselines.base import Vectors
from caot.baselines.frozen import FrozenMethod
from caot.baselines.heads import Centroids, Head
from caot.baselines.remembered import Remembered, consistent
from caot.checks import require_choice
from caot.inputs import Inputs
from caot.kmeans import kmeans

_MET = 0.01  # of the spread of the vectors: centres nearer than that are one
_ALGORITHMS = ("kmeans", "fuzzy", "agglomerative", "spectral")


@dataclass(eq=False, repr=False, kw_only=True)
class TCLLM(FrozenMethod):
    """Text clustering with embeddings of a language model, by a choice of algorithms.

    The paper's row "TCLLM-BERT" takes BERT: ``encoder="google-bert/bert-base-uncased"``.

    Parameters
    ----------
    algorithm
        "kmeans", "fuzzy" (c-means), "agglomerative" (Ward) or "spectral" (on the graph of nearest
        neighbours). Texts of the fit keep what the last two gave them; new ones go to the nearest
        centre.
    n_init
        Starts of K-means.
    fuzziness
        The exponent m of fuzzy c-means, above 1. In hundreds of dimensions distances hardly
        differ, and with the usual 2 all centres meet in the middle.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.frozen.FrozenMethod`.

    References
    ----------
    Petukhova, Matos-Carvalho and Fachada. Text Clustering with Large Language Model Embeddings.
    International Journal of Cognitive Computing in Engineering, 2025.
    """

    algorithm: Literal["kmeans", "fuzzy", "agglomerative", "spectral"] = "kmeans"
    n_init: int = 10
    fuzziness: float = 1.1

    _least: ClassVar[dict[str, int]] = {**FrozenMethod._least, "n_init": 1}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("algorithm", self.algorithm, _ALGORITHMS)
        if not self.fuzziness > 1:
            msg = f"fuzziness must be above 1, got {self.fuzziness}"
            raise ValueError(msg)

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Head:
        seed = self.random_state
        if self.algorithm in ("kmeans", "fuzzy"):
            centers = kmeans(
                vectors, self.n_clusters, n_init=self.n_init, random_state=seed
            ).centers
            if self.algorithm == "fuzzy":
                centers = fuzzy_c_means(vectors, centers, self.fuzziness)
            return Centroids.of(vectors, centers)
        if self.algorithm == "agglomerative":
            return Agglomerative(self.n_clusters, random_state=seed)._cluster(vectors, inputs)
        model = SpectralClustering(
            self.n_clusters,
            affinity="nearest_neighbors",
            n_neighbors=min(10, len(vectors) - 1),
            random_state=seed,
        )
        labels = consistent(vectors, model.fit_predict(vectors))
        labels = np.unique(labels, return_inverse=True)[1]
        return Remembered.of(vectors, labels, int(labels.max()) + 1, seed)


def fuzzy_c_means(
    vectors: Vectors,
    centers: Vectors,
    fuzziness: float,
    *,
    max_iter: int = 200,
    tol: float = 1e-4,
) -> Vectors:
    """Return the centres (k, width) of fuzzy c-means.

    Memberships u_ij ∝ d_ij^(−2/(m−1)), whose rows sum to one, and means weighted by u^m take turns.

    Parameters
    ----------
    vectors, centers
        (n, width) and, to start from, (k, width).
    fuzziness
        m; towards 1 it becomes K-means.
    """
    rows, moved = vectors.astype(np.float64), centers.astype(np.float64)
    for _ in range(max_iter):
        squared = np.square(rows).sum(axis=1)[:, None] + np.square(moved).sum(axis=1)
        squared = np.maximum(squared - 2 * rows @ moved.T, 1e-12)
        logits = -np.log(squared) / (fuzziness - 1)
        memberships = np.exp(logits - logits.max(axis=1, keepdims=True))
        memberships /= memberships.sum(axis=1, keepdims=True)
        weights = memberships**fuzziness
        before, moved = moved, (weights.T @ rows) / weights.sum(axis=0)[:, None]
        if np.abs(moved - before).max() < tol:
            break
    if np.abs(moved - moved.mean(axis=0)).max() < _MET * rows.std():
        msg = f"all centres of fuzzy c-means met at fuzziness={fuzziness}: lower it towards 1"
        raise ValueError(msg)
    return moved.astype(np.float32)
