"""SCCL: contrast of instances and DEC's clustering, together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.baselines.base import Vectors
from caot.baselines.contrast import ViewObjective
from caot.baselines.heads import Head, StudentT
from caot.baselines.losses import kl_to_target, nt_xent, target_distribution
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Losses, Objective


class SupportingContrast(ViewObjective):
    """η · contrast of the views + KL of the originals' shares to their sharpened targets."""

    def __init__(
        self, source: Representation, head: StudentT, weight: float, temperature: float
    ) -> None:
        super().__init__(source, projects=True)
        self.head, self.weight, self.temperature = head, weight, temperature
        self.networks = nn.ModuleList([self.projecting, head])

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return both losses of a batch."""
        v1, v2 = self.source.views(rows)
        originals = self.source.originals(rows)
        return Losses(self.weight * self.contrast(v1, v2, originals), self.cluster(originals))

    def contrast(self, v1: Tensor, v2: Tensor, originals: Tensor) -> Tensor:
        """Return the instance loss."""
        return nt_xent(self.project(v1), self.project(v2), self.temperature)

    def cluster(self, originals: Tensor) -> Tensor:
        """Return the clustering loss."""
        log_shares = self.head.predict(originals)
        return kl_to_target(log_shares, target_distribution(log_shares.exp()))


@dataclass(eq=False, repr=False, kw_only=True)
class SCCL(TrainedMethod):
    """Supporting clustering with contrastive learning.

    Instances of two views are told apart in a projection, while shares by Student's t around
    centres, which start at K-means, are pulled towards a sharpened version of themselves.

    Parameters
    ----------
    contrast_weight
        η, the weight of the contrast.
    temperature
        Of the contrast.
    alpha
        Degrees of freedom of Student's t.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`. Vectors are
    scaled to a mean square of one before networks and centres see them, so that encoders which
    normalise start as others do. At that width shares are nearly flat, whatever the scale, and the
    contrast has most of the say.

    References
    ----------
    Zhang, Nan, Wei, Li, Zhu, McKeown, Nallapati, Arnold and Xiang. Supporting Clustering with
    Contrastive Learning. NAACL 2021.
    """

    batch_size: int = 400
    learning_rate: float = 1e-3
    contrast_weight: float = 10.0
    temperature: float = 0.5
    alpha: float = 1.0

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        return SupportingContrast(
            source, self._start(source), self.contrast_weight, self.temperature
        )

    def _start(self, source: Representation) -> StudentT:
        found = self._kmeans(source.untrained)
        return StudentT.at(found.centers, self.alpha, source.scale).to(source.device)

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        return cast("SupportingContrast", objective).head
