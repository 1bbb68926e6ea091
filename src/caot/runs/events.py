"""What happens in a run, told to observers, and how long each part of it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from caot.training import Event, Finished, StageStarted, StepDone


@dataclass(frozen=True, slots=True)
class PartStarted:
    """A part of the run other than a stage of training begins."""

    name: str


RunEvent: TypeAlias = Event | PartStarted
RunCallback: TypeAlias = Callable[[RunEvent], None]


class Clock:
    """Measures how long each part takes; a callback like any other."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._name: str | None = None
        self._since = time.monotonic()

    def __call__(self, event: RunEvent) -> None:
        """Note which part begins; a resumed stage of training is known by its steps."""
        match event:
            case PartStarted(name=name):
                self._enter(name)
            case StageStarted(stage=stage) | StepDone(stage=stage):
                self._enter(stage.value)
            case Finished():
                self._enter("label")

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of each part so far, in the order of their beginnings."""
        if self._name is not None:
            self._close(self._name)
        return {name: round(taken, 3) for name, taken in self._seconds.items()}

    def _enter(self, name: str) -> None:
        if name == self._name:
            return
        if self._name is not None:
            self._close(self._name)
        self._name, self._since = name, time.monotonic()

    def _close(self, name: str) -> None:
        now = time.monotonic()
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now
