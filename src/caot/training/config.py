"""Settings of a training run: nested frozen records, each checked when it is made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from caot.start import StartSettings
from caot.transport import ConsistentTransport, Transport

AttentionKind: TypeAlias = Literal["matrices", "transformer"]


class Stage(Enum):
    """The parts of Algorithm 1, in order."""

    WARM_UP = "warm-up"
    HEAD_START = "head start"
    INTERACTIVE = "interactive"


@dataclass(frozen=True, slots=True)
class Schedule:
    """How many iterations each stage has, and how many samples each of them sees.

    ``max_iter`` counts the warm-up, as in the paper; the head start, in which the clustering
    network learns the first clusters, comes on top of it.
    """

    max_iter: int = 2000
    warmup_iter: int = 600
    head_iter: int = 80
    batch_size: int = 200

    def __post_init__(self) -> None:
        if self.max_iter < 1:
            msg = f"max_iter must be at least 1, got {self.max_iter}"
            raise ValueError(msg)
        if not 0 <= self.warmup_iter <= self.max_iter:
            msg = (
                f"warmup_iter must lie between 0 and max_iter = {self.max_iter}, "
                f"got {self.warmup_iter}"
            )
            raise ValueError(msg)
        if self.head_iter < 0:
            msg = f"head_iter must be at least 0, got {self.head_iter}"
            raise ValueError(msg)
        if self.batch_size < 2:
            msg = f"batch_size must be at least 2, got {self.batch_size}"
            raise ValueError(msg)

    @property
    def total(self) -> int:
        """All iterations, the head start included."""
        return self.max_iter + self.head_iter

    def bounds(self, stage: Stage) -> tuple[int, int]:
        """Return the first iteration of a stage and the one after its last."""
        head = self.warmup_iter + self.head_iter
        return {
            Stage.WARM_UP: (0, self.warmup_iter),
            Stage.HEAD_START: (self.warmup_iter, head),
            Stage.INTERACTIVE: (head, self.total),
        }[stage]

    def stage(self, iteration: int) -> Stage:
        """Return the stage of an iteration, counted from 0."""
        return next(stage for stage in Stage if iteration < self.bounds(stage)[1])


@dataclass(frozen=True, slots=True)
class Objective:
    """Weights and temperatures of the losses, and the step sizes of Adam (Eqs. 19 to 26)."""

    contrast_weight: float = 5.0
    temperature_instance: float = 1.0
    temperature_attention: float = 1.0
    learning_rate: float = 5e-4
    learning_rate_encoder: float = 5e-6

    def __post_init__(self) -> None:
        for name in ("temperature_instance", "temperature_attention", "learning_rate"):
            _require_positive(name, getattr(self, name))
        for name in ("contrast_weight", "learning_rate_encoder"):
            if not 0 <= getattr(self, name) < math.inf:
                msg = f"{name} must be at least 0, got {getattr(self, name)}"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class SimilaritySettings:
    """What the similarity between the samples of a batch is made of (Eq. 27).

    Parameters
    ----------
    cosine, attention
        The weights of S^cos and S^att; 1 and 1 in the paper, 0 leaves one out.
    keep_diagonal
        Whether a sample counts as similar to itself.
    """

    cosine: float = 1.0
    attention: float = 1.0
    keep_diagonal: bool = False

    @property
    def is_used(self) -> bool:
        """Whether anything is left of the similarity."""
        return self.cosine != 0 or self.attention != 0


@dataclass(frozen=True, slots=True)
class Stopping:
    """When the interactive stage may end before its last iteration.

    The last two windows of ``patience`` iterations are compared. Training has settled when the
    change rate of the pseudo-labels (Eq. 28) falls no further, its mean in the later window being
    at least ``still`` times that in the earlier one, and the objective of the transport has moved
    by at most two standard errors. (The rate itself does not fall to zero: a sample's
    pseudo-label also depends on the batch that it comes with.) No true label is looked at. A
    patience of 0, as in the paper, never stops.
    """

    patience: int = 0
    still: float = 0.95

    def __post_init__(self) -> None:
        if self.patience < 0:
            msg = f"patience must be at least 0, got {self.patience}"
            raise ValueError(msg)
        if not 0 < self.still <= 1:
            msg = f"still must lie between 0 and 1, got {self.still}"
            raise ValueError(msg)

    def has_settled(self, change_rate: NDArray[np.float64], objective: NDArray[np.float64]) -> bool:
        """Tell it from the change rates and objectives of the interactive stage so far, (U,)."""
        window = self.patience
        if window == 0 or len(change_rate) < 2 * window:
            return False
        rates = change_rate[-2 * window :].reshape(2, window)
        values = objective[-2 * window :].reshape(2, window)
        if rates.max() == 1.0:  # as in the first pass, where no sample has a pseudo-label yet
            return False
        earlier, later = rates.mean(axis=1)
        step, error = np.ptp(values.mean(axis=1)), math.sqrt(values.var(axis=1).sum() / window)
        return bool(later >= self.still * earlier and step <= 2 * error)


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """All settings of Algorithm 1.

    The defaults are the paper's. ``start`` says how the first clusters are found;
    ``predict_in_evaluation`` computes P(0), which the transport is given, without dropout;
    ``neighbour_weight`` is how much the neighbours' pseudo-labels count in the transport (Eq. 35);
    ``embedding_scale`` multiplies what the encoder gives before the networks see it;
    ``head_on_originals`` lets the head start learn from the texts themselves, which are encoded for
    K-means anyway, instead of encoding both views of every batch.
    """

    n_clusters: int
    schedule: Schedule = field(default_factory=Schedule)
    objective: Objective = field(default_factory=Objective)
    similarity: SimilaritySettings = field(default_factory=SimilaritySettings)
    transport: Transport = field(default_factory=ConsistentTransport)
    stopping: Stopping = field(default_factory=Stopping)
    attention: AttentionKind = "matrices"
    predict_in_evaluation: bool = False
    start: StartSettings = field(default_factory=StartSettings)
    neighbour_weight: float = 0.0
    embedding_scale: float = 1.0
    head_on_originals: bool = False
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.n_clusters < 2:
            msg = f"n_clusters must be at least 2, got {self.n_clusters}"
            raise ValueError(msg)
        if self.attention not in ("matrices", "transformer"):
            msg = f"attention must be 'matrices' or 'transformer', got {self.attention!r}"
            raise ValueError(msg)
        _require_positive("embedding_scale", self.embedding_scale)
        if not 0 <= self.neighbour_weight < math.inf:
            msg = f"neighbour_weight must be at least 0, got {self.neighbour_weight}"
            raise ValueError(msg)

    def as_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries, for records."""
        plain = asdict(self)
        plain["transport"] = {"solver": type(self.transport).__name__, **plain["transport"]}
        return plain


def _require_positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        msg = f"{name} must be positive, got {value}"
        raise ValueError(msg)
