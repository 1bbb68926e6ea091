"""How a fit goes on: a bar in a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

# ruff: noqa: PLC0415 - rich's bars are brought in only where one is drawn, torch never for help
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

    from caot.cli.screen import Screen
    from caot.runs import RunCallback, RunEvent

_PARTS = {
    "check": "checking the texts",
    "choose K": "choosing the number of clusters",
    "prepare": "encoding the texts",
    "warm-up": "warm-up",
    "head start": "head start",
    "interactive": "clustering",
    "label": "labelling the texts",
    "describe": "describing the clusters",
    "write": "writing results",
    "report": "drawing the report",
}
_LINES = 10  # plain lines of a whole training


@contextmanager
def shown(screen: Screen) -> Iterator[tuple[RunCallback, ...]]:
    """Give the observers that show a run on a screen."""
    if screen.quiet:
        yield ()
    elif screen.err.is_terminal:
        with _bar(screen) as bar:
            yield (Bar(bar),)
    else:
        yield (Lines(screen),)


def _bar(screen: Screen) -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}"),
        console=screen.err,
        transient=True,
    )


class Bar:
    """Shows stage, iterations, remaining time, loss and change rate in a live bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None, losses="")
        self._rate: float | None = None

    def __call__(self, event: RunEvent) -> None:
        """Show an event."""
        from caot.runs import PartStarted
        from caot.training import Finished, StepDone, TargetsMade

        match event:
            case PartStarted(name=name):
                self._part(_PARTS.get(name, name))
            case Finished():
                self._part(_PARTS["label"])
            case TargetsMade(change_rate=rate):
                self._rate = rate
            case StepDone():
                self._progress.update(
                    self._task,
                    description=_PARTS[event.stage.value],
                    total=event.total_iterations,
                    completed=event.iteration + 1,
                    losses=_losses(event.loss, self._rate),
                )

    def _part(self, name: str) -> None:
        # A new task, so that its remaining time is not taken from another part's speed.
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=None, losses="")


class Lines:
    """Shows the same in lines, a few for each part."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rate: float | None = None
        self._first: tuple[int, float] | None = None

    def __call__(self, event: RunEvent) -> None:
        """Show an event."""
        from caot.runs import PartStarted
        from caot.training import Finished, StepDone, TargetsMade

        match event:
            case PartStarted(name=name):
                self._screen.note(_PARTS.get(name, name))
            case Finished():
                self._screen.note(_PARTS["label"])
            case TargetsMade(change_rate=rate):
                self._rate = rate
            case StepDone():
                self._step(event)

    def _step(self, event: Any) -> None:  # noqa: ANN401 - a StepDone, imported only as it runs
        done, total = event.iteration + 1, event.total_iterations
        first, since = self._first or (event.iteration, time.monotonic())
        self._first = (first, since)
        if done != total and done % max(1, total // _LINES):
            return
        left = (time.monotonic() - since) / max(1, done - first) * (total - done)
        self._screen.note(
            f"{_PARTS[event.stage.value]}: {done} of {total} iterations, "
            f"{_losses(event.loss, self._rate)}, at most {_duration(left)} left"
        )


def _losses(loss: float, rate: float | None) -> str:
    return f"loss {loss:.2f}" + ("" if rate is None else f", {rate:.1%} changed")


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
