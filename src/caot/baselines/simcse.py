"""SimCSE: dropout as the only augmentation, then K-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from caot.augment import Dropout, FeatureNoise
from caot.baselines.base import Views
from caot.baselines.losses import info_nce
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Losses, Objective
from caot.inputs import Inputs
from caot.settings import AugmenterSpec


class Contrast(Objective):
    """InfoNCE between the two views of a batch."""

    def __init__(self, source: Representation, temperature: float) -> None:
        self.source, self.temperature = source, temperature
        self.networks: nn.Module = nn.Identity()

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the contrast of a batch."""
        v1, v2 = self.source.views(rows)
        return Losses(contrast=info_nce(v1, v2, self.temperature))

    def set_mode(self, *, training: bool) -> None:
        """Switch dropout on or off."""
        self.source.set_mode(training=training)


@dataclass(eq=False, repr=False, kw_only=True)
class SimCSE(TrainedMethod):
    """Unsupervised SimCSE: a text and itself under another dropout mask are a positive pair.

    Views that are given have no part in it. With a frozen encoder, which has no dropout, features
    of the embeddings are dropped at the same rate.

    Parameters
    ----------
    temperature
        Of InfoNCE.
    dropout
        Share of features dropped where the encoder is frozen; otherwise the encoder's own counts.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`. As in the
    original, training is short and slow: one pass by default, at a rate of 3e-5. More of it
    drives texts of one cluster apart.

    References
    ----------
    Gao, Yao and Chen. SimCSE: Simple Contrastive Learning of Sentence Embeddings. EMNLP 2021.
    """

    batch_size: int = 64
    learning_rate: float = 3e-5
    learning_rate_encoder: float | None = 3e-5
    temperature: float = 0.05
    dropout: float = 0.1

    def _usual_iterations(self, n_samples: int, *, frozen: bool) -> int:
        return max(1, n_samples // self.batch_size)

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        return Contrast(source, self.temperature)

    def _views_for(self, inputs: Inputs, views: Views | None) -> tuple[Any, Any] | None:
        return None

    def _augmenter_for(self, inputs: Inputs, *, frozen: bool) -> AugmenterSpec:
        return FeatureNoise(scale=0.0, dropout=self.dropout) if frozen else Dropout()
