"""Settings: declared once, checked when made, written as JSON, and what they mean for a run."""

import json
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from caot import CAOT, Variant
from caot.augment import FeatureNoise, Views
from caot.plain import from_plain
from caot.settings import FitSettings, PreparationSettings
from caot.training import Schedule, SimilaritySettings
from caot.transport import AdaptiveTransport, BalancedTransport, ConsistentTransport, Prediction
from tests.fakes import HashEncoder

WEIGHTS = {"epsilon": 0.5, "consistency": 7.0}


def test_the_estimator_has_the_same_settings_with_the_same_defaults():
    parameters = CAOT().get_params(deep=False)
    assert set(parameters) == {"n_clusters", *(field.name for field in fields(FitSettings))}
    assert FitSettings.of(parameters) == FitSettings()


def test_settings_are_picked_from_the_parameters_of_an_estimator():
    parameters = CAOT(5, finetune=2, epsilon=0.5, mode="faithful").get_params(deep=False)
    assert FitSettings.of(parameters) == FitSettings(finetune=2, epsilon=0.5, mode="faithful")
    assert PreparationSettings.of(parameters) == PreparationSettings(finetune=2, mode="faithful")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 1}, "batch_size must be an integer of at least 2, got 1"),
        ({"max_length": 0}, "max_length must be an integer of at least 1, got 0"),
        ({"max_chunks": 0}, "max_chunks must be an integer of at least 1, got 0"),
        ({"mode": "quick"}, "mode must be one of 'default', 'faithful', got 'quick'"),
        ({"on_empty": "drop"}, "on_empty must be one of 'error', 'own-cluster', got 'drop'"),
        ({"augmenter": "no-such"}, "Unknown augmenter 'no-such'"),
        ({"finetune": 0}, "finetune must be"),
        ({"device": "abacus"}, "device must be"),
        ({"time_budget": "soon"}, "time_budget must be"),
        ({"cache_memory": "much"}, "cache_memory must be"),
        ({"random_state": -1}, "random_state must be an integer from 0 to"),
    ],
)
def test_settings_of_any_method_check_themselves(changes, message):
    for kind in (PreparationSettings, FitSettings):
        with pytest.raises(ValueError, match=message):
            kind(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"imbalance": "odd"}, "imbalance must be one of"),
        ({"imbalance": float("inf")}, "imbalance must be one of"),
        ({"random_state": 2**32}, "random_state must be an integer from 0 to 4294967295"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0"),
        ({"warmup_iter": -1}, "warmup_iter must be an integer of at least 0, got -1"),
        ({"patience": 1.5}, "patience must be an integer of at least 0, got 1.5"),
        ({"epsilon": 0.0}, "epsilon must be positive, got 0.0"),
        ({"consistency": math.inf}, "consistency must be at least 0 and finite, got inf"),
        ({"contrast_weight": -1.0}, "contrast_weight must be at least 0, got -1.0"),
        ({"temperature_attention": 0.0}, "temperature_attention must be positive, got 0.0"),
        ({"learning_rate_encoder": -1.0}, "learning_rate_encoder must be at least 0, got -1.0"),
    ],
)
def test_settings_of_the_method_check_themselves(changes, message):
    with pytest.raises(ValueError, match=message):
        FitSettings(**changes)


def test_a_variant_is_no_other_object():
    with pytest.raises(TypeError, match=r"variant must be a caot\.Variant, got str"):
        FitSettings(variant="consistent")


def test_settings_are_written_as_json():
    plain = FitSettings().as_dict()
    assert list(plain) == [field.name for field in fields(FitSettings)]
    assert json.loads(json.dumps(plain)) == plain
    assert FitSettings(**plain) == FitSettings()


def test_objects_are_written_as_their_names():
    def double(texts):
        return texts, texts

    assert FitSettings(encoder=HashEncoder()).as_dict()["encoder"] == HashEncoder().name
    assert FitSettings(encoder=Path("some") / "model").as_dict()["encoder"] == "some/model"
    assert FitSettings(augmenter=FeatureNoise(0.2)).as_dict()["augmenter"] == FeatureNoise().name
    assert "secret" not in str(FitSettings(augmenter=Views(["secret"], ["secret"])).as_dict())
    assert FitSettings(augmenter=double).as_dict()["augmenter"].endswith("double")
    assert type(FitSettings(random_state=np.int64(3)).as_dict()["random_state"]) is int
    assert FitSettings(variant=Variant(head_iter=7)).as_dict()["variant"]["head_iter"] == 7


