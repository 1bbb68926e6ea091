"""From what a user sets to the settings of a run."""

import math

import pytest

from caot.settings import (
    Variant,
    check_finetune,
    check_layers,
    encoder_rate,
    make_config,
    make_schedule,
    make_transport,
    n_bytes,
    seconds,
)
from caot.training import Objective, Schedule, SimilaritySettings
from caot.transport import AdaptiveTransport, BalancedTransport, ConsistentTransport, Prediction

WEIGHTS = {"epsilon": 0.5, "uniformity": 3.0, "consistency": 7.0}


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (None, math.inf),
        (90, 90.0),
        (0.5, 0.5),
        ("90s", 90.0),
        ("90 sec", 90.0),
        ("10min", 600.0),
        (" 1.5 m ", 90.0),
        ("2h", 7200.0),
        ("0.5h", 1800.0),
    ],
)
def test_time_budgets_are_read(budget, expected):
    assert seconds(budget) == expected


@pytest.mark.parametrize(
    "budget", [0, -1, math.nan, True, "", "10", "ten minutes", "0s", "-5s", "5 days", "1h30m", [60]]
)
def test_other_time_budgets_are_refused(budget):
    with pytest.raises(ValueError, match="such as '10min', '90s' or '2h'") as error:
        seconds(budget)
    assert repr(budget) in str(error.value)


@pytest.mark.parametrize(
    ("mode", "frozen", "max_iter", "warmup_iter"),
    [
        ("faithful", False, 2000, 600),
        ("faithful", True, 2000, 600),
        ("default", True, 1000, 300),
        ("default", False, 400, 120),
    ],
)
def test_schedules_by_default(mode, frozen, max_iter, warmup_iter):
    found = make_schedule(
        mode,
        frozen=frozen,
        n_samples=20_000,
        max_iter=None,
        warmup_iter=None,
        batch_size=200,
        head_iter=80,
    )
    assert found == Schedule(max_iter, warmup_iter, 80, 200)


@pytest.mark.parametrize(
    ("n_samples", "max_iter"), [(50, 200), (5_000, 200), (7_500, 300), (10_000, 400), (10**6, 400)]
)
def test_few_samples_need_few_iterations(n_samples, max_iter):
    settings = {"max_iter": None, "warmup_iter": None, "batch_size": 200, "head_iter": 80}
    found = make_schedule("default", frozen=False, n_samples=n_samples, **settings)
    assert found.max_iter == max_iter


def test_schedules_as_set():
    def make(max_iter, warmup_iter):
        return make_schedule(
            "default",
            frozen=True,
            n_samples=100,
            max_iter=max_iter,
            warmup_iter=warmup_iter,
            batch_size=50,
            head_iter=0,
        )

    assert make(50, None) == Schedule(50, 15, 0, 50)  # the share of the warm-up is kept
    assert make(None, 0) == Schedule(1000, 0, 0, 50)
    assert make(20, 5) == Schedule(20, 5, 0, 50)
    assert make(1, None) == Schedule(1, 0, 0, 50)


def test_step_sizes_of_the_encoder():
    assert encoder_rate("faithful", "all") == encoder_rate("faithful", 2) == 5e-6
    assert encoder_rate("default", "all") == 2e-5
    assert encoder_rate("default", 2) == 1e-4


@pytest.mark.parametrize(("mode", "scheme"), [("default", "joint"), ("faithful", "alternating")])
def test_a_transport_for_each_kind_of_pseudo_labels(mode, scheme):
    def make(kind):
        return make_transport(mode, Variant(pseudo_labels=kind), **WEIGHTS)

    assert make("prediction") == Prediction()
    assert make("balanced") == BalancedTransport(0.5, scheme=scheme)
    assert make("adaptive") == AdaptiveTransport(0.5, 3.0, scheme=scheme)


def test_the_consistent_transport_of_each_mode():
    assert make_transport("default", Variant(), **WEIGHTS) == ConsistentTransport(0.5, 3.0, 7.0)
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
    assert make_transport("faithful", Variant(), **WEIGHTS) == as_printed


def test_a_variant_overrules_the_mode():
    joint = make_transport("faithful", Variant(scheme="joint"), **WEIGHTS)
    assert joint == ConsistentTransport(0.5, 3.0, 7.0)
    alternating = make_transport("default", Variant(scheme="alternating"), **WEIGHTS)
    assert (alternating.scheme, alternating.inner_tol) == ("alternating", 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pseudo_labels": "sinkhorn"}, "pseudo_labels must be one of 'consistent', .* 'sinkhorn'"),
        ({"similarity": "all"}, "similarity must be one of 'both', .* got 'all'"),
        ({"uniformity_scale": 0.0}, "uniformity_scale must be positive, got 0.0"),
        ({"uniformity_scale": math.inf}, "uniformity_scale must be positive, got inf"),
        ({"uniformity_scale": math.nan}, "uniformity_scale must be positive, got nan"),
    ],
)
def test_variants_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Variant(**changes)


def config(mode="default", *, frozen=True, on_gpu=False, patience=None, **changes):
    return make_config(
        mode=mode,
        variant=Variant(**changes),
        n_clusters=4,
        schedule=Schedule(10, 3),
        objective=Objective(contrast_weight=2.0),
        transport=Prediction(),
        embedding_scale=5.0,
        frozen=frozen,
        on_gpu=on_gpu,
        patience=patience,
        random_state=9,
    )


def test_a_config_holds_what_it_was_given():
    found = config(attention="transformer", kmeans_restarts=3)
    assert (found.n_clusters, found.random_state) == (4, 9)
    assert (found.schedule, found.transport) == (Schedule(10, 3), Prediction())
    assert found.objective.contrast_weight == 2.0
    assert (found.attention, found.kmeans_restarts) == ("transformer", 3)


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


@pytest.mark.parametrize("spec", ["all", 2])
def test_vectors_cannot_be_fine_tuned(spec):
    with pytest.raises(ValueError, match="vectors have none: use 'none'"):
        check_layers(spec, 0)


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


def test_half_precision_on_a_gpu_in_default_mode_alone():
    assert config("default", frozen=False, on_gpu=True).mixed_precision
    assert not config("default", frozen=False, on_gpu=False).mixed_precision
    assert not config("default", frozen=True, on_gpu=True).mixed_precision
    assert not config("faithful", frozen=False, on_gpu=True).mixed_precision


def test_more_layers_than_there_are_cannot_be_trained():
    with pytest.raises(ValueError, match="finetune=7 is more than the encoder's 6 layers"):
        check_layers(7, 6)


def test_layers_that_can_be_trained():
    for spec in ("auto", "none"):
        check_layers(spec, 0)
    for spec in ("auto", "none", "all", 2):
        check_layers(spec, 6)


@pytest.mark.parametrize(
    ("size", "expected"), [(0, 0.0), (1500, 1500.0), ("500MB", 5e8), (" 1.5 gb ", 1.5e9)]
)
def test_sizes_in_bytes(size, expected):
    assert n_bytes(size) == expected


@pytest.mark.parametrize("size", [-1, "2", "GB", "2 parsecs", None, True])
def test_sizes_that_are_none(size):
    with pytest.raises(ValueError, match="cache_memory must be bytes or a text such as '500MB'"):
        n_bytes(size)


def test_fine_tuning_is_a_name_or_a_number_of_layers():
    for spec in ("auto", "all", "none", 1, 12):
        check_finetune(spec)
    for spec in ("some", 0, -1, True, 1.5, None):
        with pytest.raises(ValueError, match="'auto', 'all', 'none' or a number of top layers"):
            check_finetune(spec)
