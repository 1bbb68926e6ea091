"""Interrupt, resume, and fall back."""

import dataclasses

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from caot.losses import instance_contrast
from caot.training import (
    CheckpointError,
    EndReason,
    Finished,
    Objective,
    Snapshot,
    StepDone,
    TargetsMade,
    algorithm,
    state,
)
from caot.transport import ConsistentTransport, Queued, Status
from tests.training.runs import (
    KINDS,
    assert_same_run,
    changed_parts,
    events_of,
    make_trainer,
    weights,
)

RUN = "run-1"


@pytest.fixture(scope="module")
def straight():
    """Return finished runs of each kind that nothing disturbed."""
    trainers = {kind: make_trainer(kind) for kind in KINDS}
    for trainer in trainers.values():
        trainer.run()
    return trainers


@pytest.fixture
def checkpoint(tmp_path):
    """Return the file of a checkpoint of an untrained run."""
    path = tmp_path / "run.safetensors"
    Snapshot.take(make_trainer()).save(path, RUN)
    return path


def interrupt_at(iteration, kind):
    def raise_there(event):
        if isinstance(event, kind) and event.iteration == iteration:
            raise KeyboardInterrupt

    return raise_there


def failing_contrast(when, replacement):
    """Return L_I that is `replacement` at the call number `when`, counted from 0."""
    calls = iter(range(10**6))
    return lambda z1, z2, t: (
        replacement(z1) if next(calls) == when else instance_contrast(z1, z2, t)
    )


@pytest.mark.parametrize(
    ("kind", "interrupt", "resumed_at"),
    [
        ("trainable", (3, StepDone), 0),  # before anything was kept but the start
        ("trainable", (9, StepDone), 8),  # at the first iteration of the head start
        ("trainable", (22, TargetsMade), 20),  # in the middle of an iteration
        ("frozen", (13, StepDone), 12),
        ("noise", (22, TargetsMade), 20),
    ],
)
def test_an_interrupted_run_resumes_bit_for_bit(straight, tmp_path, kind, interrupt, resumed_at):
    path = tmp_path / "deep" / "run.safetensors"
    halted = make_trainer(kind, callbacks=[interrupt_at(*interrupt)])
    with pytest.raises(KeyboardInterrupt):
        halted.run(keep=lambda s: s.save(path, RUN), keep_every=4)
    events = []
    resumed = make_trainer(kind, callbacks=[events.append])
    Snapshot.load(path, RUN).restore(resumed)
    assert resumed.iteration == resumed_at
    assert resumed.run(keep=lambda s: s.save(path, RUN), keep_every=4) is EndReason.COMPLETED
    assert events_of(events, StepDone)[0].iteration == resumed_at
    assert_same_run(straight[kind], resumed)
    assert [p.name for p in path.parent.iterdir()] == ["run.safetensors"]


def test_neighbours_are_resumed_too(tmp_path):
    path, heed = tmp_path / "run.safetensors", {"neighbour_weight": 4.0}
    straight = make_trainer("trainable", **heed)
    straight.run()
    halted = make_trainer("trainable", callbacks=[interrupt_at(22, TargetsMade)], **heed)
    with pytest.raises(KeyboardInterrupt):
        halted.run(keep=lambda s: s.save(path, RUN), keep_every=4)
    resumed = make_trainer("trainable", **heed)
    Snapshot.load(path, RUN).restore(resumed)
    resumed.run()
    assert_same_run(straight, resumed)
    np.testing.assert_array_equal(straight.neighbours.index, resumed.neighbours.index)


def test_a_finished_run_has_nothing_left_to_do(straight, tmp_path):
    path = tmp_path / "run.safetensors"
    Snapshot.take(straight["frozen"]).save(path, RUN)
    events = []
    resumed = make_trainer(callbacks=[events.append])
    Snapshot.load(path, RUN).restore(resumed)
    assert resumed.run() is EndReason.COMPLETED
    assert events == [Finished(30, EndReason.COMPLETED)]
    assert_same_run(straight["frozen"], resumed)


def test_a_snapshot_is_a_copy():
    trainer = make_trainer("trainable")
    before, snapshot = weights(trainer), Snapshot.take(trainer)
    trainer.run()
    assert trainer.optimizer.state_dict()["state"]
    snapshot.restore(trainer)
    assert changed_parts(before, weights(trainer)) == set()
    assert trainer.iteration == 0
    assert trainer.optimizer.state_dict()["state"] == {}
    assert trainer.history.loss.shape == (0,)
    assert set(trainer.last_labels) == {-1}
    again = make_trainer("trainable")
    for one in (trainer, again):
        one.run()
    assert_same_run(trainer, again)


def test_a_checkpoint_comes_back_as_it_was(checkpoint):
    expected, found = Snapshot.take(make_trainer()), Snapshot.load(checkpoint, RUN)
    assert found.values == expected.values
    assert found.tensors.keys() == expected.tensors.keys()
    for name, value in expected.tensors.items():
        assert torch.equal(found.tensors[name], value), name


