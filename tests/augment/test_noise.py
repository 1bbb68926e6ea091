import pytest
import torch

from caot.augment import FeatureNoise


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def batch():
    scales = torch.tensor([0.0, 1.0, 10.0, 100.0])
    return torch.randn(4000, 4, generator=seeded(1)) * scales + 5


def test_views_differ_and_the_batch_stays(batch):
    before = batch.clone()
    first, second = FeatureNoise().perturb(batch, seeded())
    assert not torch.equal(first, second)
    assert not torch.equal(first, batch)
    assert torch.equal(batch, before)
    assert first.dtype == batch.dtype
    assert first.shape == second.shape == batch.shape


def test_noise_follows_the_spread_of_each_feature(batch):
    first, second = FeatureNoise(scale=0.3, dropout=0.0).perturb(batch, seeded())
    for view in (first, second):
        noise = (view - batch).std(dim=0)
        torch.testing.assert_close(noise, 0.3 * batch.std(dim=0), rtol=0.05, atol=1e-6)
    correlation = torch.corrcoef(torch.stack([(first - batch)[:, 1], (second - batch)[:, 1]]))
    assert abs(correlation[0, 1]) < 0.06


def test_dropout_zeroes_its_share_and_keeps_the_mean(batch):
    first, _ = FeatureNoise(scale=0.0, dropout=0.25).perturb(batch, seeded())
    dropped = first == 0
    assert dropped.float().mean() == pytest.approx(0.25, abs=0.02)
    torch.testing.assert_close(first[~dropped], (batch / 0.75)[~dropped])


def test_the_generator_decides(batch):
    one = FeatureNoise().perturb(batch, seeded(3))
    torch.manual_seed(5)
    again = FeatureNoise().perturb(batch, seeded(3))
    other = FeatureNoise().perturb(batch, seeded(4))
    assert torch.equal(one[0], again[0])
    assert torch.equal(one[1], again[1])
    assert not torch.equal(one[0], other[0])


def test_a_batch_of_one_row_still_gets_noise():
    row = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    first, second = FeatureNoise(dropout=0.0).perturb(row, seeded())
    assert torch.isfinite(first).all()
    assert not torch.equal(first, second)


def test_gradients_pass(batch):
    batch.requires_grad_()
    first, second = FeatureNoise().perturb(batch, seeded())
    (first + second).sum().backward()
    assert torch.isfinite(batch.grad).all()


@pytest.mark.parametrize(
    "settings",
    [{"scale": -1.0}, {"scale": float("nan")}, {"dropout": 1.0}, {"scale": 0, "dropout": 0}],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ValueError, match=r"scale|dropout"):
        FeatureNoise(**settings)


def test_texts_pass_unchanged():
    assert FeatureNoise()(["a", ""]) == (["a", ""], ["a", ""])
