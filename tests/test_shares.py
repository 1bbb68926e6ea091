"""From probabilities to clusters: the first choice and the next."""

import numpy as np

from caot.shares import most_probable, next_probable

SHARES = np.array([[0.5, 0.3, 0.2], [0.2, 0.35, 0.45], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_noise_and_weak_texts_have_no_cluster():
    assert most_probable(SHARES).tolist() == [0, 2, -1, 1]
    assert most_probable(SHARES, 0.5).tolist() == [0, -1, -1, 1]


def test_the_next_is_the_best_other_one():
    labels, shares = next_probable(SHARES, np.array([0, -1, -1, 1]))
    assert labels.tolist() == [1, 2, -1, -1]
    assert shares.tolist() == [0.3, 0.45, 0.0, 0.0]
    assert SHARES[0, 0] == 0.5  # what is given stays as it is


def test_one_cluster_alone_has_no_next():
    labels, shares = next_probable(np.ones((2, 1)), np.array([0, 0]))
    assert labels.tolist() == [-1, -1]
    assert np.isnan(shares).all()
