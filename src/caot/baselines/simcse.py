"""SimCSE: dropout as the only augmentation, then K-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from caot.augment import Dropout, FeatureNoise
from caot.baselines.base import Views
from caot.baselines.contrast import Contrast
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Objective
from caot.inputs import Inputs
from caot.settings import AugmenterSpec


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
