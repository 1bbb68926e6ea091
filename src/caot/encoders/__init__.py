"""Encoders: from texts, or vectors made elsewhere, to rows of one width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caot.encoders.availability import EncoderNotAvailable
from caot.encoders.cache import EmbeddingCache
from caot.encoders.chunked import ChunkedEncoder
from caot.encoders.embedded import embedded_path, load_embedded
from caot.encoders.features import Features, Rows, reads_vectors
from caot.encoders.lazy import transformer_encoder
from caot.encoders.loading import load_encoder
from caot.encoders.lower import Deferred, keep_lower
from caot.encoders.protocol import (
    Activations,
    Batchable,
    Encoder,
    LayeredEncoder,
    Ragged,
    Tokens,
    remembering,
)

if TYPE_CHECKING:
    from caot.encoders.transformer import TransformerEncoder

__all__ = [
    "Activations",
    "Batchable",
    "ChunkedEncoder",
    "Deferred",
    "EmbeddingCache",
    "Encoder",
    "EncoderNotAvailable",
    "Features",
    "LayeredEncoder",
    "Ragged",
    "Rows",
    "Tokens",
    "TransformerEncoder",
    "embedded_path",
    "keep_lower",
    "load_embedded",
    "load_encoder",
    "reads_vectors",
    "remembering",
]


def __getattr__(name: str) -> type[TransformerEncoder]:
    if name == "TransformerEncoder":
        return transformer_encoder()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
