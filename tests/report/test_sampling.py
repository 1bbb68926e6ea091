import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caot.report import fair_sample


def test_all_rows_stay_when_there_is_room():
    assert fair_sample(np.array([3, 1, 1]), 3).tolist() == [0, 1, 2]


def test_small_clusters_keep_their_part_and_large_ones_stay_large():
    labels = np.repeat([0, 1, 2], [90_000, 9_000, 100])
    rows = fair_sample(labels, 1_200)
    kept = np.bincount(labels[rows])
    assert kept.sum() == 1_200
    assert kept[2] == 100  # all of a cluster smaller than limit / 2k = 200
    assert kept[0] > kept[1] > 200


def test_the_sample_is_a_function_of_the_seed():
    labels = np.random.default_rng(1).integers(0, 5, 500)
    first = fair_sample(labels, 50, random_state=1)
    assert (first == fair_sample(labels, 50, random_state=1)).all()
    assert (first != fair_sample(labels, 50, random_state=2)).any()


@given(st.lists(st.integers(-1, 12), min_size=1, max_size=60), st.integers(1, 40))
def test_rows_are_distinct_sorted_and_as_many_as_asked(labels, limit):
    labels = np.array(labels)
    rows = fair_sample(labels, limit)
    assert len(rows) == min(limit, len(labels))
    assert (np.diff(rows) > 0).all()
    _, members = np.unique(labels, return_inverse=True)
    sizes, kept = np.bincount(members), np.bincount(members[rows], minlength=members.max() + 1)
    assert (kept >= np.minimum(sizes, limit // (2 * len(sizes)))).all()
    assert (kept <= sizes).all()


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="limit must be at least 1"):
        fair_sample(np.array([0]), 0)
