"""Methods that fine-tune as SimCSE does: briefly, slowly, and on views of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from caot.baselines.base import Views
from caot.baselines.trained import TrainedMethod
from caot.inputs import Inputs


@dataclass(eq=False, repr=False, kw_only=True)
class OnePassMethod(TrainedMethod):
    """Trains for one pass over the samples by default, at a rate of 3e-5.

    More of it drives texts of one cluster apart. Views that are given have no part in it.

    Parameters
    ----------
    temperature
        Of InfoNCE.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`.
    """

    batch_size: int = 64
    learning_rate: float = 3e-5
    learning_rate_encoder: float | None = 3e-5
    temperature: float = 0.05

    def _usual_iterations(self, n_samples: int, *, frozen: bool) -> int:
        return max(1, n_samples // self.batch_size)

    def _views_for(self, inputs: Inputs, views: Views | None) -> tuple[Any, Any] | None:
        return None
