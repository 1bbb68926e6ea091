"""What trained methods learn: an encoder's layers, or a linear map on top of a frozen one."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from caot.baselines.base import Vectors
from caot.encoders import Encoder
from caot.encoders.device import device_of
from caot.persistence import load_saved_encoder
from caot.preparation import Preparation
from caot.vectors import unit_scale

_ADAPTER_FILE = "adapter.safetensors"
_ROWS = 65_536


class Adapter(nn.Module):
    """A linear map that starts as the identity, in the place of layers that do not learn.

    The methods of this family train their encoder. With a frozen one their losses would have
    nothing to act on that decides the clusters; this map is the least that they can act on.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))

    def forward(self, embeddings: Tensor) -> Tensor:
        """Map embeddings (n, width) to vectors (n, width)."""
        return embeddings @ self.weight.T


class AdaptedEncoder:
    """An encoder followed by a fitted `Adapter`."""

    def __init__(self, encoder: Encoder, adapter: Adapter) -> None:
        self.encoder, self.adapter = encoder, adapter.eval()
        self.module: nn.Module = encoder.module
        self.name = encoder.name

    @property
    def width(self) -> int:
        """The length of a vector."""
        return self.encoder.width

    @property
    def max_chunks(self) -> int | None:
        """The most chunks of a long text that the encoder reads; None if it cuts them."""
        return getattr(self.encoder, "max_chunks", None)

    def encode(
        self,
        inputs: Iterable[str] | Any,  # noqa: ANN401 - texts, vectors, or what prepare() made
        batch_size: int = 64,
        progress: bool = False,
    ) -> Vectors:
        """Return the adapted embeddings, (n, width)."""
        embeddings = self.encoder.encode(inputs, batch_size=batch_size, progress=progress)
        return self.adapt(embeddings)

    def adapt(self, embeddings: Vectors) -> Vectors:
        """Map embeddings to vectors, both (n, width)."""
        return _through(self.adapter, embeddings)

    def save(self, folder: Path) -> None:
        """Write the encoder and, beside it, the map."""
        self.encoder.save(folder)
        save_file({"weight": self.adapter.weight.detach().cpu()}, folder / _ADAPTER_FILE)

    @classmethod
    def load(cls, folder: Path, device: str | None) -> Self | Encoder:
        """Read what `save` wrote; without a map, the encoder alone."""
        encoder = load_saved_encoder(folder, device)
        if not (folder / _ADAPTER_FILE).is_file():
            return encoder
        weight = load_file(folder / _ADAPTER_FILE)["weight"]
        adapter = Adapter(len(weight)).to(device_of(encoder))
        with torch.no_grad():
            adapter.weight.copy_(weight)
        return cls(encoder, adapter)


class Representation:
    """Vectors of the samples in three views, by what learns as it is now.

    Parameters
    ----------
    prepared
        Encoder and data.
    random_state
        Seed of noise that makes views of vectors.
    always_adapt
        Whether there is an `Adapter` even if the encoder learns.
    """

    def __init__(
        self, prepared: Preparation, random_state: int, *, always_adapt: bool = False
    ) -> None:
        self.prepared = prepared
        self.encoder = prepared.training_encoder
        self.device = device_of(self.encoder)
        self.width = int(self.encoder.width)
        self.adapter: Adapter | None = None
        if prepared.frozen or always_adapt:
            self.adapter = Adapter(self.width).to(self.device)
        self.scale = unit_scale(prepared.vectors)
        self._noise = torch.Generator(self.device).manual_seed(random_state)

    def __len__(self) -> int:
        return len(self.prepared.data)

    def views(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return the two augmented views of a batch, both (n, width)."""
        v1, v2 = self.prepared.data.encode_views(self.encoder, rows, self._noise)
        return self._adapt(v1), self._adapt(v2)

    def originals(self, rows: NDArray[np.int64]) -> Tensor:
        """Return the samples themselves, (n, width)."""
        return self._adapt(self.prepared.data.encode_original(self.encoder, rows))

    @property
    def untrained(self) -> Vectors:
        """All samples as they were before training, (n, width)."""
        return self.prepared.vectors

    def vectors(self) -> Vectors:
        """Return all samples, without dropout or gradient, (n, width)."""
        return self.view(0)

    def view(self, number: int) -> Vectors:
        """Return all samples in view 0 (themselves), 1 or 2, likewise, (n, width)."""
        if number == 0 and self.prepared.frozen:
            embeddings = self.prepared.vectors
        else:
            embeddings = self.encoder.encode(self.prepared.data.view(number))
        return embeddings if self.adapter is None else _through(self.adapter, embeddings)

    def set_mode(self, *, training: bool) -> None:
        """Switch the encoder's dropout on or off."""
        self.encoder.module.train(training)

    def learning(self) -> list[nn.Parameter]:
        """Return all parameters that learn."""
        own = [] if self.adapter is None else list(self.adapter.parameters())
        return [*self.prepared.parameters, *own]

    def copy(self) -> Representation:
        """Return a copy whose parameters are apart; data and noise are shared."""
        twin = copy.copy(self)
        twin.adapter = copy.deepcopy(self.adapter)
        if not self.prepared.frozen:
            twin.encoder = copy.deepcopy(self.encoder)
        return twin

    def final(self) -> tuple[Encoder | AdaptedEncoder, Vectors]:
        """Return the fitted encoder and the vectors of all inputs, (n, width)."""
        self.set_mode(training=False)
        embeddings = self.prepared.final_embeddings()
        if self.adapter is None:
            return self.prepared.encoder, embeddings
        adapted = AdaptedEncoder(self.prepared.encoder, self.adapter)
        return adapted, adapted.adapt(embeddings)

    def _adapt(self, embeddings: Tensor) -> Tensor:
        if self.adapter is None:
            return embeddings
        adapted: Tensor = self.adapter(embeddings)
        return adapted


def _through(adapter: Adapter, embeddings: Vectors) -> Vectors:
    device = adapter.weight.device
    with torch.no_grad():
        parts = [
            adapter(torch.tensor(embeddings[start : start + _ROWS], device=device)).cpu().numpy()
            for start in range(0, len(embeddings), _ROWS)
        ]
    return np.concatenate(parts)
