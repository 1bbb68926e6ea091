"""Embeddings kept on disk, found again by the content of encoder and inputs."""

from __future__ import annotations

import hashlib
import logging
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caot.encoders.features import Features
from caot.encoders.protocol import Batchable
from caot.files import atomic_file, cache_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from caot.encoders.protocol import Encoder, Inputs

logger = logging.getLogger("caot.encoders")


class EmbeddingCache:
    """Encodes each set of inputs once per encoder, and keeps the vectors as float32 ``.npy`` files.

    A change of weights, tokenizer, pooling, maximum length, inputs or their order makes a new file.

    Parameters
    ----------
    folder : path, optional
        Where the files lie; None means `caot.files.cache_folder`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = cache_folder() if folder is None else Path(folder).expanduser()

    def get(
        self, encoder: Encoder, inputs: Inputs, batch_size: int = 64, progress: bool = False
    ) -> NDArray[np.float32]:
        """Return ``encoder.encode(inputs, batch_size, progress)``, from disk where it is known.

        Parameters
        ----------
        encoder : Encoder
            Only asked to encode when no file fits. `Features` need no cache and are passed by.
        inputs : texts, or what ``encoder.prepare`` returned
            Must be in the same order to be found again.
        batch_size, progress
            As in ``encode``; they do not change the vectors beyond rounding.
        """
        if isinstance(encoder, Features):
            return encoder.encode(inputs, batch_size=batch_size, progress=progress)
        prepared = inputs if isinstance(inputs, Batchable) else encoder.prepare(inputs)
        path = self.path(encoder, prepared)
        known = _read(path, (len(prepared), encoder.width))
        if known is not None:
            return known
        vectors = encoder.encode(prepared, batch_size=batch_size, progress=progress)
        try:
            with atomic_file(path) as temporary:
                np.save(temporary, vectors, allow_pickle=False)
        except OSError as error:
            msg = f"Embeddings are not cached: {path.parent} cannot be written to ({error})."
            warnings.warn(msg, UserWarning, stacklevel=2)
        return vectors

    def path(self, encoder: Encoder, prepared: Batchable) -> Path:
        """Return the file for these prepared inputs, whether it exists or not."""
        key = hashlib.sha256(f"{encoder.fingerprint} {prepared.digest()}".encode()).hexdigest()
        return self.folder / "embeddings" / f"{key}.npy"


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    try:
        vectors: NDArray[np.float32] = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError) as error:
        logger.warning("the cached embeddings %s cannot be read (%s); encoding again", path, error)
        return None
    if vectors.shape != shape or vectors.dtype != np.float32 or not np.isfinite(vectors).all():
        logger.warning(
            "the cached embeddings %s do not hold what they should; encoding again", path
        )
        return None
    return vectors
