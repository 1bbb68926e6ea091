"""Algorithm 1 of the paper: a trainer, its settings, and the events that observers see."""

from caot.training.algorithm import Trainer
from caot.training.config import (
    Objective,
    Schedule,
    SimilaritySettings,
    Stage,
    Stopping,
    TrainingConfig,
)
from caot.training.data import TrainingData
from caot.training.events import (
    Callback,
    EndReason,
    Event,
    Finished,
    StageStarted,
    StepDone,
    TargetsMade,
)
from caot.training.history import History
from caot.training.model import Networks
from caot.training.similarity import batch_similarity
from caot.training.state import CheckpointError, Snapshot

__all__ = [
    "Callback",
    "CheckpointError",
    "EndReason",
    "Event",
    "Finished",
    "History",
    "Networks",
    "Objective",
    "Schedule",
    "SimilaritySettings",
    "Snapshot",
    "Stage",
    "StageStarted",
    "StepDone",
    "Stopping",
    "TargetsMade",
    "Trainer",
    "TrainingConfig",
    "TrainingData",
    "batch_similarity",
]
