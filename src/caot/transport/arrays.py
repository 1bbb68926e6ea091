"""Numpy arrays and torch tensors through one door.

The formulas are written once, against the array API standard. Arrays on the CPU are computed by
numpy, whichever library they came from; tensors on an accelerator stay there. Results go back to
the caller's kind. Apple's GPUs (mps) have no float64, which the tolerances need: their problems are
solved on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

# Either library's array: the array API standard has no static type of its own yet.
Array: TypeAlias = Any

Precision: TypeAlias = Literal["auto", "float64", "float32"]


@dataclass(frozen=True, slots=True)
class Kind:
    """Where arrays are computed, and how they go back to the caller.

    Attributes
    ----------
    xp
        The array API namespace that computes.
    precision
        The floating point type of the computation, of that namespace.
    give_back
        Turns an array of the computation into one of the caller's library.
    """

    xp: Any
    precision: Any
    give_back: Callable[[Array], Array]

    @property
    def on_device(self) -> bool:
        """Whether tensors are computed where they are, on an accelerator."""
        return self.xp is not array_api_compat.numpy

    def take_in(self, values: Array) -> Array:
        """Return ``values`` as a dense array of the computation, without gradient."""
        if isinstance(values, torch.Tensor):
            values = values.detach()
            if self.on_device:
                return values.to(self.precision)
            if values.dtype == torch.bfloat16:  # numpy has no such type
                values = values.float()
            values = values.cpu().numpy()
        elif self.on_device:
            msg = f"expected a torch tensor like log_prob, got {type(values).__name__}"
            raise TypeError(msg)
        return self.xp.asarray(values, dtype=self.precision)


def kind_of(values: Array, precision: Precision) -> Kind:
    """Choose the computation for arrays like ``values``; ``"auto"`` means float64."""
    is_tensor = isinstance(values, torch.Tensor)
    if is_tensor and stays_on(values.device):
        precise = torch.float32 if precision == "float32" else torch.float64
        return Kind(array_api_compat.array_namespace(values), precise, _same)
    dtype = np.float32 if precision == "float32" else np.float64
    give_back = partial(_as_tensor, device=values.device) if is_tensor else _same
    return Kind(array_api_compat.numpy, dtype, give_back)


def stays_on(device: torch.device) -> bool:
    """Tell whether tensors of a device are computed there rather than by numpy."""
    return device.type not in ("cpu", "mps")


def is_sparse(values: Array) -> bool:
    """Tell whether ``values`` is a scipy sparse or a torch sparse matrix."""
    if isinstance(values, torch.Tensor):
        return values.layout != torch.strided
    return bool(scipy.sparse.issparse(values))


def sparse_rows(values: Array, kind: Kind) -> Array:
    """Return a sparse matrix in compressed rows, ready to multiply arrays of ``kind``."""
    if not isinstance(values, torch.Tensor):
        return scipy.sparse.csr_array(values, dtype=kind.precision)
    values = values.detach()
    if kind.on_device:
        return values.to(kind.precision).to_sparse_coo().coalesce()
    values = values.to_sparse_coo().coalesce().cpu()
    rows, columns = values.indices().numpy()
    entries = values.values().numpy().astype(kind.precision)
    return scipy.sparse.csr_array((entries, (rows, columns)), shape=tuple(values.shape))


def stored_entries(matrix: Array) -> Array:
    """Return the entries of a matrix, of a sparse one those that are stored."""
    if isinstance(matrix, torch.Tensor):
        return matrix.coalesce().values() if matrix.layout != torch.strided else matrix
    return matrix.data if isinstance(matrix, scipy.sparse.csr_array) else matrix


def to_host(values: torch.Tensor) -> NDArray[Any]:
    """Wait for the device and return a copy of its values: the one door for what the host reads."""
    copied: NDArray[Any] = values.to("cpu", copy=True).numpy()
    return copied


def _same(values: Array) -> Array:
    return values


def _as_tensor(values: Array, device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(values)
    if device.type == "mps" and tensor.dtype == torch.float64:
        tensor = tensor.float()
    return tensor.to(device)
