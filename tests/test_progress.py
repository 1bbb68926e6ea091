"""The progress bar, fed with events by hand and by a run."""

import math

import numpy as np
import pytest
from tqdm import tqdm

from caot.progress import ProgressBar
from caot.training import EndReason, Finished, Stage, StageStarted, StepDone, TargetsMade
from caot.transport import Status
from tests.training.runs import assert_same_run, make_trainer


def step(iteration, stage, total=4):
    return StepDone(iteration, total, stage, 1.23456, 1.0, 0.2, math.nan, lambda view: None)


def targets(rate):
    labels = np.zeros(2, dtype=np.int64)
    return TargetsMade(
        2, labels, labels, np.ones(1), rate, 0.5, Status.CONVERGED, 1, 1, True, False
    )


@pytest.fixture(autouse=True)
def no_bar_stays_open():
    yield
    assert not list(tqdm._instances)


def test_the_bar_goes_to_stderr_and_ends_its_line(capsys):
    bar = ProgressBar()
    events = [
        StageStarted(Stage.WARM_UP, 0, 2),
        step(0, Stage.WARM_UP),
        step(1, Stage.WARM_UP),
        StageStarted(Stage.INTERACTIVE, 2, 4),
        targets(0.25),
        step(2, Stage.INTERACTIVE),
        step(3, Stage.INTERACTIVE),
        Finished(4, EndReason.COMPLETED),
    ]
    for event in events:
        bar(event)
    out, err = capsys.readouterr()
    assert out == ""
    first, last = err.split("\r")[1], err.split("\r")[-1]
    assert "warm-up" in first
    assert "changed" not in first
    for shown in ("interactive", "100%", "4/4", "loss=1.235", "changed=25.0%"):
        assert shown in last
    assert err.endswith("\n")


def test_the_bar_of_a_resumed_run_begins_where_it_stopped(capsys):
    bar = ProgressBar()
    bar(step(2, Stage.INTERACTIVE))
    bar(Finished(3, EndReason.TIME))
    err = capsys.readouterr().err
    assert "2/4" in err
    assert "3/4" in err.split("\r")[-1]


def test_a_run_without_an_iteration_shows_nothing(capsys):
    bar = ProgressBar()
    bar(StageStarted(Stage.WARM_UP, 0, 2))
    bar(Finished(0, EndReason.TIME))
    assert capsys.readouterr() == ("", "")


def test_a_run_with_a_bar_is_the_same_run(capsys):
    alone, watched = make_trainer(), make_trainer(callbacks=[ProgressBar()])
    alone.run()
    watched.run()
    assert_same_run(alone, watched)
    assert "30/30" in capsys.readouterr().err
