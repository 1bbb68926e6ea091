"""Eq. 14, the coefficient of variation, Eq. 15, its map to ε2, and Eq. 13, the floor."""

import numpy as np
import pytest

from caot.transport import (
    IMBALANCE_LEVELS,
    collapse_floor,
    effective_imbalance,
    imbalance_level,
    uniformity_for,
)


def test_eq14_by_hand():
    assert effective_imbalance([0, 0, 1, 1]) == 0
    assert effective_imbalance([0, 0, 0, 1]) == 0.5
    assert effective_imbalance([0, 0, 1, 1], n_clusters=4) == 1.0
    assert effective_imbalance(np.array([7, 7, 7, 9])) == 0.5


def test_eq14_bad_input():
    with pytest.raises(ValueError, match="non-empty"):
        effective_imbalance([])
    with pytest.raises(ValueError, match="3 distinct values, more than n_clusters=2"):
        effective_imbalance([0, 1, 2], n_clusters=2)


@pytest.mark.parametrize(
    ("coefficient", "level", "uniformity"),
    [
        (0.0, "balanced", 100.0),
        (0.19, "balanced", 100.0),
        (0.2, "slight", 3.5),
        (0.4, "imbalanced", 0.06),
        (0.59, "imbalanced", 0.06),
        (0.6, "severe", 0.03),
        (1.0, "severe", 0.03),
        (3.0, "severe", 0.03),
    ],
)
def test_eq15_as_printed(coefficient, level, uniformity):
    assert imbalance_level(coefficient) == level
    assert uniformity_for(coefficient) == uniformity == IMBALANCE_LEVELS[level]


def test_eq15_never_falls_below_the_floor():
    assert uniformity_for(0.7, floor=0.5) == 0.5
    assert uniformity_for(0.1, floor=0.5) == 100.0
    with pytest.raises(ValueError, match="at least 0"):
        imbalance_level(float("nan"))


def test_eq13_floor_is_where_the_second_derivative_vanishes():
    k, epsilon, consistency, similar = 7, 1.3, 25.0, 0.8
    floor = collapse_floor(k, epsilon, consistency, similar)
    b, h = 1 / k, 1e-4

    def per_cluster(x):
        psi = -np.log(x) - np.log1p(-x)
        return epsilon * x * np.log(x) + floor * psi - consistency * similar * x**2

    curvature = (per_cluster(b + h) - 2 * per_cluster(b) + per_cluster(b - h)) / h**2
    assert floor > 0
    assert abs(curvature) < 1e-3
    assert collapse_floor(152, 1.0, 25.0) == 0
