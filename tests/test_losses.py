"""The losses against double loops written from Eqs. 19, 22, 23 and 24."""

import math

import pytest
import torch
from torch import nn

from caot.losses import attention_contrast, instance_contrast, pseudo_label_loss
from caot.networks import AttentionNetwork, ProjectingNetwork, TransformerAttentionNetwork


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def attention_batch(generator, n, d=3, n_clusters=2):
    similarity = torch.softmax(normal(generator, n, n), dim=1)
    labels = torch.randint(n_clusters, (n,), generator=generator)
    return normal(generator, 2 * n, d), similarity, labels


def cosine(u, v):
    return float(u @ v / (u.norm() * v.norm()))


def naive_instance_contrast(z1, z2, temperature):
    n = len(z1)
    views = (z1, z2)
    total = 0.0
    for i in range(n):
        for own, other in ((0, 1), (1, 0)):
            anchor = views[own][i]
            positive = math.exp(cosine(anchor, views[other][i]) / temperature)
            negatives = 0.0
            for v in range(n):
                if v != i:
                    negatives += math.exp(cosine(anchor, z1[v]) / temperature)
                    negatives += math.exp(cosine(anchor, z2[v]) / temperature)
            total += -math.log(positive / negatives)
    return total / (2 * n)


def naive_attention_contrast(h, s, labels, temperature):
    n = len(labels)
    total = 0.0
    for i in range(n):
        for anchor in (i, n + i):
            numerator = 0.0
            for j in range(n):
                if labels[j] == labels[i]:
                    first = math.exp(cosine(h[anchor], h[j]) / temperature)
                    second = math.exp(cosine(h[anchor], h[n + j]) / temperature)
                    numerator += float(s[i, j]) * (first + second)
            denominator = 0.0
            for v in range(2 * n):
                if v not in (i, n + i):
                    denominator += math.exp(cosine(h[anchor], h[v]) / temperature)
            total += -math.log(numerator / denominator)
    return total / (2 * n)


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_eq19_equals_the_double_loop(generator, n, temperature):
    z1, z2 = normal(generator, 2, n, 4)
    expected = naive_instance_contrast(z1, z2, temperature)
    assert float(instance_contrast(z1, z2, temperature)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_eq23_equals_the_double_loop(generator, n, temperature):
    batch = attention_batch(generator, n)
    expected = naive_attention_contrast(*batch, temperature)
    assert float(attention_contrast(*batch, temperature)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_eq22_holds_the_sample_itself_for_one_cluster_and_for_n_clusters(generator, labels):
    h, s, _ = attention_batch(generator, 4)
    expected = naive_attention_contrast(h, s, labels, 1.0)
    assert float(attention_contrast(h, s, torch.tensor(labels))) == pytest.approx(expected)


def test_eq24_sums_the_views_and_averages_the_samples(generator):
    log_prob1, log_prob2 = torch.log_softmax(normal(generator, 2, 5, 3), dim=-1)
    labels = torch.tensor([0, 2, 1, 1, 0])
    expected = 0.0
    for i in range(5):
        expected -= float(log_prob1[i, labels[i]]) + float(log_prob2[i, labels[i]])
    loss = pseudo_label_loss(log_prob1, log_prob2, labels)
    assert float(loss) == pytest.approx(expected / 5)


def test_eq19_in_the_smallest_batch_has_a_known_value():
    # Orthogonal samples, equal views: the positive is e, the two negatives are 1 each.
    z = torch.eye(2)
    assert float(instance_contrast(z, z)) == pytest.approx(math.log(2) - 1)


def test_eq23_in_the_smallest_batch_has_a_known_value():
    # R_i = {i} with S_ii = 1/2: the numerator is (e + e) / 2, the denominator is 1 + 1.
    loss = attention_contrast(
        torch.eye(2).repeat(2, 1), torch.full((2, 2), 0.5), torch.tensor([0, 1])
    )
    assert float(loss) == pytest.approx(math.log(2) - 1)


@pytest.mark.parametrize("temperature", [1.0, 0.1, 0.09])
def test_contrasts_are_those_of_masked_logits(generator, temperature):
    """Both ways to sum, with 0.1 between them, against masks of minus infinity."""
    h, s, labels = attention_batch(generator, 30, 8, 4)
    h, s = (part.float().requires_grad_() for part in (h, s))
    unit = nn.functional.normalize(h, dim=1)
    logits = unit @ unit.T / temperature
    own = torch.eye(30, dtype=torch.bool).repeat(2, 2)
    others = torch.logsumexp(logits.masked_fill(own, -torch.inf), dim=1)
    apart = labels[:, None] != labels[None, :]
    weights = s.log().masked_fill(apart, -torch.inf).repeat(2, 2)
    numerator = torch.logsumexp(logits + weights, dim=1)
    losses = (
        instance_contrast(h[:30], h[30:], temperature),
        attention_contrast(h, s, labels, temperature),
    )
    masked = (others.mean() - logits.diagonal(30).mean(), (others - numerator).mean())
    for ours, theirs in zip(losses, masked, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
        found = torch.autograd.grad(ours, (h, s), retain_graph=True, allow_unused=True)
        expected = torch.autograd.grad(theirs, (h, s), retain_graph=True, allow_unused=True)
        for one, other in zip(found, expected, strict=True):
            if other is not None:
                torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_gradients_of_eq19_are_exact(generator):
    z1, z2 = (z.clone().requires_grad_() for z in normal(generator, 2, 4, 3))
    assert torch.autograd.gradcheck(lambda a, b: instance_contrast(a, b, 0.7), (z1, z2))


def test_gradients_of_eq23_are_exact_in_hidden_and_in_similarity(generator):
    h, s, labels = attention_batch(generator, 4)
    inputs = (h.requires_grad_(), s.requires_grad_())
    assert torch.autograd.gradcheck(lambda a, b: attention_contrast(a, b, labels, 0.7), inputs)


def test_gradients_of_eq24_are_exact(generator):
    logits = [x.clone().requires_grad_() for x in normal(generator, 2, 4, 3)]
    labels = torch.tensor([2, 0, 1, 1])

    def loss(a, b):
        return pseudo_label_loss(a.log_softmax(-1), b.log_softmax(-1), labels)

    assert torch.autograd.gradcheck(loss, logits)


def test_losses_do_not_depend_on_the_order_of_the_samples(generator):
    n = 7
    order = torch.randperm(n, generator=generator)
    z1, z2 = normal(generator, 2, n, 4)
    assert instance_contrast(z1[order], z2[order]).allclose(instance_contrast(z1, z2))
    h, s, labels = attention_batch(generator, n)
    permuted = (h[torch.cat((order, n + order))], s[order][:, order], labels[order])
    assert attention_contrast(*permuted).allclose(attention_contrast(h, s, labels))
    log_prob1, log_prob2 = normal(generator, 2, n, 2).log_softmax(-1)
    assert pseudo_label_loss(log_prob1[order], log_prob2[order], labels[order]).allclose(
        pseudo_label_loss(log_prob1, log_prob2, labels)
    )


def test_losses_do_not_depend_on_the_order_of_the_views(generator):
    n = 6
    z1, z2 = normal(generator, 2, n, 4)
    assert instance_contrast(z1, z2).allclose(instance_contrast(z2, z1))
    h, s, labels = attention_batch(generator, n)
    assert attention_contrast(h, s, labels).allclose(attention_contrast(h.roll(n, 0), s, labels))
    log_prob1, log_prob2 = normal(generator, 2, n, 2).log_softmax(-1)
    assert pseudo_label_loss(log_prob1, log_prob2, labels).allclose(
        pseudo_label_loss(log_prob2, log_prob1, labels)
    )


def test_contrasts_do_not_depend_on_the_length_of_any_row(generator):
    n = 5
    scale = torch.rand(2 * n, 1, generator=generator, dtype=torch.float64) + 0.01
    z1, z2 = normal(generator, 2, n, 4)
    assert instance_contrast(z1 * scale[:n], z2 * scale[n:]).allclose(instance_contrast(z1, z2))
    h, s, labels = attention_batch(generator, n)
    assert attention_contrast(h * scale, s, labels).allclose(attention_contrast(h, s, labels))


def test_eq23_does_not_depend_on_the_names_of_the_labels(generator):
    h, s, labels = attention_batch(generator, 6, n_clusters=3)
    renamed = torch.tensor([5, 0, 3])[labels]
    assert attention_contrast(h, s, labels).equal(attention_contrast(h, s, renamed))


def test_eq19_falls_when_the_views_agree(generator):
    z1, z2 = normal(generator, 2, 6, 4)
    assert instance_contrast(z1, z1) < instance_contrast(z1, z2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_contrasts_stay_finite_at_a_tiny_temperature(generator, dtype):
    h, s, labels = attention_batch(generator, 6)
    h = h.to(dtype).requires_grad_()
    for loss in (
        instance_contrast(h[:6], h[6:], 1e-3),
        attention_contrast(h, s.to(dtype), labels, 1e-3),
    ):
        (gradient,) = torch.autograd.grad(loss, h)
        assert loss.isfinite()
        assert gradient.isfinite().all()


def test_eq23_stays_finite_where_the_attention_underflows_to_zero(generator):
    h = normal(generator, 6, 3).float()
    scores = torch.tensor([[0.0, 500.0, 0.0]] * 3, requires_grad=True)
    similarity = torch.softmax(scores, dim=1)
    assert (similarity[0] == torch.tensor([0.0, 1.0, 0.0])).all()
    # Samples 0 and 2 put no weight at all on their own clusters.
    loss = attention_contrast(h, similarity, torch.tensor([0, 1, 2]))
    loss.backward()
    assert loss.isfinite()
    assert scores.grad.isfinite().all()


def test_contrasts_stay_finite_for_a_zero_row(generator):
    h, s, labels = attention_batch(generator, 4)
    h[0] = 0.0
    h.requires_grad_()
    (instance_contrast(h[:4], h[4:]) + attention_contrast(h, s, labels)).backward()
    assert h.grad.isfinite().all()


@pytest.mark.parametrize("attention_type", [AttentionNetwork, TransformerAttentionNetwork])
def test_eq23_trains_the_attention_network_alone(attention_type):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder, projecting, attention = nn.Linear(5, 6), ProjectingNetwork(6, 8), attention_type(8)
        z1, z2 = (projecting(encoder(x)) for x in torch.randn(2, 10, 5))
    seen = attention(z1, z2)
    attention_contrast(seen.hidden, seen.similarity, torch.arange(10) % 3).backward()
    assert all(p.grad is None for p in (*encoder.parameters(), *projecting.parameters()))
    assert all(p.grad is not None and p.grad.any() for p in attention.parameters())


def test_eq23_also_trains_the_attention_through_the_similarity():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        attention = AttentionNetwork(8)
        seen = attention(*torch.randn(2, 10, 8))
    loss = attention_contrast(seen.hidden.detach(), seen.similarity, torch.arange(10) % 3)
    loss.backward()
    assert attention.key_1.weight.grad.any()
    assert attention.key_2.weight.grad.any()
    assert attention.value.weight.grad is None


def test_eq23_descent_moves_the_attention_to_the_same_cluster():
    labels = torch.arange(20) % 4
    same = labels[:, None] == labels[None, :]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        attention = AttentionNetwork(8)
        views = torch.randn(4, 8)[labels] + 0.3 * torch.randn(2, 20, 8)
    optimiser = torch.optim.Adam(attention.parameters(), lr=1e-2)
    shares = []
    for _ in range(30):
        seen = attention(*views)
        shares.append((seen.similarity * same).sum().item() / 20)
        optimiser.zero_grad()
        attention_contrast(seen.hidden, seen.similarity, labels).backward()
        optimiser.step()
    assert shares[-1] > shares[0] + 0.2


def test_a_batch_of_one_sample_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="batch of 1 leaves a sample without others"):
        instance_contrast(torch.ones(1, 3), torch.ones(1, 3))
    with pytest.raises(ValueError, match="batch of 1 leaves a sample without others"):
        attention_contrast(torch.ones(2, 3), torch.ones(1, 1), torch.zeros(1))


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_that_is_not_positive_is_refused(generator, temperature):
    with pytest.raises(ValueError, match="temperature"):
        instance_contrast(*normal(generator, 2, 3, 2), temperature)


def test_shapes_that_do_not_fit_are_refused(generator):
    h, s, labels = attention_batch(generator, 4)
    with pytest.raises(ValueError, match="two views of one batch"):
        instance_contrast(h[:4], h[:3])
    with pytest.raises(ValueError, match=r"hidden must be \(8, d\)"):
        attention_contrast(h[:6], s, labels)
    with pytest.raises(ValueError, match=r"similarity \(4, 4\)"):
        attention_contrast(h, s[:3], labels)
    with pytest.raises(ValueError, match="two views of one batch"):
        pseudo_label_loss(h[:4], h[:3], labels)
    with pytest.raises(ValueError, match="one label for each row"):
        pseudo_label_loss(h[:4], h[4:], labels[:3])
    with pytest.raises(ValueError, match="at least one row"):
        pseudo_label_loss(h[:0], h[:0], labels[:0])