def test_a_checkpoint_of_another_run_is_refused(checkpoint):
    with pytest.raises(CheckpointError, match="is of another run: the settings, the encoder or"):
        Snapshot.load(checkpoint, "run-2")


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"\x08" + b"\0" * 20])
def test_a_corrupt_file_is_refused(tmp_path, content):
    path = tmp_path / "run.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"cannot be read .*: delete it to start anew"):
        Snapshot.load(path, RUN)


def test_a_truncated_checkpoint_is_refused(checkpoint):
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"cannot be read .*: delete it to start anew"):
        Snapshot.load(checkpoint, RUN)


def test_a_checkpoint_of_another_version_is_refused(checkpoint, monkeypatch):
    monkeypatch.setattr(state, "CHECKPOINT_VERSION", 9)
    with pytest.raises(CheckpointError, match="has version 4, this is version 9: resume with"):
        Snapshot.load(checkpoint, RUN)


def test_a_file_of_something_else_is_refused(checkpoint):
    save_file(load_file(checkpoint), checkpoint)  # without what a checkpoint says about itself
    with pytest.raises(CheckpointError, match="has version None"):
        Snapshot.load(checkpoint, RUN)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_save_that_fails_leaves_the_old_file(checkpoint, monkeypatch, error):
    before = checkpoint.read_bytes()

    def half(_tensors, name, _metadata):
        with open(name, "wb") as file:  # noqa: PTH123 stands for a writer that opens the name
            file.write(b"half")
        raise error

    monkeypatch.setattr(state, "save_file", half)
    with pytest.raises(error):
        Snapshot.take(make_trainer()).save(checkpoint, RUN)
    assert checkpoint.read_bytes() == before
    assert list(checkpoint.parent.iterdir()) == [checkpoint]


@pytest.mark.parametrize("kind", ["trainable", "noise"])
def test_a_loss_that_is_not_finite_ends_in_the_last_good_state(monkeypatch, kind):
    # The head start has no L_I: after 8 of the warm-up, number 10 is that of iteration 16.
    broken = failing_contrast(10, lambda z: z.sum() * torch.nan)
    monkeypatch.setattr(algorithm, "instance_contrast", broken)
    events, states = [], []
    trainer = make_trainer(kind, callbacks=[events.append])
    assert trainer.run(keep=states.append, keep_every=5) is EndReason.DIVERGED
    assert events[-1] == Finished(15, EndReason.DIVERGED)
    assert trainer.iteration == 15
    assert trainer.history.loss.shape == (15,)
    assert trainer.history.target_iteration.tolist() == [14]
    good = make_trainer(kind)
    next(s for s in states if s.values["iteration"] == 15).restore(good)
    assert_same_run(good, trainer)
    assert states[-1].values["iteration"] == 15
    assert all(value.isfinite().all() for value in weights(trainer).values())


def test_a_rarely_kept_state_is_fallen_back_on_all_the_same(monkeypatch):
    monkeypatch.setattr(algorithm, "_KEEP_EVERY", 5)
    broken = failing_contrast(10, lambda z: z.sum() * torch.nan)
    monkeypatch.setattr(algorithm, "instance_contrast", broken)
    states, trainer = [], make_trainer()
    assert trainer.run(keep=states.append, keep_every=1000) is EndReason.DIVERGED
    assert trainer.iteration == 15
    assert [state.values["iteration"] for state in states] == [15]


def test_huge_steps_end_in_a_finite_state():
    trainer = make_trainer(objective=Objective(learning_rate=1e30))
    before = weights(trainer)
    assert trainer.run() is EndReason.DIVERGED
    assert trainer.iteration == 0
    assert changed_parts(before, weights(trainer)) == set()


def test_a_transport_without_a_finite_plan_ends_in_the_last_good_state():
    class Failing(ConsistentTransport):
        """Fails in its third solve."""

        calls = iter(range(10**6))

        def queue(self, log_prob, similarity=None):
            queued = super().queue(log_prob, similarity)
            if next(self.calls) < 2:
                return queued
            labels = torch.full_like(queued.labels, -1)
            result = queued.read(queued.told.numpy())
            return Queued.solved(
                dataclasses.replace(result, labels=labels, status=Status.NON_FINITE)
            )

    events = []
    trainer = make_trainer(transport=Failing(), callbacks=[events.append])
    assert trainer.run(keep_every=15) is EndReason.DIVERGED
    assert trainer.iteration == 15
    assert [e.iteration for e in events_of(events, TargetsMade)] == [14, 15]
    assert trainer.history.target_iteration.tolist() == [14]
    assert np.bincount(trainer.last_labels + 1)[0] == 20  # 40 of 60 have been labelled


@pytest.mark.parametrize(("iteration", "resumed_at"), [(4, 0), (29, 25)])
def test_a_gradient_that_is_not_finite_ends_in_the_last_good_state(
    monkeypatch, iteration, resumed_at
):
    def finite_without_gradient(z):
        return (z * 0.0).sum().abs().sqrt() + 1.0  # 1, with the gradient 0 · ∞

    number = iteration if iteration < 8 else iteration - 6
    broken = failing_contrast(number, finite_without_gradient)
    monkeypatch.setattr(algorithm, "instance_contrast", broken)
    trainer = make_trainer()
    assert trainer.run(keep_every=5) is EndReason.DIVERGED
    assert trainer.iteration == resumed_at
    assert all(value.isfinite().all() for value in weights(trainer).values())
