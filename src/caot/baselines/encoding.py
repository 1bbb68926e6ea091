"""Load the encoder that a method was told to use, and embed with it."""

from __future__ import annotations

import copy
import os

import numpy as np
from numpy.typing import NDArray

from caot.encoders import EmbeddingCache, Encoder, Features, load_encoder
from caot.encoders.availability import is_offline
from caot.inputs import Inputs
from caot.settings import EncoderSpec


def open_encoder(
    spec: EncoderSpec,
    inputs: Inputs,
    *,
    max_length: int | None,
    max_chunks: int | None,
    device: str | None,
) -> Encoder:
    """Return the encoder for the inputs; a user's own is copied."""
    if inputs.is_vectors:
        return Features(device=device or "cpu")
    if not isinstance(spec, str | os.PathLike):
        return copy.deepcopy(load_encoder(spec, max_chunks=max_chunks))
    return load_encoder(
        spec,
        max_length=max_length,
        max_chunks=max_chunks,
        device=device,
        local_files_only=is_offline(),
    )


def embed(encoder: Encoder, inputs: Inputs, *, progress: bool) -> NDArray[np.float32]:
    """Return the embeddings (n, width), through the cache on disk if ``CAOT_CACHE`` names one."""
    if os.environ.get("CAOT_CACHE"):
        return EmbeddingCache().get(encoder, inputs.values, progress=progress)
    return encoder.encode(inputs.values, progress=progress)
