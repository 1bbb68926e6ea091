from __future__ import annotations

import numpy as np
import torch

from caot.baselines.heads import Centroids, StudentT, squared_distances
from caot.baselines.remembered import Remembered, consistent

ROWS = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)


def test_squared_distances_agree_with_their_definition() -> None:
    rows, centers = torch.from_numpy(ROWS), torch.from_numpy(ROWS[:3])
    expected = (rows[:, None] - centers).square().sum(dim=2)
    torch.testing.assert_close(squared_distances(rows, centers), expected, atol=1e-5, rtol=1e-5)


def test_shares_of_centroids_do_not_depend_on_the_scale() -> None:
    one = Centroids.of(ROWS, ROWS[:3]).predict(torch.from_numpy(ROWS))
    other = Centroids.of(100 * ROWS, 100 * ROWS[:3]).predict(torch.from_numpy(100 * ROWS))
    torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


def test_student_shares_agree_with_their_definition() -> None:
    kernel = 1 / (1 + np.square(ROWS[:, None] - ROWS[:3]).sum(axis=2))
    expected = kernel / kernel.sum(axis=1, keepdims=True)
    shares = StudentT.at(ROWS[:3]).predict(torch.from_numpy(ROWS)).exp()
    np.testing.assert_allclose(shares.detach().numpy(), expected, rtol=1e-4)


def test_remembered_labels_come_back_and_noise_has_no_share() -> None:
    labels = np.random.default_rng(1).integers(-1, 3, len(ROWS))
    head = Remembered.of(ROWS, labels, 3, random_state=0)
    shares = head.predict(torch.from_numpy(ROWS)).exp().numpy()
    noise = labels == -1
    np.testing.assert_array_equal(shares[~noise].argmax(axis=1), labels[~noise])
    assert (shares[noise] == 0).all()
    other = head.predict(torch.from_numpy(ROWS + 0.1))
    torch.testing.assert_close(other, head.centroids.predict(torch.from_numpy(ROWS + 0.1)))


def test_equal_rows_get_one_label() -> None:
    rows = np.concatenate([ROWS[:2], ROWS[:2]])
    np.testing.assert_array_equal(consistent(rows, np.array([3, 1, 2, 0])), [3, 1, 3, 1])
