"""A progress bar that watches training."""

from __future__ import annotations

from typing import NoReturn

from tqdm.auto import tqdm

from caot.training import Event, Finished, StageStarted, StepDone, TargetsMade


class ProgressBar:
    """Shows stage, loss and change rate; a callback like any other."""

    def __init__(self) -> None:
        self._bar: tqdm[NoReturn] | None = None
        self._change_rate: float | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case StageStarted(stage=stage):
                if self._bar is not None:
                    self._bar.set_description(stage.value)
            case TargetsMade(change_rate=rate):
                self._change_rate = rate
            case StepDone():
                self._step(event)
            case Finished():
                self.close()

    def close(self) -> None:
        """End the bar, whether training ended or was interrupted."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _step(self, event: StepDone) -> None:
        if self._bar is None:
            self._bar = tqdm(
                total=event.total_iterations,
                initial=event.iteration,
                desc=event.stage.value,
                unit="it",
                dynamic_ncols=True,
            )
        shown = {"loss": f"{event.loss:.3f}"}
        if self._change_rate is not None:
            shown["changed"] = f"{self._change_rate:.1%}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update()
