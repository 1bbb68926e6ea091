"""CC: contrast of instances in rows, and of clusters in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from caot.baselines.base import Vectors
from caot.baselines.contrast import Contrast
from caot.baselines.heads import ClusterNetwork, Head
from caot.baselines.losses import cluster_contrast, nt_xent
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Losses, Objective


class TwoContrasts(Contrast):
    """Rows of the projection and columns of the shares, each told apart from the others."""

    def __init__(
        self,
        source: Representation,
        head: ClusterNetwork,
        temperature: float,
        cluster_temperature: float,
    ) -> None:
        super().__init__(source, temperature, projects=True)
        self.head, self.cluster_temperature = head, cluster_temperature
        self.networks = nn.ModuleList([self.projecting, head])

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return both losses of a batch."""
        v1, v2 = self.source.views(rows)
        z1, z2 = (self.project(view) for view in (v1, v2))
        log_prob1, log_prob2 = self.head.predict(v1), self.head.predict(v2)
        return Losses(
            nt_xent(z1, z2, self.temperature),
            cluster_contrast(log_prob1, log_prob2, self.cluster_temperature),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class CC(TrainedMethod):
    """Contrastive clustering, on features of texts or images.

    The matrix of shares of a batch is contrasted by its columns: a cluster is a positive pair with
    itself in the other view. It starts from nothing: no K-means has a part in it.

    Parameters
    ----------
    temperature, cluster_temperature
        Of the contrast of instances and of clusters.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`. The original
    trains a convolutional network on two crops of an image; here the features of an encoder, or
    given vectors, take its place. The batch should hold several samples of each cluster.

    References
    ----------
    Li, Hu, Liu, Peng, Zhou and Peng. Contrastive Clustering. AAAI 2021.
    """

    batch_size: int = 256
    temperature: float = 0.5
    cluster_temperature: float = 1.0

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        head = ClusterNetwork(self.n_clusters, source.width, source.scale, dropout=0.0)
        return TwoContrasts(
            source, head.to(source.device), self.temperature, self.cluster_temperature
        )

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        return cast("TwoContrasts", objective).head
