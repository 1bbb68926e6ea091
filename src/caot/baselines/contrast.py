"""What objectives on two views of each sample share, and the plainest of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.baselines.losses import info_nce
from caot.baselines.representation import Representation
from caot.baselines.training import Losses, Objective
from caot.networks import ProjectingNetwork
from caot.training import Event

_ROWS = 65_536


class ViewObjective(Objective):
    """An objective on the vectors of a `Representation`, or on a projection of them.

    Parameters
    ----------
    source
        The samples and their views.
    projects
        Whether instances are compared in a projection that learns, Z, rather than as they are.
    """

    def __init__(self, source: Representation, *, projects: bool = False) -> None:
        self.source = source
        self.projecting: nn.Module = nn.Identity()
        if projects:
            self.projecting = ProjectingNetwork(source.width).to(source.device)
        self.networks: nn.Module = self.projecting
        self.told: list[Event] = []

    def events(self) -> Sequence[Event]:
        """Return what was told since the last call."""
        new, self.told = self.told, []
        return new

    def project(self, vectors: Tensor) -> Tensor:
        """Return what instances are compared by, (n, d), from vectors (n, width)."""
        features: Tensor = self.projecting(self.source.scale * vectors)
        return features

    def features(self, view: int) -> NDArray[np.float32]:
        """Return that of all samples in view 0, 1 or 2, as it is now, (n, d)."""
        vectors = torch.from_numpy(self.source.view(view))
        with torch.no_grad():
            parts = [
                self.project(part.to(self.source.device)).cpu()
                for part in torch.split(vectors, _ROWS)
            ]
        return torch.cat(parts).numpy()

    def set_mode(self, *, training: bool) -> None:
        """Switch dropout on or off."""
        super().set_mode(training=training)
        self.source.set_mode(training=training)


class Contrast(ViewObjective):
    """InfoNCE between the two views of a batch."""

    def __init__(
        self, source: Representation, temperature: float, *, projects: bool = False
    ) -> None:
        super().__init__(source, projects=projects)
        self.temperature = temperature

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the contrast of a batch."""
        v1, v2 = self.source.views(rows)
        return Losses(contrast=info_nce(v1, v2, self.temperature))
