"""A convolutional network over the words of a text."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

_MAPS = (12, 8)
_TOP = 5
_WIDTH = 3


class DynamicCNN(nn.Module):
    """Two wide convolutions over the words, each dimension by itself, with folding and k-max.

    Parameters
    ----------
    vectors : Tensor, shape (V + 1, width)
        Word vectors, row 0 for no word; they stay as they are.
    length : int
        Words a text.
    """

    def __init__(self, vectors: Tensor, length: int) -> None:
        super().__init__()
        # Four dimensions are folded into one, so that their number must divide by four.
        width = 4 * math.ceil(vectors.shape[1] / 4)
        padded = nn.functional.pad(vectors, (0, width - vectors.shape[1]))
        self.words = nn.Parameter(padded, requires_grad=False)
        first, second = _MAPS
        self.first = nn.Conv1d(width, width * first, _WIDTH, padding=_WIDTH - 1, groups=width)
        half = width // 2
        self.second = nn.Conv1d(
            half * first, half * second, _WIDTH, padding=_WIDTH - 1, groups=half
        )
        # After one of two layers, half of the words are kept, and never fewer than in the end.
        self.kept = max(_TOP, math.ceil(length / 2))
        self.dropout = nn.Dropout(0.5)
        self.n_features = width // 4 * second * _TOP

    def forward(self, numbers: Tensor) -> Tensor:
        """Map numbers of words (n, length) to features (n, n_features)."""
        rows = self.words[numbers].mT  # (n, width, length)
        rows = torch.tanh(k_max(fold(self.first(rows), _MAPS[0]), self.kept))
        rows = torch.tanh(k_max(fold(self.second(rows), _MAPS[1]), _TOP))
        features: Tensor = self.dropout(rows.flatten(1))
        return features


def fold(rows: Tensor, n_maps: int) -> Tensor:
    """Add neighbouring dimensions: (n, width · maps, s) to (n, width/2 · maps, s)."""
    n, channels, steps = rows.shape
    pairs = rows.reshape(n, channels // (2 * n_maps), 2, n_maps, steps)
    return pairs.sum(dim=2).reshape(n, channels // 2, steps)


def k_max(rows: Tensor, k: int) -> Tensor:
    """Keep the k greatest values of each row, in their order: (.., s) to (.., k)."""
    if rows.shape[-1] < k:
        rows = nn.functional.pad(rows, (0, k - rows.shape[-1]))
    places = rows.topk(k, dim=-1).indices.sort(dim=-1).values
    return rows.gather(-1, places)
