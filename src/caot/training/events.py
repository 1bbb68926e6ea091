"""What happens in training, told to observers that cannot change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from caot.training.config import Stage
from caot.transport import Status


class EndReason(Enum):
    """Why training ended; the value says it to a user."""

    COMPLETED = "all iterations were done"
    SETTLED = "the pseudo-labels had settled"
    TIME = "the time budget was used up"
    DIVERGED = "a loss was not finite; the last good state was restored"


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins at ``iteration`` and ends before ``end``."""

    stage: Stage
    iteration: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class TargetsMade:
    """The E-step of an iteration: pseudo-labels for the rows of a batch.

    Told after the update that learned from them, just before `StepDone`.
    """

    iteration: int
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    column_mass: NDArray[np.float64]
    change_rate: float
    objective: float
    status: Status
    n_outer: int
    n_inner: int
    stopped_early: bool
    collapsed: bool


@dataclass(frozen=True, slots=True, eq=False)
class StepDone:
    """The M-step of an iteration: the losses before the update; NaN where one has no part.

    ``features``, called while the event is told, returns Z of a view of all samples by the encoder
    and the network as they are now, (n, 128); view 0 is the samples themselves, and the only one
    that can be had where noise makes the views.
    """

    iteration: int
    total_iterations: int
    stage: Stage
    loss: float
    instance_loss: float
    attention_loss: float
    pseudo_label_loss: float
    features: Callable[[int], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Finished:
    """Training has ended after ``n_iter`` iterations."""

    n_iter: int
    reason: EndReason


Event: TypeAlias = StageStarted | TargetsMade | StepDone | Finished
Callback: TypeAlias = Callable[[Event], None]
