"""A step of Adam that nothing can spoil, and how often an iteration waits for its device."""

import numpy as np
import pytest
import torch

from caot.training import EndReason, Objective, Stage
from caot.training.updating import Losses, StepNumbers, Updater
from caot.transport import ConsistentTransport, arrays
from tests.host_reads import HostReads
from tests.training.runs import KINDS, SCHEDULE, make_trainer

# A device takes all steps that are allowed.
FEW_STEPS = ConsistentTransport(consistency=5.0, max_outer=3, max_inner=4)


def make_updater():
    """Return an updater on two weights that has taken a step."""
    weights = [torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.nn.Parameter(torch.ones(3))]
    updater = Updater(weights[:1], weights[1:], Objective())
    updater.step(losses_of(updater))
    return updater


def losses_of(updater, factor=1.0):
    first, second = updater.learning
    return Losses(instance=(first**2).sum(), attention=factor * (second**2).sum())


def state_of(updater):
    moments = updater.optimizer.state_dict()["state"]
    values = [value for part in moments.values() for value in part.values()]
    return [value.detach().clone() for value in (*updater.learning, *values)]


def test_each_part_learns_at_its_rate():
    updater = make_updater()
    first, second = (parameter.detach() for parameter in updater.learning)
    settings = Objective()
    np.testing.assert_allclose(first, [1 - settings.learning_rate, 2 - settings.learning_rate])
    np.testing.assert_allclose(second, 1 - settings.learning_rate_encoder, rtol=1e-6)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("factor", [torch.nan, torch.inf])
def test_a_step_that_is_not_finite_is_not_taken(factor, fused):
    updater = make_updater()
    updater._fused = fused  # without, as on mps
    before = state_of(updater)
    numbers = StepNumbers(*updater.step(losses_of(updater, factor)).tolist())
    assert not numbers.is_finite
    assert all(torch.equal(old, new) for old, new in zip(before, state_of(updater), strict=True))
    updater.step(losses_of(updater))  # and the next one is
    assert not torch.equal(before[0], state_of(updater)[0])
    assert updater.is_finite()


def test_numbers_are_the_losses_and_the_norm_of_the_gradient():
    updater = make_updater()
    losses = losses_of(updater)
    numbers = StepNumbers(*updater.step(losses).tolist())
    assert numbers.instance == losses.instance.item()
    assert numbers.attention == losses.attention.item()
    assert np.isnan(numbers.pseudo_label)
    assert numbers.total == losses.total(Objective().contrast_weight).item()
    gradients = torch.cat([parameter.grad for parameter in updater.learning])
    assert numbers.norm == pytest.approx(gradients.norm().item())


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("sound", [True, False])
def test_no_step_is_taken_from_a_transport_that_is_not_finite(sound, fused):
    updater = make_updater()
    updater._fused = fused  # without, as on mps
    before = state_of(updater)
    updater.step(losses_of(updater), torch.tensor(sound))
    moved = [not torch.equal(old, new) for old, new in zip(before, state_of(updater), strict=True)]
    assert any(moved) is sound


def test_weights_that_are_not_finite_are_found():
    updater = make_updater()
    with torch.no_grad():
        updater.learning[1][2] = torch.inf
    assert not updater.is_finite()


@pytest.mark.parametrize("kind", KINDS)
def test_an_iteration_waits_once(monkeypatch, kind):
    """As on an accelerator: for the numbers of the step and of its transport together."""
    monkeypatch.setattr(arrays, "stays_on", lambda device: True)
    trainer = make_trainer(kind, transport=FEW_STEPS)
    for stage in Stage:
        trainer.iteration = SCHEDULE.bounds(stage)[0]
        trainer._iterate(stage)
        trainer.iteration += 1
        with HostReads() as reads:
            assert trainer._iterate(stage)
        assert reads.questions == []
        assert reads.copies == 1, stage


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_as_on_an_accelerator_ends_like_one_on_the_cpu(monkeypatch, kind):
    expected = make_trainer(kind, transport=FEW_STEPS)
    expected.run()
    monkeypatch.setattr(arrays, "stays_on", lambda device: True)
    trainer = make_trainer(kind, transport=FEW_STEPS)
    assert trainer.run() is EndReason.COMPLETED
    assert np.mean(trainer.last_labels == expected.last_labels) == 1.0
    np.testing.assert_allclose(trainer.history.loss, expected.history.loss, rtol=1e-4)


def test_predictions_that_are_not_finite_end_a_run_as_on_an_accelerator(monkeypatch):
    monkeypatch.setattr(arrays, "stays_on", lambda device: True)
    trainer = make_trainer(transport=FEW_STEPS)
    monkeypatch.setattr(trainer, "_heed_neighbours", lambda rows, log_prob: log_prob * torch.nan)
    assert trainer.run(keep_every=5) is EndReason.DIVERGED
    assert trainer.iteration == 10
    assert trainer.history.target_iteration.size == 0
