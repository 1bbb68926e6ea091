"""Vectors made elsewhere (images, sound, another library), used in place of an encoder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from torch import nn

from caot.encoders.device import to_device
from caot.encoders.layers import count_top
from caot.encoders.protocol import row_numbers
from caot.texts import tensor_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from caot.encoders.protocol import Batchable, RowIndex

# Rows looked at together: a few MB, so that arrays larger than memory can be checked.
_CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a 2-D array of numbers; a memory-mapped array stays on disk until rows are taken.

    Parameters
    ----------
    values : array, shape (n, width)
        Any kind of real number; rows are handed out as float32.
    """

    values: NDArray[Any]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        """The length of a row."""
        return int(self.values.shape[1])

    def take(self, rows: RowIndex) -> Self:
        """Return the given rows, in that order, as float32 in memory."""
        return type(self)(np.array(self.values[row_numbers(rows)], dtype=np.float32))

    def digest(self) -> str:
        """Return a sha256 of the shape and of the float32 content."""
        content = hashlib.sha256(f"{len(self)} {self.width}".encode())
        for _, chunk in self.chunks():
            content.update(chunk.data)
        return content.hexdigest()

    def chunks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the first row number and the float32 rows of each part."""
        for start in range(0, len(self), _CHUNK):
            with np.errstate(over="ignore"):
                part = np.ascontiguousarray(self.values[start : start + _CHUNK], dtype=np.float32)
            yield start, part


class Features:
    """An encoder that hands on precomputed vectors; nothing in it can be trained.

    Parameters
    ----------
    width : int, optional
        The length of the vectors; None takes it from the first array that is prepared.
    device : str or torch.device
        Where `forward` puts the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> encoder = Features()
    >>> rows = encoder.prepare(np.eye(3))
    >>> encoder.forward(rows.take([2])).tolist()
    [[0.0, 0.0, 1.0]]
    """

    name = "features"
    n_layers = 0
    max_length = None

    def __init__(self, width: int | None = None, *, device: str | torch.device = "cpu") -> None:
        if width is not None and width < 1:
            msg = f"width must be at least 1, got {width}"
            raise ValueError(msg)
        self.module: nn.Module = nn.Identity()
        self.device = torch.device(device)
        self._width = width

    @property
    def width(self) -> int:
        """The length of the vectors."""
        if self._width is None:
            # AttributeError, as for any attribute that data brings: hasattr() then answers no.
            msg = "the width of Features is known after prepare(), or when given: Features(width)"
            raise AttributeError(msg)
        return self._width

    @property
    def fingerprint(self) -> str:
        """A sha256 of the width, the only thing that distinguishes two of these encoders."""
        return hashlib.sha256(f"features {self._width}".encode()).hexdigest()

    def prepare(self, inputs: ArrayLike) -> Rows:
        """Check that the inputs are a 2-D array of finite numbers of the right width."""
        values = _as_array(inputs)
        if values.ndim != 2 or values.shape[1] == 0:
            msg = f"expected an array of shape (n, width), got shape {values.shape}"
            raise ValueError(msg)
        rows = Rows(values)
        if self._width is not None and rows.width != self._width:
            msg = f"the vectors have {rows.width} columns, but this encoder has width {self._width}"
            raise ValueError(msg)
        for start, chunk in rows.chunks():
            bad = np.flatnonzero(~np.isfinite(chunk).all(axis=1))
            if bad.size:
                msg = f"row {start + bad[0]} holds NaN, infinity or a number beyond float32"
                raise ValueError(msg)
        self._width = rows.width
        return rows

    def forward(self, batch: Batchable) -> torch.Tensor:
        """Return the rows as a float32 tensor (n, width)."""
        if not isinstance(batch, Rows):
            msg = f"forward takes Rows, as prepare() returns them, got {type(batch).__name__}"
            raise TypeError(msg)
        return to_device(np.array(batch.values, dtype=np.float32), self.device)

    def encode(
        self,
        inputs: ArrayLike | Rows,
        batch_size: int = 64,
        progress: bool = False,
    ) -> NDArray[np.float32]:
        """Return the rows as float32 (n, width).

        Float32 memory-mapped rows are not copied: they come back read-only and stay on disk. The
        batch size and the progress bar belong to the protocol and change nothing here.
        """
        rows = inputs if isinstance(inputs, Rows) else self.prepare(inputs)
        if _is_mapped(rows.values) and rows.values.dtype == np.float32:
            lazy: NDArray[np.float32] = rows.values.view()
            lazy.setflags(write=False)
            return lazy
        return np.array(rows.values, dtype=np.float32)

    def set_trainable(self, layers: int | Literal["all", "none"]) -> list[nn.Parameter]:
        """Return no parameters; a number of layers other than 0 is an error."""
        count_top(layers, self.n_layers)
        return []

    def save(self, folder: Path) -> None:
        """Write ``features.json``, which holds the width."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"type": "features", "width": self.width}, indent=2)
        (path / "features.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, device: str | torch.device = "cpu") -> Features:
        """Read what `save` wrote."""
        settings = json.loads((Path(folder) / "features.json").read_text(encoding="utf-8"))
        return cls(int(settings["width"]), device=device)


def reads_vectors(encoder: object) -> bool:
    """Tell whether an encoder, or the one inside it, takes vectors and not texts."""
    return isinstance(getattr(encoder, "encoder", encoder), Features)


def _as_array(inputs: ArrayLike | torch.Tensor) -> NDArray[Any]:
    if isinstance(inputs, torch.Tensor):
        inputs = tensor_values(inputs)
    # asarray would drop the memory-mapped type, by which encode() knows what is on disk.
    array: NDArray[Any] = inputs if isinstance(inputs, np.ndarray) else np.asarray(inputs)
    if array.dtype.kind not in "fiu":
        msg = f"expected an array of real numbers, got {array.dtype}"
        raise TypeError(msg)
    return array


def _is_mapped(array: NDArray[Any]) -> bool:
    return isinstance(array, np.memmap)
