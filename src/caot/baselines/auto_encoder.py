"""An auto-encoder of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn


class AutoEncoder(nn.Module):
    """Encoder of the given sizes, and its mirror image; ``forward`` encodes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.encoding = layers(sizes)
        self.decoding = layers(sizes[::-1])

    def forward(self, rows: Tensor) -> Tensor:
        """Return the features (n, sizes[-1])."""
        features: Tensor = self.encoding(rows)
        return features


def layers(sizes: Sequence[int]) -> nn.Sequential:
    """Return linear layers with ReLU between them."""
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts[:-1])
