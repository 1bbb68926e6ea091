"""Eq. 9, the mass law, and Eq. 10, its normaliser."""

import array_api_compat.numpy as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caot.transport import compiled
from caot.transport.mass import PenalisedMass, UniformMass, mass_law


@given(
    x=st.floats(-1e4, 1e4),
    uniformity=st.floats(1e-4, 1e4),
)
def test_eq9_mass_is_stationary_for_the_penalty(x, uniformity):
    law = PenalisedMass(2, uniformity)
    b = float(law.mass(xp, np.array([x]))[0])
    assert 0 < b < 1 or abs(x) / uniformity > 1e14
    # −ε2/b + ε2/(1−b) + x = 0, multiplied out
    scale = uniformity + abs(x) * b
    assert abs(x * b * (1 - b) - uniformity * (1 - 2 * b)) <= 1e-12 * scale


def test_eq9_is_one_half_without_singularity_at_zero():
    law = PenalisedMass(2, 0.3)
    around = law.mass(xp, np.array([-1e-300, 0.0, 1e-300]))
    np.testing.assert_array_equal(around, 0.5)


def test_eq9_equals_the_printed_root_away_from_the_singularity():
    x, e2 = np.array([-40.0, -3.0, -0.5, 0.7, 2.0, 30.0]), 0.8
    printed = ((x + 2 * e2) - np.sqrt(x**2 + 4 * e2**2)) / (2 * x)
    np.testing.assert_allclose(PenalisedMass(6, e2).mass(xp, x), printed, rtol=1e-12)


def test_eq9_log_slope_is_the_derivative():
    law, x, h = PenalisedMass(5, 0.4), np.linspace(-5, 5, 11), 1e-6
    numeric = (np.log(law.mass(xp, x + h)) - np.log(law.mass(xp, x - h))) / (2 * h)
    np.testing.assert_allclose(law.log_slope(xp, x), -numeric, rtol=1e-7)


@given(
    k=st.integers(2, 152),
    uniformity=st.floats(1e-4, 1e4),
    spread=st.floats(0, 100),
    start=st.floats(-1e6, 1e6),
    seed=st.integers(0, 99),
)
def test_eq10_masses_sum_to_one_from_any_start(k, uniformity, spread, start, seed):
    column = spread * np.random.default_rng(seed).normal(size=k)
    law = PenalisedMass(k, uniformity)
    nu = law.normaliser(xp, column, start)
    assert abs(law.mass(xp, column - nu).sum() - 1) < 1e-12
    offset = uniformity * k * (k - 2) / (k - 1)
    assert column.min() - offset - 1e-9 <= nu <= column.max() - offset + 1e-9


def test_eq10_compiled_agrees():
    column, mass = np.random.default_rng(0).normal(size=30), np.empty(30)
    law = PenalisedMass(30, 0.05)
    nu = compiled._normalise(column, 0.0, 0.05, mass)
    assert nu == pytest.approx(law.normaliser(xp, column, 0.0), abs=1e-10)
    np.testing.assert_allclose(mass, law.mass(xp, column - nu), rtol=1e-12)


def test_infinite_uniformity_is_the_balanced_law():
    law = mass_law(4, np.inf)
    assert isinstance(law, UniformMass)
    np.testing.assert_array_equal(law.mass(xp, np.arange(4.0)), 0.25)
    assert law.penalty(xp, np.full(4, 0.25)) == 0


def test_eq2_penalty_by_hand():
    law = PenalisedMass(2, 3.0)
    assert law.penalty(xp, np.array([0.25, 0.75])) == pytest.approx(-6 * np.log(0.25 * 0.75))
