"""FNSCC: SCCL that looks at the neighbours of each text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from caot.baselines.heads import StudentT
from caot.baselines.losses import (
    kl_to_target,
    nearest_mask,
    nt_xent,
    smoothed_shares,
    target_distribution,
)
from caot.baselines.representation import Representation
from caot.baselines.sccl import SCCL, SupportingContrast
from caot.baselines.training import Objective


class NeighbourContrast(SupportingContrast):
    """SCCL's losses without near texts among the negatives, with shares mixed among them."""

    def __init__(
        self,
        source: Representation,
        head: StudentT,
        weight: float,
        temperature: float,
        *,
        n_neighbors: int,
        smoothing: float,
    ) -> None:
        super().__init__(source, head, weight, temperature)
        self.n_neighbors, self.smoothing = n_neighbors, smoothing

    def contrast(self, v1: Tensor, v2: Tensor, originals: Tensor) -> Tensor:
        """Return the instance loss; neighbours are neither pushed away nor pulled near."""
        neighbors = nearest_mask(originals, self.n_neighbors)
        return nt_xent(self.project(v1), self.project(v2), self.temperature, neighbors)

    def cluster(self, originals: Tensor) -> Tensor:
        """Return the clustering loss of shares that agree with the neighbours'."""
        neighbors = nearest_mask(originals, self.n_neighbors)
        shares = self.head.predict(originals).exp()
        mixed = smoothed_shares(shares, originals, neighbors, self.smoothing)
        return kl_to_target(mixed.clamp_min(1e-12).log(), target_distribution(mixed))


@dataclass(eq=False, repr=False, kw_only=True)
class FNSCC(SCCL):
    """Fuzzy neighbourhood-aware self-supervised contrastive clustering.

    The nearest texts of the batch are likely of one cluster: they leave the negatives, and their
    shares enter those of the text before the targets are made.

    Parameters
    ----------
    n_neighbors
        How many nearest texts of the batch count as neighbours.
    smoothing
        λ, the weight of the neighbours' shares.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.sccl.SCCL`. A batch must be several
    times as large as the neighbourhood, or no negatives are left.

    References
    ----------
    Zheng, Lu and Yin. FNSCC: Fuzzy Neighborhood-Aware Self-Supervised Contrastive Clustering for
    Short Text. Findings of EMNLP 2025.
    """

    batch_size: int = 128
    contrast_weight: float = 1.0
    n_neighbors: int = 20
    smoothing: float = 0.5

    _least: ClassVar[dict[str, int]] = {**SCCL._least, "n_neighbors": 1}

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        return NeighbourContrast(
            source,
            self._start(source),
            self.contrast_weight,
            self.temperature,
            n_neighbors=self.n_neighbors,
            smoothing=self.smoothing,
        )
