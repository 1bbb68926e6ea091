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


class VectorMemory:
    """Vectors of texts that were encoded before, found again by their tokens.

    Parameters
    ----------
    max_bytes : float
        How much may be kept; what comes after that is encoded every time.
    """

    def __init__(self, max_bytes: float) -> None:
        self._room = max_bytes
        self._vectors: dict[bytes, NDArray[np.float32]] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, key: bytes) -> NDArray[np.float32] | None:
        """Return the vector of these tokens, (width,), if it is known."""
        return self._vectors.get(key)

    def keep(self, key: bytes, vector: NDArray[np.float32]) -> None:
        """Keep a vector while there is room."""
        self._room -= len(key) + vector.nbytes
        if self._room >= 0:
            self._vectors[key] = vector


def distinct_rows(
    tokens: Tokens,
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[bytes]]:
    """Return the first row of each distinct text, every row's place among them, and their keys."""
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
    return np.asarray(first, dtype=np.int64), place_of, list(places)


def encode_tokens(
    forward: Callable[[Ragged], torch.Tensor],
    module: torch.nn.Module,
    tokens: Ragged | Deferred,
    *,
    width: int,
    batch_size: int = 64,
    progress: bool = False,
    memory: VectorMemory | None = None,
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
    memory : VectorMemory, optional
        Texts in it are not encoded again, and those that are go into it.

    Returns
    -------
    float32 array, shape (n, width)
    """
    if batch_size < 1:
        msg = f"batch_size must be at least 1, got {batch_size}"
        raise ValueError(msg)
    keys: list[bytes] = []
    if isinstance(tokens, Tokens):
        first, place_of, keys = distinct_rows(tokens)
    else:
        first = place_of = np.arange(len(tokens))
    vectors = np.empty((len(first), width), dtype=np.float32)
    known = _recall(memory, keys, vectors)
    # Longest first: a batch that does not fit into memory fails at once.
    order = np.argsort(-tokens.lengths[first], kind="stable")
    order = order[~known[order]]
    starts = range(0, len(order), batch_size)
    # no_grad, not inference_mode: a buffer that a model makes here may be needed in training.
    with evaluation_mode(module), torch.no_grad():
        for start in tqdm(starts, desc="Encoding", unit="batch", disable=not progress):
            rows = order[start : start + batch_size]
            vectors[rows] = forward(tokens.take(first[rows])).float().cpu().numpy()
    if memory is not None and keys:
        for place in order.tolist():
            memory.keep(keys[place], vectors[place].copy())
    return vectors[place_of]


def _recall(
    memory: VectorMemory | None, keys: list[bytes], vectors: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Fill in the vectors that are known, and tell which these are, (m,)."""
    known = np.zeros(len(vectors), dtype=np.bool_)
    if memory is None:
        return known
    for place, key in enumerate(keys):
        vector = memory.get(key)
        if vector is not None:
            vectors[place], known[place] = vector, True
    return known