def test_what_was_written_is_read_again():
    for variant in (None, Variant(start="kmeans", neighbour_weight=0.0)):
        settings = FitSettings(epsilon=0.5, variant=variant)
        written = json.loads(json.dumps(settings.as_dict()))
        assert FitSettings(**from_plain(written)) == settings
    with pytest.raises(ValueError, match="variant has no choice 'strat': did you mean 'start'"):
        from_plain({"variant": {"strat": "kmeans"}})


# Schedules


@pytest.mark.parametrize(
    ("mode", "frozen", "max_iter", "warmup_iter"),
    [
        ("faithful", False, 2000, 600),
        ("faithful", True, 2000, 600),
        ("default", True, 1000, 300),
        ("default", False, 200, 0),
    ],
)
def test_schedules_by_default(mode, frozen, max_iter, warmup_iter):
    found = FitSettings(mode=mode).schedule(frozen=frozen, n_samples=20_000)
    assert found == Schedule(max_iter, warmup_iter, 80, 200)


@pytest.mark.parametrize(
    ("n_samples", "max_iter"),
    [(50, 200), (20_000, 200), (30_000, 300), (40_000, 400), (10**6, 400)],
)
def test_few_samples_need_few_iterations(n_samples, max_iter):
    assert FitSettings().schedule(frozen=False, n_samples=n_samples).max_iter == max_iter


def test_schedules_as_set():
    def make(max_iter, warmup_iter, n_iter=None):
        settings = FitSettings(
            max_iter=max_iter, warmup_iter=warmup_iter, batch_size=50, variant=Variant(head_iter=0)
        )
        return settings.schedule(frozen=True, n_samples=100, n_iter=n_iter)

    assert make(50, None) == Schedule(50, 15, 0, 50)  # the share of the warm-up is kept
    assert make(None, 0) == Schedule(1000, 0, 0, 50)
    assert make(20, 5) == Schedule(20, 5, 0, 50)
    assert make(1, None) == Schedule(1, 0, 0, 50)
    assert make(50, None, n_iter=40) == Schedule(40, 12, 0, 50)


def test_a_long_warm_up_fits_the_many_iterations_of_a_frozen_encoder():
    settings = FitSettings(warmup_iter=500)
    assert settings.schedule(frozen=True, n_samples=100).warmup_iter == 500
    assert settings.iterations(frozen=False, n_samples=100) == 200
    # Who set no max_iter cannot know that layers that learn have fewer, or time for fewer.
    assert settings.schedule(frozen=False, n_samples=100).warmup_iter == 200
    assert settings.schedule(frozen=True, n_samples=100, n_iter=160).warmup_iter == 160


def test_a_warm_up_is_no_longer_than_the_training():
    with pytest.raises(ValueError, match="warmup_iter must lie between 0 and max_iter = 10"):
        FitSettings(max_iter=10, warmup_iter=11).schedule(frozen=True, n_samples=100)


# Parts of the trainer


def test_step_sizes_of_the_encoder():
    def rate(layers, **settings):
        return FitSettings(**settings).objective(layers).learning_rate_encoder

    assert rate("all", mode="faithful") == rate(2, mode="faithful") == 5e-6
    assert rate("all") == 2e-5
    assert rate(2) == 1e-4
    assert rate(2, learning_rate_encoder=0.0, mode="faithful") == 0.0


@pytest.mark.parametrize(("mode", "scheme"), [("default", "joint"), ("faithful", "alternating")])
def test_a_transport_for_each_kind_of_pseudo_labels(mode, scheme):
    def make(kind):
        return FitSettings(mode=mode, variant=Variant(pseudo_labels=kind), **WEIGHTS).transport(3.0)

    assert make("prediction") == Prediction()
    assert make("balanced") == BalancedTransport(0.5, scheme=scheme)
    assert make("adaptive") == AdaptiveTransport(0.5, 3.0, scheme=scheme)


