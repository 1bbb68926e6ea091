"""Methods that cluster what an encoder gives, and train nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from caot.baselines.base import Baseline, Vectors, Views
from caot.baselines.heads import Head
from caot.inputs import Inputs
from caot.preparation import embed, load
from caot.settings import EncoderSpec, PreparationSettings
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
    max_chunks
        Texts of more tokens are read in up to so many chunks, whose mean is their vector; None
        cuts them.
    device
        "cpu", "cuda", ...; None takes the best at hand.
    """

    encoder: EncoderSpec = "auto"
    max_length: int | None = None
    max_chunks: int | None = None
    device: str | None = None

    _least: ClassVar[dict[str, int]] = {**Baseline._least, "max_length": 1, "max_chunks": 1}
    _may_be_none: ClassVar[tuple[str, ...]] = ("max_length", "max_chunks")

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        settings = PreparationSettings(
            encoder=self.encoder,
            max_length=self.max_length,
            max_chunks=self.max_chunks,
            device=self.device,
        )
        loaded = load(settings, inputs)
        vectors = embed(loaded.encoder, loaded.prepared, progress=self.verbose > 0)
        self.networks_ = self._cluster(vectors, inputs)
        self.encoder_ = loaded.encoder
        return vectors

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Head:
        """Return the head that gives the vectors (n, width) their clusters."""
        raise NotImplementedError
