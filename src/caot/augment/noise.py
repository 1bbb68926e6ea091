"""Views of vectors rather than texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from caot.augment.base import Request, TextAugmenter

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class FeatureNoise(TextAugmenter):
    """Noise on vectors: for precomputed features, or behind an encoder that is not trained.

    Each view of a row x is

        m ⊙ (x + scale · σ ⊙ g) / (1 − dropout),

    where g is standard normal, σ holds the standard deviation of each feature over the batch, and
    each entry of m is 0 with probability `dropout` and else 1. A batch of one row has no spread
    over rows; the spread of its entries takes its place.

    Parameters
    ----------
    scale : float
        Noise in units of the features' standard deviation, ≥ 0.
    dropout : float
        Probability that a feature is set to zero, in [0, 1).
    """

    scale: float = 0.1
    dropout: float = 0.1
    name: ClassVar[str] = "feature-noise"

    def __post_init__(self) -> None:
        if not 0.0 <= self.scale < float("inf"):
            raise ValueError(f"scale must be a finite number ≥ 0, got {self.scale!r}.")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must lie in [0, 1), got {self.dropout!r}.")
        if self.scale == 0.0 and self.dropout == 0.0:
            raise ValueError("scale and dropout are both 0: the two views would be equal.")

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        return texts, texts  # `perturb` makes the difference, batch by batch

    def perturb(
        self, batch: torch.Tensor, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return two noisy views of a batch of vectors.

        Parameters
        ----------
        batch : Tensor, shape (n, d)
            Vectors, left as they are.
        generator : torch.Generator
            Source of all draws, on the batch's device.

        Returns
        -------
        first, second : Tensor, shape (n, d)
        """
        over_rows = batch.shape[0] > 1
        spread = batch.std(dim=0 if over_rows else 1, correction=0, keepdim=True)  # (1, d)
        return self._view(batch, spread, generator), self._view(batch, spread, generator)

    def _view(
        self, batch: torch.Tensor, spread: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        noise = batch.new_empty(batch.shape).normal_(generator=generator)
        keep = batch.new_empty(batch.shape).bernoulli_(1.0 - self.dropout, generator=generator)
        return keep * (batch + self.scale * spread * noise) / (1.0 - self.dropout)
