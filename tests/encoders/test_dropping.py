"""Dropout of half precision drops as much as it is told, and where the seed says."""

import pytest
import torch
from torch import nn

from caot.encoders.dropping import drop, rate_of


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_half_precision_drops_the_share_and_keeps_the_mean(rate):
    values = torch.ones(999, 501, dtype=torch.bfloat16)  # not a multiple of four
    dropped = drop(values, rate)
    assert dropped.shape == values.shape
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=2e-3)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - rate), rel=2**-8)
    # No stripes: rows and columns lose alike, and neighbours do not decide for each other.
    lost = (dropped == 0).float()
    assert lost.mean(dim=0).std().item() == pytest.approx((rate * (1 - rate) / 999) ** 0.5, rel=0.2)
    together = (lost[:, 1:] * lost[:, :-1]).mean().item()
    assert together == pytest.approx(rate**2, abs=3e-3)


def test_the_gradient_passes_where_values_were_kept():
    values = torch.ones(50, 40, dtype=torch.bfloat16, requires_grad=True)
    dropped = drop(values, 0.25)
    dropped.sum().backward()
    torch.testing.assert_close(values.grad, dropped.detach())


def test_the_seed_decides_what_is_dropped():
    values = torch.ones(30, 30, dtype=torch.bfloat16)
    torch.manual_seed(1)
    first, second = drop(values, 0.5), drop(values, 0.5)
    torch.manual_seed(1)
    assert torch.equal(drop(values, 0.5), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize(("dtype", "rate"), [(torch.float32, 0.3), (torch.bfloat16, 1e-9)])
def test_all_else_is_torch_s_own_dropout(dtype, rate):
    values = torch.ones(30, 30, dtype=dtype)
    torch.manual_seed(2)
    ours = drop(values, rate)
    torch.manual_seed(2)
    assert torch.equal(ours, nn.functional.dropout(values, rate))


def test_nothing_is_dropped_outside_training():
    module = nn.Dropout(0.2)
    assert rate_of(module) == 0.2
    assert rate_of(module.eval()) == 0
    assert rate_of(None) == 0
    values = torch.ones(3, dtype=torch.bfloat16)
    assert drop(values, 0.0) is values
