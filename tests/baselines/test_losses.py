"""The losses against their definitions, written out."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from caot.baselines.losses import (
    cluster_contrast,
    info_nce,
    kl_to_target,
    nearest_mask,
    nt_xent,
    self_expression,
    smoothed_shares,
    target_distribution,
)

torch.manual_seed(0)
Z1, Z2 = torch.randn(6, 4), torch.randn(6, 4)
SHARES = torch.softmax(torch.randn(6, 3), dim=1)


def cos(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(cosine_similarity(a, b, dim=0))


def test_info_nce_agrees_with_its_definition() -> None:
    others = torch.randn(5, 4)
    expected = 0.0
    for i in range(6):
        against = [math.exp(cos(Z1[i], z) / 0.2) for z in (*Z2, *others)]
        expected -= math.log(against[i] / sum(against)) / 6
    assert np.isclose(float(info_nce(Z1, Z2, 0.2, others)), expected, rtol=1e-5)


def test_the_positive_is_in_the_denominator_of_nt_xent() -> None:
    rows = torch.cat([Z1, Z2])
    expected = 0.0
    for i in range(12):
        others = {j: math.exp(cos(rows[i], rows[j]) / 0.5) for j in range(12) if j != i}
        expected -= math.log(others[(i + 6) % 12] / sum(others.values())) / 12
    assert np.isclose(float(nt_xent(Z1, Z2, 0.5)), expected, rtol=1e-5)


def test_excluded_samples_leave_the_negatives_in_both_views() -> None:
    excluded = torch.zeros(6, 6, dtype=torch.bool)
    excluded[0, 1] = True
    rows = torch.cat([Z1, Z2])
    expected = 0.0
    for i in range(12):
        left = [j for j in range(12) if j != i and not (i % 6 == 0 and j % 6 == 1)]
        others = {j: math.exp(cos(rows[i], rows[j]) / 0.5) for j in left}
        expected -= math.log(others[(i + 6) % 12] / sum(others.values())) / 12
    assert np.isclose(float(nt_xent(Z1, Z2, 0.5, excluded)), expected, rtol=1e-5)


def test_targets_are_sharper_than_the_shares() -> None:
    target = target_distribution(SHARES)
    torch.testing.assert_close(target.sum(dim=1), torch.ones(6))
    assert (target * target.log()).sum() > (SHARES * SHARES.log()).sum()
    # A cluster that holds more of the mass gains less from it.
    flat = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]])
    assert target_distribution(flat)[0, 1] > 0.5


def test_the_divergence_vanishes_at_its_target() -> None:
    assert abs(float(kl_to_target(SHARES.log(), SHARES))) < 1e-6
    assert float(kl_to_target(SHARES.log(), target_distribution(SHARES))) > 0


def test_nearest_mask_finds_the_neighbours_without_the_text_itself() -> None:
    mask = nearest_mask(Z1, 2)
    assert mask.sum(dim=1).tolist() == [2] * 6
    assert not mask.diagonal().any()
    for i in range(6):
        cosines = [cos(Z1[i], z) if j != i else -2 for j, z in enumerate(Z1)]
        assert set(np.argsort(cosines)[-2:]) == set(np.flatnonzero(mask[i].numpy()))


def test_smoothed_shares_agree_with_their_definition() -> None:
    neighbors = nearest_mask(Z1, 2)
    unit = torch.nn.functional.normalize(Z1, dim=1)
    mixed = smoothed_shares(SHARES, Z1, neighbors, 0.5)
    for i in range(6):
        top, bottom = SHARES[i].clone(), 1.0
        for j in np.flatnonzero(neighbors[i].numpy()):
            near = max(cos(Z1[i], Z1[j]), 0)
            near *= math.exp(-float((unit[i] - unit[j]).square().sum()))
            top, bottom = top + 0.5 * near * SHARES[j], bottom + 0.5 * near
        torch.testing.assert_close(mixed[i], top / bottom, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mixed.sum(dim=1), torch.ones(6))


def test_self_expression_has_a_zero_diagonal_and_is_the_best_such() -> None:
    rows = torch.randn(8, 5, dtype=torch.float64)
    found = self_expression(rows, 0.3)
    assert (found.diagonal() == 0).all()
    for i in range(8):
        rest = torch.cat([rows[:i], rows[i + 1 :]])
        gram = rest @ rest.T + 0.3 * torch.eye(7, dtype=torch.float64)
        expected = torch.linalg.solve(gram, rest @ rows[i])
        torch.testing.assert_close(torch.cat([found[i, :i], found[i, i + 1 :]]), expected)


def test_clusters_in_columns_are_contrasted_and_kept_in_use() -> None:
    good = torch.eye(3).repeat(4, 1).clamp(0.01, 0.98).log()
    alike = torch.full((12, 3), 1 / 3).log()
    one = torch.tensor([0.98, 0.01, 0.01]).repeat(12, 1).log()
    losses = [float(cluster_contrast(rows, rows, 1.0)) for rows in (good, alike, one)]
    assert losses[0] < losses[1] < losses[2]
