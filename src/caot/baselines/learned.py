"""What all methods that train share: the optimiser, the progress bar, K-means, the record."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from caot.baselines.base import Baseline, Vectors
from caot.baselines.training import Loop, Objective, Outcome
from caot.kmeans import Partition, kmeans
from caot.progress import ProgressBar
from caot.training import Callback, EndReason, History

logger = logging.getLogger("caot")


@dataclass(eq=False, repr=False, kw_only=True)
class LearnedMethod(Baseline):
    """Trains networks by an `Objective`.

    Parameters
    ----------
    batch_size
        Samples an iteration.
    learning_rate
        Adam's step size of the networks.
    n_init
        Starts of K-means.

    Attributes
    ----------
    history_ : History
        The record of the training.
    n_iter_ : int
        Iterations done.
    end_reason_ : EndReason
        Why training ended.
    """

    batch_size: int = 200
    learning_rate: float = 5e-4
    n_init: int = 10

    _least: ClassVar[dict[str, int]] = {**Baseline._least, "batch_size": 2, "n_init": 1}

    def _kmeans(self, vectors: Vectors) -> Partition:
        """Return the K-means clusters of vectors (n, width)."""
        return kmeans(vectors, self.n_clusters, n_init=self.n_init, random_state=self.random_state)

    def _run(
        self,
        loop: Loop,
        objective: Objective,
        n_samples: int,
        callbacks: Sequence[Callback],
        *,
        more: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Train the objective's networks, and what ``more`` groups of parameters hold."""
        networks = [p for p in objective.networks.parameters() if p.requires_grad]
        groups = [{"params": networks, "lr": self.learning_rate}] if networks else []
        bar = ProgressBar()
        observers: list[Callback] = [*callbacks]
        if self.verbose > 0:
            observers.append(bar)
        try:
            outcome = loop.run(objective, torch.optim.Adam([*groups, *more]), n_samples, observers)
        finally:
            bar.close()
        self._take(outcome)

    def _take(self, outcome: Outcome) -> None:
        self.history_: History = outcome.history
        self.n_iter_ = outcome.n_iter
        self.end_reason_: EndReason = outcome.reason
        if outcome.reason is EndReason.DIVERGED:
            msg = f"training stopped after {self.n_iter_} iterations because a loss was not "
            msg += "finite: use lower learning rates, or check the inputs for extreme values"
            warnings.warn(msg, RuntimeWarning, stacklevel=5)
        elif outcome.is_early:
            msg = f"{outcome.reason.value} after {self.n_iter_} iterations, before any clusters "
            msg += "were learned: the labels mean little. Give more time, or set a smaller max_iter"
            warnings.warn(msg, RuntimeWarning, stacklevel=5)
        elif outcome.reason is EndReason.TIME:
            logger.info("training stopped after %d iterations: %s", self.n_iter_, "time")
