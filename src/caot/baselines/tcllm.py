"""TCLLM-BERT's recipe: embeddings of a language model, and one of the classical algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering, SpectralClustering

from caot.baselines.base import Vectors
from caot.baselines.frozen import FrozenMethod
from caot.baselines.heads import Centroids, Head
from caot.baselines.remembered import Remembered, consistent
from caot.checks import require_choice
from caot.inputs import Inputs
from caot.kmeans import kmeans

_ALGORITHMS = ("kmeans", "fuzzy", "agglomerative", "spectral")


class Fuzzy(NamedTuple):
    """Centres (k, width) and memberships (n, k), whose rows sum to one."""

    centers: Vectors
    memberships: NDArray[np.float64]


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
        The exponent m of fuzzy c-means, above 1.

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
    fuzziness: float = 2.0

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
                centers = fuzzy_c_means(vectors, centers, self.fuzziness).centers
            return Centroids.of(vectors, centers)
        model = AgglomerativeClustering(self.n_clusters)
        if self.algorithm == "spectral":
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
) -> Fuzzy:
    """Alternate between memberships u_ij ∝ d_ij^(−2/(m−1)) and means weighted by u^m.

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
    return Fuzzy(moved.astype(np.float32), memberships)
