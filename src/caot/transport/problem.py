"""The transport problem: predictions to match to clusters, and how similar the samples are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from caot.transport.arrays import (
    Array,
    Kind,
    Precision,
    is_sparse,
    kind_of,
    sparse_rows,
    stored_entries,
)
from caot.transport.linear import log_sum_exp
from caot.transport.result import TransportResult

# Rows of a log-softmax in half precision add up to one this well.
_NORMALISATION_TOL = 2e-2


@dataclass(frozen=True, slots=True)
class TransportProblem:
    """Checked data of Eqs. 1, 3 and 4.

    Attributes
    ----------
    cost
        C = −log P, (n, k), finite: a probability of zero counts as the smallest positive number.
    coupling
        S + Sᵀ, (n, n), dense or sparse; None without similarity.
    kind
        The array library and precision that compute.
    unchecked
        On an accelerator, log P as it was given: whether it is one is read with the result. None
        where that has been checked.
    """

    cost: Array
    coupling: Array | None
    kind: Kind
    unchecked: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and clusters, (n, k)."""
        n, k = self.cost.shape
        return int(n), int(k)

    @property
    def mean_similarity(self) -> float:
        """The mean entry of S."""
        if self.coupling is None:
            return 0.0
        return float(self.coupling.sum()) / (2 * self.shape[0] ** 2)

    def check_start(self, init: TransportResult) -> None:
        """Raise if an earlier result cannot be the start of this problem."""
        k = self.shape[1]
        if tuple(init.column_mass.shape) != (k,):
            msg = f"init has {init.column_mass.shape[0]} clusters, log_prob has {k}: leave init out"
            raise ValueError(msg)

    def attraction(self, plan: Array) -> Array:
        """Return (S + Sᵀ)Q, the gradient of ⟨S, QQᵀ⟩, (n, k)."""
        if self.coupling is None:
            return self.kind.xp.zeros_like(plan)
        return self.coupling @ plan


def transport_problem(
    log_prob: Array, similarity: Array | None = None, precision: Precision = "auto"
) -> TransportProblem:
    """Check ``log_prob`` (n, k) and ``similarity`` (n, n) and return the problem they pose.

    Raises
    ------
    ValueError
        If a value is out of range; the message names the first row at fault and the way out. On
        an accelerator, where looking at values means waiting, it is raised after the solve, and
        values that are not finite give :attr:`~caot.transport.Status.NON_FINITE` instead.
    """
    kind = kind_of(log_prob, precision)
    log_prob = kind.take_in(log_prob)
    _check_shape(log_prob)
    if not kind.on_device:
        check_log_prob(kind.xp, log_prob)
    # −log of the smallest normal number: far enough to forbid, near enough to compute with.
    tiny = kind.xp.finfo(log_prob.dtype).tiny
    ceiling = -math.log(tiny) if kind.on_device else -float(np.log(tiny))
    cost = kind.xp.clip(-log_prob, 0.0, ceiling)
    coupling = None if similarity is None else _coupling(similarity, kind, int(cost.shape[0]))
    return TransportProblem(cost, coupling, kind, log_prob if kind.on_device else None)


def _check_shape(log_prob: Array) -> None:
    if log_prob.ndim != 2:
        msg = f"log_prob must be a matrix (n, k), got {log_prob.ndim} dimension(s)"
        raise ValueError(msg)
    n, k = log_prob.shape
    if n < 1 or k < 2:
        msg = (
            f"log_prob has shape ({n}, {k}): transport needs at least one sample and two clusters; "
            "with a single cluster every label is 0"
        )
        raise ValueError(msg)


def check_log_prob(xp: Any, log_prob: Array) -> None:
    """Raise if the values (n, k) are no log-probabilities."""
    for fault in _faults(xp, log_prob):
        _reject(xp, *fault)


def is_suspect(xp: Any, log_prob: Array) -> Array:
    """Return whether :func:`check_log_prob` would find fault with finite values, () bool."""
    _, *faults = _faults(xp, log_prob)
    return xp.any(xp.stack([xp.any(wrong) for wrong, _, _ in faults]))


def _faults(xp: Any, log_prob: Array) -> Iterator[tuple[Array, str, str]]:
    """Yield where log P is wrong, (n, k) or (n,), what is wrong, and the way out; first NaN."""
    yield xp.isnan(log_prob), "is NaN", "check the network that made it for a diverged loss"
    # A log-softmax in low precision may exceed zero by a rounding error.
    yield (
        log_prob > _NORMALISATION_TOL,
        "is positive",
        "pass log-probabilities, log_softmax(logits), not probabilities or logits",
    )
    top = xp.max(log_prob, axis=1)
    yield xp.isinf(top), "is -inf in every column", "give each row a cluster it may go to"
    total = log_sum_exp(xp, log_prob, axis=1)
    yield (
        xp.abs(total) > _NORMALISATION_TOL,
        "does not sum to one as probabilities",
        "use log_softmax(logits) along the clusters",
    )


def _reject(xp: Any, wrong: Array, what: str, advice: str) -> None:
    if not bool(xp.any(wrong)):
        return
    by_row = wrong if wrong.ndim == 1 else xp.any(wrong, axis=1)
    row = int(xp.argmax(xp.astype(by_row, xp.int64)))
    count = int(xp.sum(xp.astype(by_row, xp.int64)))
    msg = f"log_prob row {row} {what} ({count} row(s) in all): {advice}"
    raise ValueError(msg)


def _coupling(similarity: Array, kind: Kind, n: int) -> Array:
    if not hasattr(similarity, "shape"):
        similarity = np.asarray(similarity)
    shape = tuple(similarity.shape)
    if shape != (n, n):
        msg = f"similarity must be ({n}, {n}) to fit log_prob's {n} rows, got {shape}"
        raise ValueError(msg)
    matrix = sparse_rows(similarity, kind) if is_sparse(similarity) else kind.take_in(similarity)
    coupling = matrix + matrix.T
    if kind.on_device:
        return coupling
    if not bool(kind.xp.all(kind.xp.isfinite(stored_entries(coupling)))):
        msg = "similarity has entries that are NaN or infinite: check the features it was made from"
        raise ValueError(msg)
    return coupling
