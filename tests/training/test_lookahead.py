"""Batches gathered early are the same batches."""

import numpy as np
import pytest

from caot.training import EndReason
from caot.training.data import Sampler
from caot.training.lookahead import Lookahead
from caot.transport import ConsistentTransport, arrays
from tests.training.runs import KINDS, assert_same_run, make_trainer

FEW_STEPS = ConsistentTransport(consistency=5.0, max_outer=3, max_inner=4)


class Source:
    """Rows that count how often they are taken."""

    def __init__(self):
        self.taken = []

    def __len__(self):
        return 10

    def take(self, rows):
        self.taken.append(rows.tolist())
        return self

    def digest(self):
        return ""


def test_gathered_rows_are_not_taken_again():
    source, other, lookahead = Source(), Source(), Lookahead()
    rows = np.array([3, 1])
    lookahead.gather([source], rows)
    assert source.taken == [[3, 1]]
    for _ in range(2):
        lookahead.take(source, rows.copy())
    assert source.taken == [[3, 1]]
    lookahead.take(source, np.array([1, 3]))
    lookahead.take(other, rows)
    assert source.taken == [[3, 1], [1, 3]]
    assert other.taken == [[3, 1]]


@pytest.mark.parametrize(("n", "batch"), [(10, 7), (30, 10), (5, 5)])
def test_a_look_at_the_next_batch_changes_no_batch(n, batch):
    plain, watched, resumed = (Sampler(n, batch, 0) for _ in range(3))
    for _ in range(9):
        coming = watched.peek()
        resumed.restore(*watched.state())
        expected = plain.next()
        np.testing.assert_array_equal(coming, expected)
        np.testing.assert_array_equal(watched.next(), expected)
        np.testing.assert_array_equal(resumed.next(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_looks_ahead_takes_the_same_rows_and_resumes(monkeypatch, kind):
    monkeypatch.setattr(arrays, "stays_on", lambda device: True)
    ahead = make_trainer(kind, transport=FEW_STEPS)
    states = []
    ahead.run(keep=states.append, keep_every=17)
    resumed = make_trainer(kind, transport=FEW_STEPS)
    states[0].restore(resumed)
    resumed.run()
    assert_same_run(resumed, ahead)
    plain = make_trainer(kind, transport=FEW_STEPS)
    monkeypatch.setattr(plain, "_look_ahead", lambda: None)
    plain.run()
    assert_same_run(plain, ahead)


@pytest.mark.parametrize("kind", KINDS)
def test_every_batch_after_the_first_was_gathered_early(monkeypatch, kind):
    monkeypatch.setattr(arrays, "stays_on", lambda device: True)
    trainer = make_trainer(kind, transport=FEW_STEPS)
    late = []
    take = Lookahead.take

    def watch(self, source, rows):
        if not any(known is source for known, _ in self._gathered) or not np.array_equal(
            self._rows, rows
        ):
            late.append(trainer.iteration)
        return take(self, source, rows)

    monkeypatch.setattr(Lookahead, "take", watch)
    trainer.run()
    assert set(late) == {0}


def test_on_the_cpu_nothing_is_gathered_early(monkeypatch):
    monkeypatch.delattr(Lookahead, "gather")
    assert make_trainer().run() is EndReason.COMPLETED
