"""SimCSE: dropout as the only augmentation, then K-means."""

from __future__ import annotations

from dataclasses import dataclass

from caot.augment import Dropout, FeatureNoise
from caot.baselines.contrast import Contrast
from caot.baselines.one_pass import OnePassMethod
from caot.baselines.representation import Representation
from caot.baselines.training import Objective
from caot.inputs import Inputs
from caot.settings import AugmenterSpec


@dataclass(eq=False, repr=False, kw_only=True)
class SimCSE(OnePassMethod):
    """Unsupervised SimCSE: a text and itself under another dropout mask are a positive pair.

    Views that are given have no part in it. Layers that learn drop, those below them do not: the
    fewer learn, the more alike are the two. With a frozen encoder, which has no dropout, features
    of the embeddings are dropped at the same rate.

    Parameters
    ----------
    dropout
        Share of features dropped where the encoder is frozen; otherwise the encoder's own counts.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.one_pass.OnePassMethod`: as in the
    original, training is short and slow.

    References
    ----------
    Gao, Yao and Chen. SimCSE: Simple Contrastive Learning of Sentence Embeddings. EMNLP 2021.
    """

    dropout: float = 0.1

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        return Contrast(source, self.temperature)

    def _augmenter_for(self, inputs: Inputs, *, frozen: bool) -> AugmenterSpec:
        return FeatureNoise(scale=0.0, dropout=self.dropout) if frozen else Dropout()
