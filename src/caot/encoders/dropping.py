"""Dropout for half precision on a processor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

_HALF = (torch.bfloat16, torch.float16)
_STEPS = 1 << 16


def drop(values: Tensor, rate: float) -> Tensor:
    """Return the values with a share of them set to zero and the others scaled up.

    Torch draws a float for each value, which costs a processor more than the norm that follows. In
    half precision 16 random bits do: the rate is met to 1/65,536, and scaled for as it is met.
    """
    dropped = round(rate * _STEPS)
    if values.dtype not in _HALF or values.device.type != "cpu" or not 0 < dropped < _STEPS:
        return functional.dropout(values, rate) if rate > 0 else values
    words = torch.empty((values.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = words.view(torch.int16)[: values.numel()].view(values.shape)
    kept = (bits >= dropped - _STEPS // 2).to(values.dtype)
    return values * kept.mul_(_STEPS / (_STEPS - dropped))


def rate_of(dropout: nn.Dropout | None) -> float:
    """Return which share a module drops in its mode."""
    return dropout.p if dropout is not None and dropout.training else 0.0
