"""Settings: what they refuse, and how a schedule divides the iterations."""

import dataclasses
import json
import math

import pytest

from caot.training import Objective, Schedule, SimilaritySettings, Stage, TrainingConfig
from caot.transport import AdaptiveTransport, BalancedTransport, ConsistentTransport, Prediction

WARM, HEAD, INTER = Stage


def test_the_defaults_are_the_papers():
    schedule, objective = Schedule(), Objective()
    assert (schedule.max_iter, schedule.warmup_iter, schedule.batch_size) == (2000, 600, 200)
    assert objective == Objective(5.0, 1.0, 1.0, 5e-4, 5e-6)
    assert TrainingConfig(4).transport == ConsistentTransport(1.0, 100.0, 25.0)
    assert not TrainingConfig(4).predict_in_evaluation
    assert TrainingConfig(4).embedding_scale == 1.0


@pytest.mark.parametrize(
    ("schedule", "stages"),
    [
        (Schedule(5, 2, 3), [WARM, WARM, HEAD, HEAD, HEAD, INTER, INTER, INTER]),
        (Schedule(2, 0, 1), [HEAD, INTER, INTER]),
        (Schedule(3, 1, 0), [WARM, INTER, INTER]),
        (Schedule(1, 0, 0), [INTER]),
        (Schedule(2, 2, 1), [WARM, WARM, HEAD]),
    ],
)
def test_each_iteration_has_its_stage(schedule, stages):
    assert schedule.total == len(stages)
    assert [schedule.stage(i) for i in range(schedule.total)] == stages
    for stage in Stage:
        start, end = schedule.bounds(stage)
        assert stages[start:end] == [stage] * stages.count(stage)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_iter": 0, "warmup_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"max_iter": 5, "warmup_iter": 6}, "between 0 and max_iter = 5, got 6"),
        ({"warmup_iter": -1}, "warmup_iter must lie .* got -1"),
        ({"head_iter": -1}, "head_iter must be at least 0, got -1"),
        ({"batch_size": 1}, "batch_size must be at least 2, got 1"),
    ],
)
def test_schedules_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**changes)


@pytest.mark.parametrize("name", ["temperature_instance", "temperature_attention", "learning_rate"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_temperatures_and_step_sizes_are_positive(name, value):
    with pytest.raises(ValueError, match=f"{name} must be positive"):
        Objective(**{name: value})


@pytest.mark.parametrize("name", ["contrast_weight", "learning_rate_encoder"])
def test_weights_are_not_negative(name):
    assert getattr(Objective(**{name: 0.0}), name) == 0.0
    for value in (-1e-9, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"{name} must be at least 0"):
            Objective(**{name: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_clusters": 1}, "n_clusters must be at least 2, got 1"),
        ({"attention": "heads"}, "attention must be 'matrices' or 'transformer', got 'heads'"),
        ({"embedding_scale": 0.0}, "embedding_scale must be positive"),
        ({"embedding_scale": math.nan}, "embedding_scale must be positive"),
        ({"neighbour_weight": -1.0}, "neighbour_weight must be at least 0, got -1.0"),
    ],
)
def test_configs_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**{"n_clusters": 4, **changes})


def test_settings_cannot_be_changed():
    for record, name in ((Schedule(), "max_iter"), (Objective(), "learning_rate")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainingConfig(4).n_clusters = 5


def test_a_similarity_of_nothing_is_not_used():
    assert SimilaritySettings().is_used
    assert SimilaritySettings(0.0, 1.0).is_used
    assert SimilaritySettings(1.0, 0.0).is_used
    assert not SimilaritySettings(0.0, 0.0).is_used


def test_another_transport_leaves_the_rest():
    config = TrainingConfig(4, Schedule(10, 3), random_state=7)
    other = dataclasses.replace(config, transport=Prediction())
    assert other.transport == Prediction()
    assert dataclasses.replace(other, transport=config.transport) == config


@pytest.mark.parametrize(
    "transport",
    [ConsistentTransport(), AdaptiveTransport(uniformity=2.0), BalancedTransport(), Prediction()],
)
def test_a_config_is_a_record_in_json(transport):
    config = TrainingConfig(4, transport=transport, random_state=3)
    record = json.loads(json.dumps(config.as_dict(), sort_keys=True))
    assert record["n_clusters"] == 4
    assert record["random_state"] == 3
    assert record["schedule"] == dataclasses.asdict(Schedule())
    solver = record["transport"].pop("solver")
    assert solver == type(transport).__name__
    assert record["transport"] == dataclasses.asdict(transport)
