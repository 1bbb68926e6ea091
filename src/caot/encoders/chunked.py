"""Texts longer than an encoder reads: encoded in chunks, whose mean is the text's vector.

Prepared texts are `Tokens`, as those of any text encoder. The ids of a long text are those of its
chunks one after the other, each with the special tokens: every chunk but the last has the encoder's
maximum length, so that lengths alone tell where chunks end. Selecting, hashing and keeping what
frozen layers give need no more than that.
"""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import torch
from torch.nn import functional

from caot.encoders.lower import Deferred
from caot.encoders.packed import Layout
from caot.encoders.protocol import Activations, Ragged, Tokens
from caot.encoders.tokenising import checked_texts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from caot.encoders.protocol import Batchable
    from caot.encoders.transformer import TransformerEncoder

# Long texts tokenised whole at a time: of each, no more is kept than its chunks.
_WHOLE_TOGETHER = 256

# Chunks that frozen layers run on together: a group of texts may hold many.
_LOWER_TOGETHER = 64

logger = logging.getLogger("caot.encoders")

RaggedT = TypeVar("RaggedT", bound=Ragged)


class ChunkedEncoder:
    """A transformer that reads long texts in chunks, and short ones as it does without them.

    A text of more tokens than ``encoder.max_length`` is divided into consecutive chunks of that
    length, the last one shorter. A chunk has the prompt and the special tokens of a text of its
    own; the first one is what the encoder alone would read. The text's vector is the mean of its
    chunks' vectors, weighted by how many tokens of the text they hold, and has length one if the
    encoder's vectors have. A text that fits has the encoder's own vector.

    Of a text with more than `max_chunks` chunks, so many are read, evenly spread from the first to
    the last: the end of a document says as much about it as its beginning.

    Parameters
    ----------
    encoder : TransformerEncoder
        Encodes the chunks; it is used as it is, not copied.
    max_chunks : int
        The most chunks of a text that are read.

    Examples
    --------
    >>> from caot.encoders import load_encoder
    >>> encoder = load_encoder("auto", max_chunks=8)  # doctest: +SKIP
    """

    def __init__(self, encoder: TransformerEncoder, *, max_chunks: int = 8) -> None:
        if not isinstance(max_chunks, int) or isinstance(max_chunks, bool) or max_chunks < 1:
            msg = f"max_chunks must be an integer of at least 1, got {max_chunks!r}"
            raise ValueError(msg)
        self.encoder = encoder
        self.max_chunks = max_chunks
        self._n_before, self._n_after = _frame(encoder)
        if encoder.max_length is not None and self._room(encoder.max_length) < 1:
            msg = (
                f"prompt and special tokens take {self._n_before + self._n_after} tokens, which "
                f"leaves no room for text: max_length is {encoder.max_length}"
            )
            raise ValueError(msg)

    @property
    def name(self) -> str:
        """The encoder's model id or path."""
        return self.encoder.name

    @property
    def fingerprint(self) -> str:
        """A sha256 of the encoder's fingerprint and the number of chunks."""
        content = f"chunked {self.max_chunks} {self.encoder.fingerprint}"
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def width(self) -> int:
        """The length of a vector."""
        return self.encoder.width

    @property
    def n_layers(self) -> int:
        """The number of transformer layers."""
        return self.encoder.n_layers

    @property
    def n_frozen(self) -> int:
        """How many layers, counted from the input, `lower` runs and `forward` leaves to it."""
        return self.encoder.n_frozen

    @property
    def hidden_width(self) -> int:
        """The length of a token's vector between two layers."""
        return self.encoder.hidden_width

    @property
    def layer_size(self) -> int:
        """How many weights a layer has."""
        return self.encoder.layer_size

    @property
    def can_run_by_parts(self) -> bool:
        """Whether `lower` can run the frozen layers apart from the others."""
        return self.encoder.can_run_by_parts

    @property
    def max_length(self) -> int | None:
        """The most tokens of a text that are read, those of all its chunks."""
        length = self.encoder.max_length
        return None if length is None else self.max_chunks * length

    @property
    def module(self) -> nn.Module:
        """The encoder's modules."""
        return self.encoder.module

    def prepare(self, inputs: Iterable[str]) -> Tokens:
        """Tokenise the texts; a long one becomes its chunks, one after the other."""
        texts = checked_texts(inputs)
        tokens = self.encoder.prepare(texts)
        limit = self.encoder.max_length
        if limit is None:
            return tokens
        full = np.flatnonzero(tokens.lengths >= limit).tolist()
        chunked: dict[int, NDArray[np.int64]] = {}
        n_left_out = 0
        for start in range(0, len(full), _WHOLE_TOGETHER):
            rows = full[start : start + _WHOLE_TOGETHER]
            whole = self.encoder.prepare_whole([texts[row] for row in rows])
            for row, ids in zip(rows, np.split(whole.values, whole.offsets[1:-1]), strict=True):
                if ids.size > limit:
                    chunked[row] = self._chunks_of(ids, limit)
                    n_left_out += ids.size > self._readable(limit)
        if not chunked:
            return tokens
        told = "%d of %d texts have more than %d tokens: read in chunks, %d of them not wholly"
        logger.info(told, len(chunked), len(texts), limit, n_left_out)
        place_of = np.arange(len(tokens))
        place_of[list(chunked)] = len(tokens) + np.arange(len(chunked))
        return Tokens.concat(tokens, *map(_one_row, chunked.values())).take(place_of)

    def forward(self, batch: Batchable) -> Tensor:
        """Map n prepared texts, or what `lower` made of them, to vectors (n, width)."""
        if not isinstance(batch, Ragged):
            msg = f"forward takes Tokens, as prepare() returns them, got {type(batch).__name__}"
            raise TypeError(msg)
        chunks, bounds = self._split(batch)
        return self._means(self.encoder.forward(chunks), chunks.lengths, bounds)

    def lower(self, batch: Tokens) -> Activations:
        """Run the frozen layers, without dropout or gradients; `forward` does the others."""
        chunks, _ = self._split(batch)
        parts = [
            self.encoder.lower(chunks.take(np.arange(len(chunks))[start : start + _LOWER_TOGETHER]))
            for start in range(0, len(chunks), _LOWER_TOGETHER)
        ]
        return Activations(Activations.concat(*parts).values, batch.offsets)

    def encode(
        self,
        inputs: Iterable[str] | Ragged | Deferred,
        batch_size: int = 64,
        progress: bool = False,
    ) -> NDArray[np.float32]:
        """Encode texts, or what `prepare` or `lower` made of them, without gradients.

        Each distinct chunk is encoded once; `batch_size` counts chunks, so that long texts need no
        more memory than short ones. Returns (n, width).
        """
        source: Ragged | Deferred
        if isinstance(inputs, Deferred):
            chunks, bounds = self._split(inputs.tokens)
            source = Deferred(self.encoder, chunks)
        else:
            prepared = inputs if isinstance(inputs, Ragged) else self.prepare(inputs)
            source, bounds = self._split(prepared)
        vectors = self.encoder.encode(source, batch_size=batch_size, progress=progress)
        means: NDArray[np.float32]
        means = self._means(torch.from_numpy(vectors), source.lengths, bounds).numpy()
        return means

    def remembering(self, max_bytes: float) -> AbstractContextManager[None]:
        """Within the block, encode no chunk twice, while there is room for its vector."""
        return self.encoder.remembering(max_bytes)

    def set_trainable(self, layers: int | Literal["all", "none"]) -> list[nn.Parameter]:
        """Leave the encoder's top layers trainable; return their parameters."""
        return self.encoder.set_trainable(layers)

    def save(self, folder: Path) -> None:
        """Write the encoder's sentence-transformers folder.

        Such a folder has no place for chunks: give `max_chunks` again when it is loaded. A saved
        model knows it.
        """
        self.encoder.save(folder)

    def _room(self, limit: int) -> int:
        """Return how many tokens of a text a chunk holds."""
        return limit - self._n_before - self._n_after

    def _readable(self, limit: int) -> int:
        """Return how many tokens a text may have, special tokens included, to be read wholly."""
        return self.max_chunks * self._room(limit) + self._n_before + self._n_after

    def _chunks_of(self, ids: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
        """Return the ids of a long text's chunks, one after the other."""
        room = self._room(limit)
        end = ids.size - self._n_after
        before, body, after = ids[: self._n_before], ids[self._n_before : end], ids[end:]
        n_chunks = -(-body.size // room)
        # Rounded steps of more than one: no chunk is taken twice.
        taken = np.linspace(0, n_chunks - 1, min(n_chunks, self.max_chunks)).round().astype(int)
        return np.concatenate(
            [
                part
                for chunk in taken.tolist()
                for part in (before, body[chunk * room : (chunk + 1) * room], after)
            ]
        )

    def _split(self, batch: RaggedT) -> tuple[RaggedT, NDArray[np.int64]]:
        """Return the chunks as rows of their own, and which chunks each text owns.

        Text i owns chunks ``bounds[i]`` up to, not including, ``bounds[i + 1]``.
        """
        limit = self.encoder.max_length
        counts = np.ones(len(batch), dtype=np.int64)
        if limit is not None:
            counts = np.maximum(counts, -(-batch.lengths // limit))
        bounds = np.zeros(len(batch) + 1, dtype=np.int64)
        np.cumsum(counts, out=bounds[1:])
        if limit is None or bounds[-1] == len(batch):
            return batch, bounds
        place = np.arange(bounds[-1]) - np.repeat(bounds[:-1], counts)  # of a chunk in its text
        starts = np.repeat(batch.offsets[:-1], counts) + place * limit
        return type(batch)(batch.values, np.append(starts, batch.offsets[-1])), bounds

    def _means(
        self, vectors: Tensor, lengths: NDArray[np.int64], bounds: NDArray[np.int64]
    ) -> Tensor:
        """Return the weighted mean of each text's chunks, (n, width)."""
        if len(vectors) == len(bounds) - 1:  # the encoder's own vectors, bit for bit
            return vectors
        # Texts with equally many chunks together: sums then do not depend on the others.
        layout = Layout.of(np.diff(bounds))
        rows = Ragged(np.arange(len(vectors)), bounds).take(layout.order).values
        n_tokens = torch.from_numpy(lengths[rows] - self._n_before - self._n_after)
        weights = n_tokens.to(vectors.device, torch.float32)
        blocks = torch.split(vectors[torch.from_numpy(rows)], layout.sizes)
        means = []
        for block, weight, (n_texts, n_chunks) in zip(
            blocks, torch.split(weights, layout.sizes), layout.groups, strict=True
        ):
            if n_chunks == 1:
                means.append(block)
                continue
            share = weight.view(n_texts, n_chunks, 1)
            share = share / share.sum(dim=1, keepdim=True)
            mean = (share * block.view(n_texts, n_chunks, -1)).sum(dim=1)
            unit = self.encoder.has_unit_vectors
            means.append((functional.normalize(mean) if unit else mean).to(vectors.dtype))
        return torch.cat(means)[torch.from_numpy(np.argsort(layout.order, kind="stable"))]


def _one_row(ids: NDArray[np.int64]) -> Tokens:
    return Tokens(ids, np.array([0, ids.size], dtype=np.int64))


def _frame(encoder: TransformerEncoder) -> tuple[int, int]:
    """Return how many tokens stand before and after those of a text: prompt, template, special.

    They are what an empty text has in common with another one.
    """
    both = encoder.prepare_whole(["", "text"])
    empty, filled = (both.take([row]).values for row in (0, 1))
    n_before = _n_equal(empty, filled)
    return n_before, _n_equal(empty[n_before:][::-1], filled[n_before:][::-1])


def _n_equal(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """Return how many entries are equal before the first that differs."""
    n = min(first.size, second.size)
    differs = np.flatnonzero(first[:n] != second[:n])
    return int(differs[0]) if differs.size else n
