"""Encode many texts: each distinct text once, batches of similar length, results in input order."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from tqdm.auto import tqdm

from caot.encoders.protocol import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from caot.encoders.lower import Deferred
    from caot.encoders.protocol import Ragged


@contextmanager
def evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode, and each of its parts back into its own mode."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def distinct_rows(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each distinct text, and for every row its place among them."""
    places: dict[bytes, int] = {}
    first: list[int] = []
    place_of = np.empty(len(tokens), dtype=np.int64)
    ends = tokens.offsets.tolist()
    for row in range(len(tokens)):
        key = tokens.values[ends[row] : ends[row + 1]].tobytes()
        place = places.setdefault(key, len(first))
        if place == len(first):
            first.append(row)
        place_of[row] = place
    return np.asarray(first, dtype=np.int64), place_of


def encode_tokens(
    forward: Callable[[Ragged], torch.Tensor],
    module: torch.nn.Module,
    tokens: Ragged | Deferred,
    *,
    width: int,
    batch_size: int = 64,
    progress: bool = False,
) -> NDArray[np.float32]:
    """Run `forward` over all tokens in evaluation mode, without gradients.

    Parameters
    ----------
    forward : callable
        Maps a batch of tokens to vectors (n, width).
    module : nn.Module
        The module whose mode is set for the time of the call.
    tokens : Tokens, Activations or Deferred
        The texts, or what the lower layers make of them.
    width : int
        The length of a vector.
    batch_size : int
        Distinct texts per call of `forward`.
    progress : bool
        Show a progress bar.

    Returns
    -------
    float32 array, shape (n, width)
    """
    if batch_size < 1:
        msg = f"batch_size must be at least 1, got {batch_size}"
        raise ValueError(msg)
    if isinstance(tokens, Tokens):
        first, place_of = distinct_rows(tokens)
    else:
        first = place_of = np.arange(len(tokens))
    # Longest first: a batch that does not fit into memory fails at once.
    order = np.argsort(-tokens.lengths[first], kind="stable")
    vectors = np.empty((len(first), width), dtype=np.float32)
    starts = range(0, len(first), batch_size)
    # no_grad, not inference_mode: a buffer that a model makes here may be needed in training.
    with evaluation_mode(module), torch.no_grad():
        for start in tqdm(starts, desc="Encoding", unit="batch", disable=not progress):
            rows = order[start : start + batch_size]
            vectors[rows] = forward(tokens.take(first[rows])).float().cpu().numpy()
    return vectors[place_of]
