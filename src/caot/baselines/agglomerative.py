"""Agglomerative clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from sklearn.cluster import AgglomerativeClustering

from caot.baselines.base import Vectors
from caot.baselines.frozen import FrozenMethod
from caot.baselines.heads import Centroids, Head
from caot.baselines.remembered import Remembered, consistent
from caot.checks import require_choice
from caot.inputs import Inputs

_LINKAGES = ("ward", "average", "complete", "single")


@dataclass(eq=False, repr=False, kw_only=True)
class Agglomerative(FrozenMethod):
    """Merges the two nearest clusters until k are left.

    Texts of the fit keep the cluster that the merging put them in; new ones go to the nearest
    centre.

    Parameters
    ----------
    linkage
        What nearness of two clusters means: "ward" (the growth of the variance), or the
        "average", largest ("complete") or least ("single") distance of their members.
    metric
        "euclidean", or "cosine", which Ward's criterion does not allow.
    max_merged
        Memory grows with the square of the texts: beyond so many, as many drawn at random are
        merged, and all texts go to the nearest centre.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.frozen.FrozenMethod`.

    References
    ----------
    Ward. Hierarchical Grouping to Optimize an Objective Function. JASA, 1963.
    """

    linkage: Literal["ward", "average", "complete", "single"] = "ward"
    metric: Literal["euclidean", "cosine"] = "euclidean"
    max_merged: int = 20_000

    _least: ClassVar[dict[str, int]] = {**FrozenMethod._least, "max_merged": 2}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("linkage", self.linkage, _LINKAGES)
        require_choice("metric", self.metric, ("euclidean", "cosine"))
        if self.linkage == "ward" and self.metric != "euclidean":
            msg = "linkage='ward' needs metric='euclidean': take another linkage for cosines"
            raise ValueError(msg)

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Head:
        merged = vectors
        if len(vectors) > self.max_merged:
            rng = np.random.default_rng(self.random_state)
            chosen = rng.choice(len(vectors), self.max_merged, replace=False)
            merged = vectors[np.sort(chosen)]
        model = AgglomerativeClustering(self.n_clusters, linkage=self.linkage, metric=self.metric)
        labels = consistent(merged, model.fit_predict(merged))
        labels = np.unique(labels, return_inverse=True)[1]  # equal vectors may leave one empty
        n_clusters = int(labels.max()) + 1
        if len(merged) < len(vectors):
            head = Centroids.of_labels(merged, labels, n_clusters)
            return Centroids.of(vectors, head.centers.numpy())
        return Remembered.of(vectors, labels, n_clusters, self.random_state)
