"""Keep what frozen layers give: computed once per text, so that only the layers above run again."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import warnings
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from caot.encoders.device import device_of, half_precision
from caot.encoders.protocol import Activations, Tokens
from caot.files import atomic_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from caot.encoders.protocol import LayeredEncoder, RowIndex

logger = logging.getLogger("caot.encoders")

# Texts per pass: few, so that texts of one pass have nearly the same length.
_TOGETHER = 64


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """Texts whose frozen layers run whenever rows of them are taken: nothing is kept.

    Cheaper than keeping them where each text is taken about once.
    """

    encoder: LayeredEncoder
    tokens: Tokens

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each text, shape (n,)."""
        return self.tokens.lengths

    def take(self, rows: RowIndex) -> Activations:
        """Return what the frozen layers make of the given texts, in that order."""
        return self.encoder.lower(self.tokens.take(rows))

    def digest(self) -> str:
        """Return a sha256 of the texts."""
        return self.tokens.digest()


def keep_lower(
    encoder: LayeredEncoder,
    tokens: Tokens,
    *,
    memory: float,
    folder: Path | None = None,
    mixed_precision: bool = False,
    progress: bool = False,
) -> Activations:
    """Run the encoder's frozen layers on all texts, and keep the result as float16.

    Parameters
    ----------
    encoder : LayeredEncoder
        With its trainable layers chosen.
    tokens : Tokens
        The texts.
    memory : float
        Bytes that may be kept in memory; more goes to a file and is read from there.
    folder : Path, optional
        Where to keep the result for later runs; None keeps nothing beyond this one.
    mixed_precision : bool
        Compute in bfloat16.
    progress : bool
        Show a progress bar.
    """
    shape = (tokens.values.size, encoder.hidden_width)
    in_memory = 2 * shape[0] * shape[1] <= memory
    fill = partial(
        _fill, encoder=encoder, tokens=tokens, mixed_precision=mixed_precision, progress=progress
    )
    if folder is not None:
        path = _path(folder, encoder, tokens, mixed_precision=mixed_precision)
        try:
            if not _is_kept(path, shape):
                with atomic_file(path) as temporary:
                    _write(temporary, shape, fill)
            values = np.load(path, mmap_mode=None if in_memory else "r")
            return Activations(values, tokens.offsets)
        except OSError as error:
            msg = f"Lower layers are not cached: {folder} cannot be written to ({error})."
            warnings.warn(msg, UserWarning, stacklevel=2)
    values = np.empty(shape, np.float16) if in_memory else _unnamed_file(shape)
    fill(values)
    return Activations(values, tokens.offsets)


def _path(folder: Path, encoder: LayeredEncoder, tokens: Tokens, *, mixed_precision: bool) -> Path:
    key = f"{encoder.fingerprint} {encoder.n_frozen} {tokens.digest()}"
    if mixed_precision:
        key += " bfloat16"
    return folder / "activations" / f"{hashlib.sha256(key.encode()).hexdigest()}.npy"


def _fill(
    values: NDArray[np.float16],
    *,
    encoder: LayeredEncoder,
    tokens: Tokens,
    mixed_precision: bool,
    progress: bool,
) -> None:
    order = np.argsort(-tokens.lengths, kind="stable")
    starts = range(0, len(order), _TOGETHER)
    for start in tqdm(starts, desc="Lower layers", unit="batch", disable=not progress):
        rows = order[start : start + _TOGETHER]
        with half_precision(device_of(encoder), use=mixed_precision):
            part = encoder.lower(tokens.take(rows))
        if not np.abs(part.values).max() <= np.finfo(np.float16).max:
            msg = f"lower layers of {encoder.name!r} give numbers beyond float16: "
            msg += "use finetune='all'"
            raise ValueError(msg)
        places = [
            np.arange(first, last)
            for first, last in zip(tokens.offsets[rows], tokens.offsets[rows + 1], strict=True)
        ]
        values[np.concatenate(places)] = part.values


def _unnamed_file(shape: tuple[int, int]) -> NDArray[np.float16]:
    """Return an array in a file that goes when the array goes."""
    size = 2 * shape[0] * shape[1]
    logger.info("lower layers: %.1f GB kept in a temporary file", size / 1e9)
    with tempfile.TemporaryFile() as file:
        _reserve(file, size)
        values: NDArray[np.float16] = np.memmap(file, np.float16, "r+", shape=shape)
        return values


def _write(path: Path, shape: tuple[int, int], fill: Callable[[NDArray[np.float16]], None]) -> None:
    """Fill a ``.npy`` file, which need not fit into memory."""
    with path.open("r+b") as file:
        header: dict[str, Any] = {"descr": "<f2", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        _reserve(file, offset + 2 * shape[0] * shape[1])
    values = np.memmap(path, np.float16, "r+", offset=offset, shape=shape)
    fill(values)
    values.flush()


def _reserve(file: IO[bytes], size: int) -> None:
    """Make a file of a size; a disk that is full says so here, and not by ending the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def _is_kept(path: Path, shape: tuple[int, int]) -> bool:
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, EOFError) as error:
        logger.warning("%s cannot be read (%s): the layers run again", path, error)
        return False
    return bool(values.shape == shape and values.dtype == np.float16)
