"""From texts to what a network on word vectors reads."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from caot.baselines.word_vectors import WordVectors


class Sequences:
    """Word vectors of each text in order, padded with zeros, (n, width, length).

    They are scaled to a mean square of one: beside smaller ones the biases of a network are all.
    """

    def __init__(self, words: WordVectors, length: int) -> None:
        self.words, self.length = words, length
        vectors = torch.from_numpy(words.vectors)
        scaled = vectors * vectors.square().mean().clamp_min(1e-12).rsqrt()
        self.table = torch.cat([torch.zeros(1, words.width), scaled])

    def read(self, texts: Iterable[str]) -> Tensor:
        """Return the numbers of the words, 0 for none, (n, length)."""
        ids = [row[: self.length] for row in self.words.ids(texts)]
        numbers = np.zeros((len(ids), self.length), dtype=np.int64)
        for row, known in enumerate(ids):
            numbers[row, : len(known)] = np.array(known, dtype=np.int64) + 1
        return torch.from_numpy(numbers)

    def tensors(self) -> dict[str, Tensor]:
        """Return what the reader is made of."""
        return {"length": torch.tensor([self.length])}


class Sif:
    """Averages of word vectors, common words weighted down, without their common direction.

    Weights are a/(a + p(w)) (Arora, Liang and Ma, ICLR 2017); rows are scaled to a mean square
    of one.
    """

    def __init__(self, words: WordVectors, weight: float, direction: Tensor, scale: Tensor) -> None:
        self.words, self.weight, self.direction, self.scale = words, weight, direction, scale

    @classmethod
    def learn(cls, words: WordVectors, texts: Iterable[str], weight: float) -> Sif:
        """Take the common direction and the scale from the texts."""
        plain = cls(words, weight, torch.zeros(words.width), torch.ones(1))
        rows = plain.read(texts)
        direction = torch.linalg.svd(rows, full_matrices=False).Vh[0]
        rest = rows - (rows @ direction)[:, None] * direction
        return cls(
            words, weight, direction, rest.square().mean().clamp_min(1e-12).rsqrt().reshape(1)
        )

    def read(self, texts: Iterable[str]) -> Tensor:
        """Return one row a text, (n, width); zeros for a text without known words."""
        share = self.words.counts / self.words.counts.sum()
        weighted = self.words.vectors * (self.weight / (self.weight + share))[:, None]
        means = [weighted[ids].mean(axis=0) if ids else None for ids in self.words.ids(texts)]
        zero = np.zeros(self.words.width)
        rows = np.array([zero if m is None else m for m in means], dtype=np.float32)
        found = torch.from_numpy(rows)
        return self.scale * (found - (found @ self.direction)[:, None] * self.direction)

    def tensors(self) -> dict[str, Tensor]:
        """Return what the reader is made of."""
        weight = torch.tensor([self.weight], dtype=torch.float64)
        return {"direction": self.direction, "scale": self.scale, "weight": weight}
