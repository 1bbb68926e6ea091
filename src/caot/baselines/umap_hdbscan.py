"""HDBSCAN in a space that UMAP made small."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN

from caot.baselines.base import Vectors
from caot.baselines.rivals import Rival, make_umap
from caot.inputs import Inputs


@dataclass(eq=False, repr=False, kw_only=True)
class UmapHdbscan(Rival):
    """Dense regions of the embeddings after UMAP, as many as there are; the rest is noise.

    Parameters
    ----------
    n_clusters
        Has no part in it: the density decides.
    n_neighbors, n_components
        UMAP's neighbours, and the dimensions that it leaves.
    min_cluster_size, min_samples
        HDBSCAN's smallest cluster, and how many near texts make a text dense.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.rivals.Rival`. Needs
    ``pip install "/path/to/caot[rivals]"``.

    References
    ----------
    McInnes, Healy and Melville. UMAP: Uniform Manifold Approximation and Projection for Dimension
    Reduction. 2018. Campello, Moulavi and Sander. Density-Based Clustering Based on Hierarchical
    Density Estimates. PAKDD 2013.
    """

    n_clusters: int | None = field(default=None, kw_only=False)  # type: ignore[assignment]
    n_neighbors: int = 15
    n_components: int = 5
    min_cluster_size: int = 10
    min_samples: int | None = None

    _least: ClassVar[dict[str, int]] = {
        **Rival._least,
        "n_neighbors": 2,
        "n_components": 1,
        "min_cluster_size": 2,
        "min_samples": 1,
    }
    _may_be_none: ClassVar[tuple[str, ...]] = (*Rival._may_be_none, "min_samples")
    _takes_k: ClassVar[bool] = False

    def _labels_of(self, vectors: Vectors, inputs: Inputs) -> NDArray[np.int64]:
        reducer = make_umap(len(vectors), self.random_state, self.n_neighbors, self.n_components)
        model = HDBSCAN(
            min_cluster_size=self.min_cluster_size, min_samples=self.min_samples, copy=True
        )
        labels: NDArray[np.int64] = model.fit_predict(reducer.fit_transform(vectors))
        return labels
