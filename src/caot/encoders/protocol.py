"""What every encoder offers, and the ragged batch of token ids that text encoders work on."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor, nn

    RowIndex: TypeAlias = Sequence[int] | NDArray[np.int64] | NDArray[np.bool_]

# Each encoder says what it reads (texts, arrays, tables) and which batches it maps to vectors.
Inputs: TypeAlias = Any
Batch: TypeAlias = Any


def row_numbers(rows: RowIndex) -> NDArray[np.int64]:
    """Turn a list, an integer array or a boolean mask into row numbers."""
    index = np.asarray(rows)
    if index.ndim != 1:
        msg = f"rows must be one-dimensional, got an array of shape {index.shape}"
        raise ValueError(msg)
    if index.dtype == np.bool_:
        return np.flatnonzero(index)
    if index.size == 0:
        return np.empty(0, dtype=np.int64)
    return index.astype(np.int64, casting="same_kind")


@runtime_checkable
class Batchable(Protocol):
    """Prepared inputs: rows that can be counted, selected and recognised by their content."""

    def __len__(self) -> int: ...

    def take(self, rows: RowIndex) -> Batchable:
        """Return the given rows, in that order."""
        ...

    def digest(self) -> str:
        """Return a sha256 of the content."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """What n texts have one of per token, one text after the other without padding.

    Parameters
    ----------
    values : array, shape (total, ...)
        One entry per token.
    offsets : int64 array, shape (n + 1,)
        Text i owns ``values[offsets[i]:offsets[i + 1]]``.
    """

    values: NDArray[Any]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        ends = self.offsets
        if ends.ndim != 1 or ends.dtype != np.int64:
            msg = f"offsets must be a 1-D int64 array, got {ends.dtype} of shape {ends.shape}"
            raise ValueError(msg)
        whole = ends.size > 0 and ends[0] == 0 and ends[-1] == len(self.values)
        if not whole or bool((np.diff(ends) < 0).any()):
            msg = "offsets must rise from 0 to the number of values"
            raise ValueError(msg)

    @classmethod
    def concat(cls, *parts: Self) -> Self:
        """Put batches, at least one, one after the other."""
        lengths = [np.zeros(1, dtype=np.int64), *(part.lengths for part in parts)]
        values = np.concatenate([part.values for part in parts])
        return cls(values, np.cumsum(np.concatenate(lengths)))

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each text, shape (n,)."""
        return np.diff(self.offsets)

    def take(self, rows: RowIndex) -> Self:
        """Return the given texts, in that order; rows may repeat."""
        index = row_numbers(rows)
        starts = self.offsets[:-1][index]
        lengths = self.offsets[1:][index] - starts
        offsets = np.zeros(index.size + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        shifts = np.repeat(starts - offsets[:-1], lengths)
        values = self.values[np.arange(int(offsets[-1])) + shifts]
        return type(self)(values, offsets)

    def digest(self) -> str:
        """Return a sha256 of the values and of where each text ends."""
        content = hashlib.sha256(np.ascontiguousarray(self.offsets).data)
        content.update(np.ascontiguousarray(self.values).data)
        return content.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Tokens(Ragged):
    """Token ids of n texts; ``values`` is an int64 array, shape (total,)."""

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype != np.int64:
            shape = self.values.shape
            msg = f"values must be a 1-D int64 array, got {self.values.dtype} of shape {shape}"
            raise ValueError(msg)
        Ragged.__post_init__(self)

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Self:
        """Make tokens from one list of ids per text."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        values = np.fromiter((token for row in rows for token in row), np.int64, int(offsets[-1]))
        return cls(values, offsets)

    def padded(self, pad: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return ids padded on the right to the longest text, and the mask, both (n, longest)."""
        lengths = self.lengths
        real = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
        ids = np.full(real.shape, pad, dtype=np.int64)
        ids[real] = self.values
        return ids, real.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Activations(Ragged):
    """Hidden states of n texts between two layers; ``values`` has shape (total, width)."""


@runtime_checkable
class Encoder(Protocol):
    """Turns inputs into vectors of one width (Eq. 16), and can be trained from the top down.

    `prepare` does the work that is needed once per text; `forward` maps what `prepare` returned, or
    rows of it, to vectors. An encoder may accept further kinds of `Batchable` in `forward`, such as
    activations of frozen layers kept from an earlier pass.
    """

    @property
    def name(self) -> str:
        """The model id or path, as shown to users."""
        ...

    @property
    def fingerprint(self) -> str:
        """A sha256 of all that decides the vectors: weights, tokenizer, pooling, maximum length.

        It is costly the first time, and follows the weights when they are trained.
        """
        ...

    @property
    def width(self) -> int:
        """The length of a vector."""
        ...

    @property
    def n_layers(self) -> int:
        """How many layers `set_trainable` can count; 0 when nothing can be trained."""
        ...

    @property
    def max_length(self) -> int | None:
        """The most tokens of a text that are read; None when there is no limit."""
        ...

    @property
    def module(self) -> nn.Module:
        """Holds the parameters and the training or evaluation mode."""
        ...

    def prepare(self, inputs: Inputs) -> Batchable:
        """Check the inputs and do the work needed once: tokenise texts, look through arrays."""
        ...

    def forward(self, batch: Batch) -> Tensor:
        """Map n prepared rows to vectors (n, width), in the module's mode and torch's grad mode."""
        ...

    def encode(
        self, inputs: Inputs | Batch, batch_size: int = 64, progress: bool = False
    ) -> NDArray[np.float32]:
        """Map raw or prepared inputs to vectors (n, width) in evaluation mode, without gradients.

        Equal inputs get bit-identical vectors.
        """
        ...

    def set_trainable(self, layers: int | Literal["all", "none"]) -> list[nn.Parameter]:
        """Leave only the top layers trainable, and return their parameters."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that is needed to load the encoder again; never pickle."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """What an encoder offers besides if it can keep the vectors of texts that it has encoded."""

    def remembering(self, max_bytes: float) -> AbstractContextManager[None]:
        """Within the block, encode no text twice, while there is room for its vector."""
        ...


def remembering(encoder: Encoder, max_bytes: float) -> AbstractContextManager[None]:
    """Let an encoder remember what it encodes within a block, if it can and there is room."""
    if max_bytes > 0 and isinstance(encoder, Remembering):
        return encoder.remembering(max_bytes)
    return nullcontext()


@runtime_checkable
class LayeredEncoder(Encoder, Protocol):
    """An encoder whose frozen layers can run apart from those that learn."""

    n_frozen: int

    @property
    def hidden_width(self) -> int:
        """The length of a token's vector between two layers."""
        ...

    @property
    def layer_size(self) -> int:
        """How many weights a layer has."""
        ...

    @property
    def can_run_by_parts(self) -> bool:
        """Whether `lower` can run."""
        ...

    def lower(self, batch: Tokens) -> Activations:
        """Run the frozen layers, without dropout or gradients; `forward` does the others."""
        ...
