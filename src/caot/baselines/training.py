"""The training loop that all baselines share: batch, losses, step of Adam, event."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.training import (
    Callback,
    EndReason,
    Event,
    Finished,
    History,
    Stage,
    StageStarted,
    StepDone,
)
from caot.training.data import Sampler
from caot.training.history import Recorder


class Losses(NamedTuple):
    """The losses of an iteration, weighted; None where one has no part."""

    contrast: Tensor | None = None
    cluster: Tensor | None = None
    other: Tensor | None = None

    def total(self) -> Tensor:
        """Return their sum."""
        return torch.stack([part for part in self if part is not None]).sum()


class Objective:
    """What a method minimises, and what it does around a step.

    A method keeps its networks in ``networks``; their parameters learn at the rate of the networks.
    """

    networks: nn.Module

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the losses of a batch."""
        raise NotImplementedError

    def features(self, view: int) -> NDArray[np.float32]:
        """Return what instances are compared by, of all samples in a view, (n, d)."""
        msg = f"{type(self).__name__} compares no instances: there are no features of view {view}"
        raise ValueError(msg)

    def stepped(self) -> None:
        """Do what comes after a step."""

    def set_mode(self, *, training: bool) -> None:
        """Switch dropout on or off."""
        self.networks.train(training)

    def stage(self, iteration: int) -> Stage:
        """Return the name of what happens at an iteration."""
        return Stage.INTERACTIVE

    def events(self) -> Sequence[Event]:
        """Return what happened besides the step itself since the last call."""
        return ()


@dataclass(frozen=True, slots=True)
class Loop:
    """How long, in which batches and at which rates to train.

    Parameters
    ----------
    n_iter, batch_size
        Iterations, and samples of each.
    random_state
        Seed of the batches.
    deadline
        Training ends when ``time.monotonic()`` has passed this.
    n_clusters
        For the record.
    """

    n_iter: int
    batch_size: int
    random_state: int
    deadline: float = math.inf
    n_clusters: int = 0

    def run(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        n_samples: int,
        callbacks: Sequence[Callback] = (),
    ) -> Outcome:
        """Train; a loss or gradient that is not finite ends it before it does harm."""
        sampler = Sampler(n_samples, self.batch_size, self.random_state)
        notes = _Notes(self.n_clusters, n_samples, callbacks)
        reason, done = EndReason.COMPLETED, 0
        for iteration in range(self.n_iter):
            if time.monotonic() > self.deadline:
                reason = EndReason.TIME
                break
            self._enter(objective, iteration, notes)
            objective.set_mode(training=True)
            losses = objective.losses(sampler.next(), iteration)
            numbers = _step(optimizer, losses)
            if numbers is None:
                reason = EndReason.DIVERGED
                break
            objective.stepped()
            done += 1
            for event in objective.events():
                notes.tell(event)
            total, contrast, cluster = numbers
            stage = objective.stage(iteration)
            notes.tell(
                StepDone(
                    iteration=iteration,
                    total_iterations=self.n_iter,
                    stage=stage,
                    loss=total,
                    instance_loss=contrast,
                    attention_loss=math.nan,
                    pseudo_label_loss=cluster,
                    features=objective.features,
                )
            )
        objective.set_mode(training=False)
        notes.tell(Finished(done, reason))
        is_early = reason is EndReason.TIME and objective.stage(done) is not Stage.INTERACTIVE
        return Outcome(done, reason, notes.recorder.history(), is_early)

    def _enter(self, objective: Objective, iteration: int, notes: _Notes) -> None:
        """Tell of a stage that begins at an iteration."""
        stage = objective.stage(iteration)
        if iteration and objective.stage(iteration - 1) is stage:
            return
        later = range(iteration, self.n_iter)
        end = next((i for i in later if objective.stage(i) is not stage), self.n_iter)
        notes.tell(StageStarted(stage, iteration, end))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How training went; ``is_early`` if time ran out before the stage that makes clusters."""

    n_iter: int
    reason: EndReason
    history: History
    is_early: bool = False


@contextmanager
def seeded(random_state: int) -> Iterator[None]:
    """Seed torch's global generator for the time of a block, and put it back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        yield


class _Notes:
    """Tells observers, whose own random draws training must not notice, and keeps the record."""

    def __init__(self, n_clusters: int, n_samples: int, callbacks: Sequence[Callback]) -> None:
        self.recorder = Recorder(n_clusters)
        self._callbacks = callbacks
        self._labels = np.full(n_samples, -1, dtype=np.int64)

    def tell(self, event: Event) -> None:
        rows = getattr(event, "rows", None)
        if rows is not None:
            self._labels[rows] = getattr(event, "labels")  # noqa: B009 - only one kind has them
        self.recorder.observe(event, self._labels)
        with torch.random.fork_rng(devices=[]):
            for callback in self._callbacks:
                callback(event)


def _step(optimizer: torch.optim.Optimizer, losses: Losses) -> tuple[float, float, float] | None:
    """Take a step; return the losses, or None, without a step, if something is not finite."""
    total = losses.total()
    optimizer.zero_grad(set_to_none=True)
    total.backward()  # type: ignore[no-untyped-call]
    weights = [p for group in optimizer.param_groups for p in group["params"]]
    norm = nn.utils.get_total_norm([p.grad for p in weights if p.grad is not None])
    if not bool(torch.isfinite(total) & torch.isfinite(norm)):
        return None
    optimizer.step()
    parts = (losses.contrast, losses.cluster)
    contrast, cluster = (math.nan if part is None else float(part.detach()) for part in parts)
    return float(total.detach()), contrast, cluster
