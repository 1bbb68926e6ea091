"""The record of a run, computed again from the events."""

import dataclasses

import numpy as np
import pytest

from caot.training import (
    EndReason,
    Finished,
    StageStarted,
    StepDone,
    TargetsMade,
)
from caot.training.history import Recorder
from tests.training.runs import CORPUS, N_CLUSTERS, events_of, make_trainer

N = len(CORPUS.texts)


@pytest.fixture(scope="module")
def run():
    """Return a finished trainer and its events."""
    events = []
    trainer = make_trainer("frozen", callbacks=[events.append])
    assert trainer.run() is EndReason.COMPLETED
    return trainer, events


def test_history_has_a_row_for_each_iteration(run):
    history = run[0].history
    by_step = ("stage", "loss", "instance_loss", "attention_loss", "pseudo_label_loss")
    for field in dataclasses.fields(history):
        shape = getattr(history, field.name).shape
        if field.name in by_step:
            assert shape == (30,)
        elif field.name in ("column_mass", "cluster_sizes"):
            assert shape == (16, N_CLUSTERS)
        else:
            assert shape == (16,)


def test_history_repeats_the_events(run):
    trainer, events = run
    history, steps, targets = (
        trainer.history,
        events_of(events, StepDone),
        events_of(events, TargetsMade),
    )
    for name in ("loss", "instance_loss", "attention_loss", "pseudo_label_loss"):
        np.testing.assert_array_equal(getattr(history, name), [getattr(e, name) for e in steps])
    assert history.stage.tolist() == [e.stage.value for e in steps]
    assert history.target_iteration.tolist() == [e.iteration for e in targets]
    assert history.status.tolist() == [e.status.name.lower() for e in targets]
    for name in ("change_rate", "n_outer", "n_inner", "stopped_early", "collapsed"):
        assert getattr(history, name).tolist() == [getattr(e, name) for e in targets]
    np.testing.assert_allclose(history.column_mass, [e.column_mass for e in targets], rtol=1e-6)


def test_change_rate_compares_with_the_same_samples_last_label(run):
    """Eq. 28, sample by sample."""
    last, rates = {}, []
    for event in events_of(run[1], TargetsMade):
        pairs = [(last.get(r), lab) for r, lab in zip(event.rows, event.labels, strict=True)]
        known = [old != new for old, new in pairs if old is not None]
        rates.append(sum(known) / len(known) if known else 1.0)
        last.update(zip(event.rows.tolist(), event.labels.tolist(), strict=True))
    assert run[0].history.change_rate.tolist() == pytest.approx(rates)
    assert rates[0] == 1.0
    assert 0 < sum(rates[1:]) < len(rates) - 1
    assert run[0].last_labels.tolist() == [last[row] for row in range(N)]


def test_cluster_sizes_count_the_newest_labels_of_all_samples(run):
    last, sizes = np.full(N, -1), []
    for event in events_of(run[1], TargetsMade):
        last[event.rows] = event.labels
        sizes.append([int((last == cluster).sum()) for cluster in range(N_CLUSTERS)])
    assert run[0].history.cluster_sizes.tolist() == sizes
    assert sum(sizes[0]) == 40
    assert sum(sizes[-1]) == N


def test_a_frame_has_a_row_for_each_iteration(run):
    history = run[0].history
    frame = history.to_frame()
    assert frame.index.name == "iteration"
    assert frame.index.tolist() == list(range(30))
    assert frame.loc[:13, "change_rate"].isna().all()
    assert frame.loc[14:, "change_rate"].tolist() == history.change_rate.tolist()
    assert frame["loss"].tolist() == history.loss.tolist()
    assert {"stage", "status", "n_outer", "n_inner", "collapsed"} <= set(frame.columns)


def test_a_recorder_takes_its_arrays_back(run):
    recorder, other = run[0].recorder, Recorder(N_CLUSTERS)
    other.restore(recorder.arrays())
    for field in dataclasses.fields(run[0].history):
        left, right = (getattr(r.history(), field.name) for r in (recorder, other))
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def test_a_record_of_nothing_is_empty():
    history = Recorder(3).history()
    assert history.loss.shape == (0,)
    assert history.column_mass.shape == (0, 3)
    assert history.to_frame().empty


def test_events_cannot_be_changed(run):
    """Observers have nothing in their hands to change a run with."""
    for kind in (StageStarted, TargetsMade, StepDone, Finished):
        event = events_of(run[1], kind)[0]
        field = dataclasses.fields(event)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field, 0)


def test_arrays_of_events_are_read_only_copies(run):
    trainer, events = run
    event = events_of(events, TargetsMade)[0]
    for name in ("rows", "labels", "column_mass"):
        array = getattr(event, name)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        assert not np.shares_memory(array, trainer.last_labels)
