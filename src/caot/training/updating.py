"""The M-step's end: the losses of an iteration, and a step of Adam that nothing can spoil."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from caot.training.config import Objective


class Losses(NamedTuple):
    """The losses of an iteration; None where one has no part."""

    instance: Tensor | None = None  # L_I
    attention: Tensor | None = None  # L_A
    pseudo_label: Tensor | None = None  # L_P

    def total(self, contrast_weight: float) -> Tensor:
        """Return L of the stage (Eqs. 25 and 26)."""
        parts = (self.attention, self.pseudo_label)
        terms = [part for part in parts if part is not None]
        if self.instance is not None and contrast_weight > 0:
            terms.append(contrast_weight * self.instance)
        return torch.stack(terms).sum()


class StepNumbers(NamedTuple):
    """What the host reads of a step: L, the gradient's norm, and L_I, L_A and L_P or NaN."""

    total: float
    norm: float
    instance: float
    attention: float
    pseudo_label: float

    @property
    def is_finite(self) -> bool:
        """Whether loss and gradient were finite, without which no step is taken."""
        return math.isfinite(self.total) and math.isfinite(self.norm)


class Updater:
    """Adam on the networks and the encoder, each at its rate.

    Parameters
    ----------
    networks, encoder
        The parameters that learn; the encoder may have none.
    settings
        The rates, and the weight of L_I.
    """

    def __init__(
        self,
        networks: Sequence[nn.Parameter],
        encoder: Sequence[nn.Parameter],
        settings: Objective,
    ) -> None:
        self.learning, self._contrast_weight = [*networks, *encoder], settings.contrast_weight
        groups = [{"params": list(networks), "lr": settings.learning_rate}]
        if encoder:
            groups.append({"params": list(encoder), "lr": settings.learning_rate_encoder})
        self._fused = networks[0].device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(groups, fused=self._fused)

    def step(self, losses: Losses, sound: Tensor | None = None) -> Tensor:
        """Take a step if loss and gradient are finite and ``sound``; return its numbers, (5,).

        Nothing is read where Adam is fused: the device itself decides whether to take the step.
        Elsewhere (mps) the host has to look first.

        Parameters
        ----------
        sound
            Whether what the losses came from was finite, (), too.
        """
        loss = losses.total(self._contrast_weight)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in self.learning if p.grad is not None]
        size = torch.nn.utils.get_total_norm(gradients)
        unknown = torch.full_like(loss, math.nan)
        numbers = [loss, size, *(unknown if part is None else part for part in losses)]
        told = torch.stack([number.detach() for number in numbers])
        spoilt = ~torch.isfinite(told[:2]).all()
        if sound is not None:
            spoilt |= ~sound.to(spoilt.device)
        if self._fused:
            self.optimizer.found_inf = spoilt.float()  # type: ignore[attr-defined]
            self.optimizer.step()
        elif not bool(spoilt):
            self.optimizer.step()
        return told

    def is_finite(self) -> bool:
        """Tell whether all weights are finite; one read."""
        return bool(torch.stack([torch.isfinite(w).all() for w in self.learning]).all())
