"""The same seed gives the same bits, whoever watches."""

import time

import numpy as np
import pytest
import torch

from caot.training import EndReason, Finished, Schedule, StepDone
from tests.training.runs import (
    KINDS,
    assert_same_run,
    changed_parts,
    events_of,
    make_trainer,
    weights,
)

SHORT = Schedule(max_iter=5, warmup_iter=2, head_iter=2, batch_size=40)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_run(kind):
    left, right = make_trainer(kind), make_trainer(kind)
    left.run()
    torch.manual_seed(12345)  # the state of torch's generator has no part in it
    right.run()
    assert_same_run(left, right)


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_gives_another_run(kind):
    left = make_trainer(kind, schedule=SHORT)
    right = make_trainer(kind, schedule=SHORT, random_state=1)
    heads = {"clustering", "projecting", "attention"}
    assert changed_parts(weights(left), weights(right)) == heads
    left.run()
    right.run()
    assert changed_parts(weights(left), weights(right)) >= heads


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_leaves_the_global_generators_alone(kind):
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002 the global generator is what is tested
    state, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    make_trainer(kind, callbacks=[lambda _: torch.rand(3)], schedule=SHORT).run()
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002


@pytest.mark.parametrize("kind", ["trainable", "noise"])
def test_observers_do_not_change_the_run(kind):
    events = []

    def draw(_):
        torch.rand(5)

    def seed(_):
        torch.manual_seed(0)

    alone, watched = make_trainer(kind), make_trainer(kind, callbacks=[events.append, draw, seed])
    alone.run()
    watched.run()
    assert len(events) == 3 + 16 + 30 + 1
    assert_same_run(alone, watched)


def test_keeping_snapshots_does_not_change_the_run():
    alone, kept, states = make_trainer(), make_trainer(), []
    alone.run()
    kept.run(keep=states.append, keep_every=7)
    assert_same_run(alone, kept)
    assert [state.values["iteration"] for state in states] == [7, 14, 21, 28, 30]


def test_a_deadline_that_has_passed_ends_before_the_first_iteration():
    events, states = [], []
    trainer = make_trainer(callbacks=[events.append])
    before = weights(trainer)
    reason = trainer.run(deadline=time.monotonic() - 1, keep=states.append)
    assert reason is EndReason.TIME
    assert events == [Finished(0, EndReason.TIME)]
    assert changed_parts(before, weights(trainer)) == set()
    assert trainer.history.loss.shape == (0,)
    assert states[-1].values["iteration"] == 0


def test_a_run_out_of_time_goes_on_when_run_again(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def tick(event):
        now[0] += isinstance(event, StepDone)

    events = []
    straight, halted = make_trainer(), make_trainer(callbacks=[events.append, tick])
    straight.run()
    assert halted.run(deadline=16.5) is EndReason.TIME
    assert halted.iteration == 17
    assert halted.run() is EndReason.COMPLETED
    assert [e.iteration for e in events_of(events, StepDone)] == list(range(30))
    assert_same_run(straight, halted)
