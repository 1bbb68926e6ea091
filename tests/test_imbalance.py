"""How uneven the clusters are taken to be."""

import math

import numpy as np
import pytest

from caot.imbalance import Imbalance, check_imbalance, resolve_imbalance
from caot.transport import IMBALANCE_LEVELS, gentle_uniformity

EVEN = np.repeat(np.arange(4), 25)
SEVERE = np.repeat(np.arange(4), [60, 20, 10, 10])  # CV = √425 / 25
# Eq. 13 at k = 4, ε1 = 1, ε3 = 25: (2·25 − 1·4) / (4² (1 + 1/3²)).
FLOOR = 46 / (16 * (1 + 1 / 9))


def resolve(spec, labels=EVEN, *, use_floor=True, consistency=25.0, penalty="printed"):
    return resolve_imbalance(
        spec,
        start=labels,
        n_clusters=4,
        epsilon=1.0,
        consistency=consistency,
        penalty=penalty,
        use_floor=use_floor,
    )


@pytest.mark.parametrize("spec", ["auto", *IMBALANCE_LEVELS, 0.03, 100, 1e-9, np.float64(2.0)])
def test_levels_and_positive_numbers_are_fine(spec):
    check_imbalance(spec)


@pytest.mark.parametrize(
    "spec", ["even", "", 0, 0.0, -1.0, math.nan, True, None, ["auto"], ("balanced",), "0.5"]
)
def test_anything_else_is_refused_with_the_choices(spec):
    with pytest.raises(ValueError, match=r"'auto', 'balanced', 'slight', .* positive number") as e:
        check_imbalance(spec)
    assert repr(spec) in str(e.value)


def test_auto_takes_the_level_of_the_kmeans_sizes():
    assert resolve("auto", use_floor=False) == Imbalance(100.0, "balanced", 0.0, 0.0)
    found = resolve("auto", SEVERE, use_floor=False)
    assert (found.uniformity, found.level, found.floor) == (0.03, "severe", 0.0)
    assert found.coefficient == pytest.approx(math.sqrt(425) / 25)


@pytest.mark.parametrize(
    ("sizes", "level"),
    [
        ([31, 25, 25, 19], "balanced"),  # CV 0.17
        ([35, 25, 25, 15], "slight"),  # CV 0.28
        ([40, 25, 25, 10], "imbalanced"),  # CV 0.42
        ([48, 26, 26, 0], "severe"),  # CV 0.68: an empty cluster counts
    ],
)
def test_auto_knows_the_four_levels(sizes, level):
    found = resolve("auto", np.repeat(np.arange(4), sizes), use_floor=False)
    assert found.level == level
    assert found.uniformity == IMBALANCE_LEVELS[level]


def test_the_floor_raises_what_would_collapse():
    found = resolve("auto", SEVERE)
    assert found.floor == pytest.approx(FLOOR)
    assert found.uniformity == found.floor
    assert found.level == "severe"
    assert resolve("auto").uniformity == 100.0  # above it already
    assert resolve("severe", consistency=0.1).uniformity == 0.03  # nothing to fear


@pytest.mark.parametrize("sizes", [[35, 25, 25, 15], [40, 25, 25, 10], [48, 26, 26, 0]])
def test_a_gentle_penalty_depends_on_the_number_of_clusters_alone(sizes):
    labels = np.repeat(np.arange(4), sizes)
    free = resolve("auto", labels, consistency=0.1, penalty="gentle")
    assert free.uniformity == gentle_uniformity(4) == 0.5  # Eq. 37: 2 / k
    held = resolve("auto", labels, penalty="gentle")
    assert held.uniformity == held.floor == pytest.approx(FLOOR)


def test_even_clusters_and_levels_that_are_named_have_the_papers_penalty():
    even = resolve("auto", EVEN, penalty="gentle")
    assert (even.uniformity, even.level) == (100.0, "balanced")
    assert resolve("severe", SEVERE, use_floor=False, penalty="gentle").uniformity == 0.03


@pytest.mark.parametrize("level", list(IMBALANCE_LEVELS))
def test_a_level_is_taken_without_a_look_at_the_sizes(level):
    found = resolve(level, SEVERE, use_floor=False)
    assert found == Imbalance(IMBALANCE_LEVELS[level], level, None, 0.0)
    assert resolve(level, SEVERE).uniformity == pytest.approx(max(IMBALANCE_LEVELS[level], FLOOR))


@pytest.mark.parametrize("use_floor", [True, False])
def test_a_number_is_taken_as_it_is(use_floor):
    found = resolve(0.001, SEVERE, use_floor=use_floor)
    assert (found.uniformity, found.level, found.coefficient) == (0.001, None, None)
    assert found.floor == pytest.approx(FLOOR if use_floor else 0.0)
    assert isinstance(resolve(3).uniformity, float)


def test_scale_multiplies_the_weight_before_the_floor() -> None:
    labels = np.repeat([0, 1], [50, 50])
    settings = {"start": labels, "n_clusters": 2, "epsilon": 1.0, "consistency": 25.0}
    settings["penalty"] = "printed"
    printed = resolve_imbalance("severe", **settings, use_floor=False, scale=0.1)
    assert printed.uniformity == pytest.approx(0.003)
    raised = resolve_imbalance("severe", **settings, use_floor=True, scale=0.1)
    assert raised.uniformity == raised.floor > 0.003
    assert resolve_imbalance(2.0, **settings, use_floor=True, scale=0.5).uniformity == 1.0


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            Imbalance(0.1234, "slight", 0.456, 0.0),
            "imbalance: sizes of the first clusters vary by 0.46 (slight), penalty weight 0.123",
        ),
        (
            Imbalance(0.1, "severe", None, 0.0),
            "imbalance: level severe, as given, penalty weight 0.1",
        ),
        (Imbalance(2.0, None, None, 0.0), "imbalance: penalty weight 2, as given"),
    ],
)
def test_a_sentence_tells_level_estimate_and_weight(found, sentence):
    assert found.sentence == sentence