def test_the_consistent_transport_of_each_mode():
    assert FitSettings(**WEIGHTS).transport(3.0) == ConsistentTransport(
        0.5, 3.0, 7.0, inner_tol=1e-6
    )
    as_printed = ConsistentTransport(
        0.5,
        3.0,
        7.0,
        max_outer=10,
        max_inner=10,
        scheme="alternating",
        outer_tol=0.0,
        inner_tol=0.0,
    )
    assert FitSettings(mode="faithful", **WEIGHTS).transport(3.0) == as_printed


def test_a_variant_overrules_the_mode():
    joint = FitSettings(mode="faithful", variant=Variant(scheme="joint"), **WEIGHTS).transport(3.0)
    assert joint == ConsistentTransport(0.5, 3.0, 7.0, inner_tol=1e-6)
    alternating = FitSettings(variant=Variant(scheme="alternating"), **WEIGHTS).transport(3.0)
    assert (alternating.scheme, alternating.inner_tol) == ("alternating", 0.0)


def test_the_penalty_of_each_mode():
    assert FitSettings().penalty == "gentle"
    assert FitSettings(mode="faithful").penalty == "printed"
    assert FitSettings(variant=Variant(penalty="printed")).penalty == "printed"
    assert FitSettings(mode="faithful", variant=Variant(penalty="gentle")).penalty == "gentle"


def config(mode="default", *, frozen=True, patience=None, **changes):
    settings = FitSettings(
        mode=mode,
        variant=Variant(**changes),
        contrast_weight=2.0,
        patience=patience,
        random_state=9,
        **WEIGHTS,
    )
    return settings.config(
        4,
        Schedule(10, 3),
        layers="none" if frozen else "all",
        uniformity=3.0,
        embedding_scale=5.0,
    )


def test_a_config_holds_what_it_was_given():
    found = config(attention="transformer", kmeans_restarts=3)
    assert (found.n_clusters, found.random_state) == (4, 9)
    assert (found.schedule, found.transport) == (
        Schedule(10, 3),
        ConsistentTransport(0.5, 3.0, 7.0, inner_tol=1e-6),
    )
    assert found.objective.contrast_weight == 2.0
    assert (found.attention, found.start.restarts) == ("transformer", 3)


@pytest.mark.parametrize(
    ("name", "weights"),
    [("both", (1, 1)), ("cosine", (1, 0)), ("attention", (0, 1)), ("none", (0, 0))],
)
def test_a_config_has_the_similarity_of_the_variant(name, weights):
    assert config(similarity=name).similarity == SimilaritySettings(*weights)
    assert config(keep_diagonal=True).similarity.keep_diagonal


def test_the_mode_decides_on_dropout_and_scale():
    assert config("default").predict_in_evaluation
    assert not config("faithful").predict_in_evaluation
    assert not config("default", predict_in_evaluation=False).predict_in_evaluation
    assert config("faithful", predict_in_evaluation=True).predict_in_evaluation
    assert config("default").embedding_scale == 5.0
    assert config("faithful").embedding_scale == 1.0


def test_neighbours_count_in_default_mode_alone():
    usual, printed = config("default"), config("faithful")
    assert (usual.start.kind, usual.neighbour_weight) == ("neighbours", 4.5 * math.log(4))
    assert (printed.start.kind, printed.neighbour_weight) == ("kmeans", 0.0)
    assert (FitSettings().word_weight, FitSettings(mode="faithful").word_weight) == (0.5, 0.0)
    chosen = {"start": "kmeans", "neighbour_weight": 3.0}
    found = config("default", **chosen)
    assert (found.start.kind, found.neighbour_weight) == ("kmeans", 3.0)


@pytest.mark.parametrize(
    ("mode", "frozen", "given", "expected"),
    [
        ("default", True, None, 150),
        ("default", False, None, 100),
        ("faithful", False, None, 0),
        ("faithful", False, 7, 7),
        ("default", True, 0, 0),
    ],
)
def test_patience_by_mode(mode, frozen, given, expected):
    made = config(mode, frozen=frozen, patience=given)
    assert made.stopping.patience == expected
