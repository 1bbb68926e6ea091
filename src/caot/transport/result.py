"""What a solver returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from caot.transport.arrays import Array


class Status(Enum):
    """How a solve ended; the value is advice."""

    CONVERGED = "the labels and the objective stand still and the inner problem is solved"
    STEP_LIMIT = (
        "the step limit came first: fine for training, where every batch is solved anew; for an "
        "exact plan raise max_outer or max_inner, or use scheme='joint'"
    )
    NON_FINITE = (
        "the plan is not finite and the labels are -1: raise epsilon, or use precision='float64'"
    )

    @property
    def advice(self) -> str:
        """What the status means for the caller."""
        return self.value


class CollapseWarning(UserWarning):
    """The similarity outweighs the penalty and draws mass into few clusters (Eq. 13)."""


@dataclass(frozen=True, slots=True)
class Potentials:
    """The Lagrange multipliers at the end: λ (n,), τ (k,) and ν (Eqs. 7, 8, 10)."""

    row: Array
    column: Array
    normaliser: float


@dataclass(frozen=True, slots=True, eq=False)
class HostCopy:
    """What the host was told of a solve: labels (n,) and column masses (k,) as numpy arrays."""

    labels: NDArray[np.int64]
    column_mass: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TransportResult:
    """A transport plan and how it was reached.

    Attributes
    ----------
    plan
        Q, (n, k): how much of each sample's mass 1/n goes to each cluster.
    labels
        The pseudo-labels argmax_j Q_ij (Eq. 12), (n,), int64; −1 if the plan is not finite.
    column_mass
        b, (k,): the clusters' shares of the whole.
    potentials
        The multipliers.
    status
        How the solve ended.
    n_outer, n_inner
        Outer steps (linearisations), and inner steps summed over them.
    objective
        The value of the problem's objective after each outer step.
    row_error, column_error
        The largest differences between the plan's row sums and 1/n, and its column sums and b.
    stopped_early
        Whether the steps ended before their limits because nothing moved any more.
    collapsed
        Whether the similarity drew most mass into few clusters against the predictions (Eq. 13).
    host
        Labels and masses on the host, to look at without waiting for an accelerator again.
    """

    plan: Array
    labels: Array
    column_mass: Array
    potentials: Potentials
    status: Status
    n_outer: int
    n_inner: int
    objective: tuple[float, ...]
    row_error: float
    column_error: float
    stopped_early: bool
    collapsed: bool
    host: HostCopy

    @property
    def converged(self) -> bool:
        """Whether the status is :attr:`Status.CONVERGED`."""
        return self.status is Status.CONVERGED


@dataclass(frozen=True, slots=True, eq=False)
class Queued:
    """A solve of tensors that an accelerator may still be at, and that the host has not read.

    Put ``told`` together with whatever else the host wants to know, wait for all of it at once, and
    give its part to ``read``.

    Attributes
    ----------
    labels
        The pseudo-labels (Eq. 12), (n,), int64; −1 if the plan is not finite.
    finite
        Whether the plan is finite, ().
    told
        All that the host needs, as one vector of float64; empty if it knows already.
    read
        Returns the result from ``told`` as it came to the host.
    """

    labels: torch.Tensor
    finite: torch.Tensor
    told: torch.Tensor
    read: Callable[[NDArray[np.float64]], TransportResult]

    @classmethod
    def solved(cls, result: TransportResult) -> Self:
        """Return a solve that the host did itself."""
        finite = torch.tensor(result.status is not Status.NON_FINITE)
        nothing = torch.empty(0, dtype=torch.float64)
        return cls(result.labels, finite, nothing, lambda _values: result)
