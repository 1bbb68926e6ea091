"""Times and sizes as people write them."""

import math

import pytest

from caot.quantities import n_bytes, seconds


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (None, math.inf),
        (90, 90.0),
        (0.5, 0.5),
        ("90", 90.0),
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
    "budget", [0, -1, math.nan, True, "", "0", "ten minutes", "0s", "-5s", "5 days", "1h30m", [60]]
)
def test_other_time_budgets_are_refused(budget):
    with pytest.raises(ValueError, match="such as '10min', '90s' or '2h'") as error:
        seconds(budget)
    assert repr(budget) in str(error.value)


@pytest.mark.parametrize(
    ("size", "expected"), [(0, 0.0), (1500, 1500.0), ("500MB", 5e8), (" 1.5 gb ", 1.5e9)]
)
def test_sizes_in_bytes(size, expected):
    assert n_bytes(size) == expected


@pytest.mark.parametrize("size", [-1, "2", "GB", "2 parsecs", None, True])
def test_sizes_that_are_none(size):
    with pytest.raises(ValueError, match="cache_memory must be bytes or a text such as '500MB'"):
        n_bytes(size)
