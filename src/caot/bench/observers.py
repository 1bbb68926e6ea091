"""What the benchmark watches while a method trains; no observer knows a label."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from caot.training import Event, Finished, StageStarted, StepDone, TargetsMade


class Clock:
    """Takes note of how long the stages take: what comes before training, and after it, apart."""

    def __init__(self) -> None:
        self._marks = [("before training", time.perf_counter())]

    def __call__(self, event: Event) -> None:
        """Take note of the time when something begins."""
        if isinstance(event, StageStarted):
            self._marks.append((event.stage.value, time.perf_counter()))
        elif isinstance(event, Finished):
            self._marks.append(("after training", time.perf_counter()))

    def seconds_by_stage(self) -> dict[str, float]:
        """Return the seconds of each stage until now."""
        ends = [*(mark for _, mark in self._marks[1:]), time.perf_counter()]
        return {
            name: round(end - start, 3)
            for (name, start), end in zip(self._marks, ends, strict=True)
        }


class LastLabels:
    """Takes note of every sample's last pseudo-label; −1 where it never had one."""

    def __init__(self, n_samples: int) -> None:
        self.labels = np.full(n_samples, -1, dtype=np.int64)

    def __call__(self, event: Event) -> None:
        """Take note of new targets."""
        if isinstance(event, TargetsMade):
            self.labels[event.rows] = event.labels


class FeatureKeeper:
    """Keeps Z of the samples and of their first view at a few points of the training.

    They are measured after the fit, when labels may be looked at; float16 is enough for cosines.
    """

    def __init__(self, n_points: int) -> None:
        self._n_points = n_points
        self.kept: list[tuple[int, NDArray[np.float16], NDArray[np.float16]]] = []

    def __call__(self, event: Event) -> None:
        """Keep the features at the first iteration, the last, and evenly between them."""
        if not isinstance(event, StepDone):
            return
        last = event.total_iterations - 1
        points = np.linspace(0, last, self._n_points).round().astype(int)
        if event.iteration in points:
            original, first = (event.features(view).astype(np.float16) for view in (0, 1))
            self.kept.append((event.iteration, original, first))
