"""A deterministic encoder without any model file, for tests of other layers."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from caot.encoders.batching import encode_tokens
from caot.encoders.layers import count_top
from caot.encoders.protocol import Tokens


class HashModule(nn.Module):
    """The mean of hashed word vectors, dropout, and one linear layer."""

    def __init__(self, n_buckets: int, width: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(n_buckets, width, mode="mean")
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, width)

    def forward(self, values: Tensor, starts: Tensor) -> Tensor:
        vectors: Tensor = self.linear(self.dropout(self.words(values, starts)))
        return vectors


class HashEncoder:
    """An `Encoder` whose words fall into buckets by their crc32; its one layer is linear.

    Texts with common words are near each other, so that clusters can be found.
    """

    n_layers = 1

    def __init__(
        self,
        width: int = 32,
        *,
        n_buckets: int = 1024,
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.name = f"hash-{width}"
        self.width = width
        self.max_length = max_length
        self.n_encoded = 0
        self._n_buckets = n_buckets
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.module = HashModule(n_buckets, width, dropout)

    @property
    def fingerprint(self) -> str:
        content = hashlib.sha256(f"{self.name} {self.max_length}".encode())
        for weight in self.module.state_dict().values():
            content.update(weight.numpy().tobytes())
        return content.hexdigest()

    def prepare(self, inputs: Iterable[str]) -> Tokens:
        rows = []
        for text in inputs:
            words = re.findall(r"\w+", text.lower())[: self.max_length] or [""]
            rows.append([zlib.crc32(word.encode()) % self._n_buckets for word in words])
        return Tokens.from_lists(rows)

    def forward(self, batch: Tokens) -> Tensor:
        self.n_encoded += len(batch)
        vectors: Tensor = self.module(
            torch.from_numpy(batch.values), torch.from_numpy(batch.offsets[:-1])
        )
        return vectors

    def encode(
        self, inputs: Iterable[str] | Tokens, batch_size: int = 64, progress: bool = False
    ) -> NDArray[np.float32]:
        tokens = inputs if isinstance(inputs, Tokens) else self.prepare(inputs)
        return encode_tokens(
            self.forward,
            self.module,
            tokens,
            width=self.width,
            batch_size=batch_size,
            progress=progress,
        )

    def set_trainable(self, layers: int | Literal["all", "none"]) -> list[nn.Parameter]:
        n_top = count_top(layers, self.n_layers)
        self.module.requires_grad_(n_top is None)
        if n_top == 1:
            self.module.linear.requires_grad_(True)
        return [weight for weight in self.module.parameters() if weight.requires_grad]

    def save(self, folder: Path) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file(self.module.state_dict(), Path(folder) / "hash.safetensors")
