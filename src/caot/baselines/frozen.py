"""Methods that cluster what an encoder gives, and train nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caot.baselines.base import Baseline, Vectors, Views
from caot.baselines.encoding import embed, open_encoder
from caot.baselines.heads import Head
from caot.inputs import Inputs
from caot.settings import EncoderSpec
from caot.training import Callback


@dataclass(eq=False, repr=False, kw_only=True)
class FrozenMethod(Baseline):
    """Embeds once; a method implements ``_cluster``.

    Parameters
    ----------
    encoder
        "auto" (the embedded all-MiniLM-L6-v2), a hub id, a folder, or an
        :class:`~caot.encoders.Encoder`. A matrix of numbers as X needs none.
    max_length
        The most tokens of a text that are read; None is the encoder's own.
    device
        "cpu", "cuda", ...; None takes the best at hand.
    """

    encoder: EncoderSpec = "auto"
    max_length: int | None = None
    device: str | None = None

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        encoder = open_encoder(self.encoder, inputs, max_length=self.max_length, device=self.device)
        vectors = embed(encoder, inputs, progress=self.verbose > 0)
        self.networks_ = self._cluster(vectors, inputs)
        self.encoder_ = encoder
        return vectors

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Head:
        """Return the head that gives the vectors (n, width) their clusters."""
        raise NotImplementedError
