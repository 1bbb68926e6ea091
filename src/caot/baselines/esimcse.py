"""ESimCSE: SimCSE with repeated words and negatives from a momentum queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caot.augment import FeatureNoise
from caot.baselines.contrast import Contrast
from caot.baselines.losses import info_nce
from caot.baselines.one_pass import OnePassMethod
from caot.baselines.repetition import WordRepetition
from caot.baselines.representation import Representation
from caot.baselines.training import Losses, Objective
from caot.inputs import Inputs
from caot.settings import AugmenterSpec


class MomentumContrast(Contrast):
    """InfoNCE with further negatives: what a slow twin of the encoder made of earlier batches.

    The twin's parameters follow the encoder's, θ' ← m θ' + (1 − m) θ, after each step.
    """

    def __init__(
        self, source: Representation, temperature: float, momentum: float, queue_size: int
    ) -> None:
        super().__init__(source, temperature)
        self.momentum, self.queue_size = momentum, queue_size
        self.twin = source.copy()
        self.twin.set_mode(training=False)
        self.queue = torch.empty(0, source.width, device=source.device)
        self._newest: NDArray[np.int64] | None = None

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the contrast of a batch."""
        v1, v2 = self.source.views(rows)
        self._newest = rows
        others = self.queue if len(self.queue) else None
        return Losses(contrast=info_nce(v1, v2, self.temperature, others))

    def stepped(self) -> None:
        """Let the twin follow, and let the queue take in its vectors of the batch."""
        pairs = zip(_weights(self.twin), _weights(self.source), strict=True)
        with torch.no_grad():
            for slow, fast in pairs:
                slow.lerp_(fast, 1 - self.momentum)
            assert self._newest is not None  # losses come before a step
            fresh = self.twin.originals(self._newest)
        self.queue = torch.cat([fresh, self.queue])[: self.queue_size]


def _weights(source: Representation) -> list[Tensor]:
    own = [] if source.adapter is None else list(source.adapter.parameters())
    learning = [weight for weight in source.encoder.module.parameters() if weight.requires_grad]
    return [*learning, *own]


@dataclass(eq=False, repr=False, kw_only=True)
class ESimCSE(OnePassMethod):
    """SimCSE whose positives differ in length and whose negatives are more than the batch.

    The original repeats subwords; here words are repeated, which any encoder can read. Views that
    are given have no part in it. Vectors cannot be lengthened: they get SimCSE's dropout.

    Parameters
    ----------
    repetition
        Share of words that may be repeated.
    queue
        Length of the queue of negatives, in batches; no more than the other texts there are.
    momentum
        How slowly the twin that fills the queue follows the encoder.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.one_pass.OnePassMethod`: as in the
    original, training is short and slow.

    References
    ----------
    Wu, Gao, Zang, Han, Wang and Hu. ESimCSE: Enhanced Sample Building Method for Contrastive
    Learning of Unsupervised Sentence Embedding. COLING 2022.
    """

    repetition: float = 0.32
    queue: float = 2.5
    momentum: float = 0.995

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        batch = min(self.batch_size, len(source))
        # A text's own vector, from the pass before, would be a negative of it.
        size = min(round(self.queue * batch), len(source) - batch)
        return MomentumContrast(source, self.temperature, self.momentum, size)

    def _augmenter_for(self, inputs: Inputs, *, frozen: bool) -> AugmenterSpec:
        if inputs.is_vectors:
            return FeatureNoise(scale=0.0, dropout=0.1)
        return WordRepetition(self.repetition)
