"""K-means on embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from caot.baselines.base import Vectors
from caot.baselines.frozen import FrozenMethod
from caot.baselines.heads import Centroids
from caot.inputs import Inputs
from caot.kmeans import kmeans


@dataclass(eq=False, repr=False, kw_only=True)
class EmbeddingKMeans(FrozenMethod):
    """K-means on what a frozen encoder gives: the least that any other method must beat.

    Parameters
    ----------
    n_init
        Starts, of which the one with the least inertia is taken.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.frozen.FrozenMethod`.

    References
    ----------
    MacQueen. Some Methods for Classification and Analysis of Multivariate Observations. 1967.
    Arthur and Vassilvitskii. k-means++: The Advantages of Careful Seeding. SODA 2007.
    """

    n_init: int = 10

    _least: ClassVar[dict[str, int]] = {**FrozenMethod._least, "n_init": 1}

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Centroids:
        found = kmeans(vectors, self.n_clusters, n_init=self.n_init, random_state=self.random_state)
        return Centroids.of(vectors, found.centers)
