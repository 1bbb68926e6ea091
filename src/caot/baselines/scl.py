"""SCL: positives that a text's relatives make up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from caot.baselines.contrast import Contrast
from caot.baselines.losses import info_nce, self_expression
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Losses, Objective


class SubspaceContrast(Contrast):
    """InfoNCE between a text and what the other texts of its batch say about it.

    C with zero diagonal expresses each vector by the others, so that row i of CZ is a positive made
    of texts of the same subspace. It is found in the untrained vectors: found in Z itself, what
    the contrast draws together would be what it draws together even more.
    """

    def __init__(
        self, source: Representation, temperature: float, ridge: float, weight: float
    ) -> None:
        super().__init__(source, temperature)
        self.ridge, self.weight = ridge, weight

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the contrast of a batch."""
        vectors = self.source.originals(rows)
        untrained = torch.from_numpy(self.source.untrained[rows]).to(vectors.device)
        expression = self_expression(functional.normalize(untrained, dim=1), self.ridge)
        virtual = expression @ functional.normalize(vectors, dim=1)
        contrast = info_nce(vectors, virtual, self.temperature)
        if self.weight > 0:
            contrast = contrast + self.weight * info_nce(*self.source.views(rows), self.temperature)
        return Losses(contrast=contrast)


@dataclass(eq=False, repr=False, kw_only=True)
class SCL(TrainedMethod):
    """Subspace contrastive learning, then K-means in the learned projection.

    The projection is a linear map behind the encoder that starts as the identity.

    Parameters
    ----------
    temperature
        Of the contrast.
    ridge
        Penalty on the self-expression, whose rows come in closed form.
    view_weight
        Weight of a contrast between two views beside it; 0 leaves it out, and no views are made.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`. The original
    learns C by gradient steps; here it is solved exactly for each batch, and of the vectors as they
    were before training. Layers learn slowly: at
    the rate of the other methods the vectors lose their classes within 100 iterations (seen on
    AgNews, with its labels).

    References
    ----------
    Yong, Chen and Zhou. Contrastive Learning Subspace for Text Clustering. arXiv:2408.14119.
    """

    temperature: float = 0.5
    ridge: float = 1.0
    view_weight: float = 0.0
    learning_rate_encoder: float | None = 2e-5

    _always_adapts: ClassVar[bool] = True

    def _needs_views(self) -> bool:
        return self.view_weight > 0

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        return SubspaceContrast(source, self.temperature, self.ridge, self.view_weight)
