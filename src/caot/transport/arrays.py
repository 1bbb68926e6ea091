"""Numpy arrays and torch tensors through one door.

The solvers are written once, against the array API standard. Arrays on the CPU are computed by
numpy, whichever library they came from; tensors on an accelerator stay there. Results go back to
the caller's kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np
import scipy.sparse
import torch

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

    def take_in(self, values: Array) -> Array:
        """Return ``values`` as a dense array of the computation, without gradient."""
        if isinstance(values, torch.Tensor):
            values = values.detach()
            if values.dtype == torch.bfloat16:  # numpy has no such type
                values = values.float()
            if self.xp is array_api_compat.numpy:
                values = values.cpu().numpy()
        elif self.xp is not array_api_compat.numpy:
            msg = f"expected a torch tensor like log_prob, got {type(values).__name__}"
            raise TypeError(msg)
        return self.xp.asarray(values, dtype=self.precision)


def kind_of(values: Array, precision: Precision) -> Kind:
    """Choose the computation for arrays like ``values``.

    ``"auto"`` means float64 on the CPU and float32 on accelerators.
    """
    is_torch = isinstance(values, torch.Tensor)
    if not is_torch or values.device.type == "cpu":
        dtype = np.float32 if precision == "float32" else np.float64
        return Kind(array_api_compat.numpy, dtype, torch.from_numpy if is_torch else _same)
    return Kind(
        array_api_compat.array_namespace(values),
        torch.float64 if precision == "float64" else torch.float32,
        _same,
    )


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
    if kind.xp is not array_api_compat.numpy:
        return values.to(kind.precision).to_sparse_coo().coalesce()
    values = values.to_sparse_coo().coalesce()
    rows, columns = values.indices().numpy()
    entries = values.values().numpy().astype(kind.precision)
    return scipy.sparse.csr_array((entries, (rows, columns)), shape=tuple(values.shape))


def stored_entries(matrix: Array) -> Array:
    """Return the entries of a matrix, of a sparse one those that are stored."""
    if isinstance(matrix, torch.Tensor):
        return matrix.coalesce().values() if matrix.layout != torch.strided else matrix
    return matrix.data if isinstance(matrix, scipy.sparse.csr_array) else matrix


def _same(values: Array) -> Array:
    return values
