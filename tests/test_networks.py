"""The networks against their equations: shapes, sizes, and where gradients may go."""

import math

import pytest
import torch
from torch import nn

from caot.networks import (
    Attention,
    AttentionNetwork,
    ClusteringNetwork,
    ProjectingNetwork,
    TransformerAttentionNetwork,
)

ATTENTION_NETWORKS = [AttentionNetwork, TransformerAttentionNetwork]


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def n_parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def test_eq17_log_probabilities_of_each_row_sum_to_one():
    log_prob = ClusteringNetwork(12, 5)(torch.randn(7, 12))
    assert log_prob.shape == (7, 5)
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(7))


def test_eq17_is_the_printed_perceptron_in_evaluation_mode():
    network = ClusteringNetwork(6, 3).eval()
    first, second, last = (m for m in network.modules() if isinstance(m, nn.Linear))
    x = torch.randn(4, 6)
    by_hand = last(torch.relu(second(torch.relu(first(x)))))
    assert torch.allclose(network(x), by_hand - by_hand.logsumexp(1, keepdim=True), atol=1e-6)


def test_eq17_stays_finite_where_a_softmax_underflows():
    network = ClusteringNetwork(6, 3).eval()
    with torch.no_grad():
        log_prob = network(1e6 * torch.randn(50, 6))
    assert log_prob.isfinite().all()
    assert (log_prob < -200).any()


def test_eq17_drops_inputs_of_both_hidden_layers_in_training_only():
    network = ClusteringNetwork(32, 3)
    kinds = [type(m) for m in network.layers]
    assert kinds[:5] == [nn.Dropout, nn.Linear, nn.ReLU, nn.Dropout, nn.Linear]
    assert [m.p for m in network.layers if isinstance(m, nn.Dropout)] == [0.5, 0.5]
    x = torch.randn(4, 32)
    assert not torch.equal(network(x), network(x))
    network.eval()
    assert torch.equal(network(x), network(x))


@pytest.mark.parametrize(("width", "k"), [(768, 20), (384, 152)])
def test_eq17_and_eq18_have_the_printed_numbers_of_parameters(width, k):
    layer = width * width + width
    assert n_parameters(ClusteringNetwork(width, k)) == 2 * layer + width * k + k
    assert n_parameters(ProjectingNetwork(width)) == layer + width * 128 + 128


def test_eq18_has_one_hidden_layer_and_an_unbounded_result():
    network = ProjectingNetwork(6, 4)
    first, last = (m for m in network.modules() if isinstance(m, nn.Linear))
    x = torch.randn(40, 6)
    z = network(x)
    assert torch.allclose(z, last(torch.relu(first(x))))
    assert z.shape == (40, 4)
    assert (z < 0).any()


@torch.no_grad()
def test_eq20_and_eq21_agree_with_the_sums_as_printed():
    n, d = 5, 8
    network = AttentionNetwork(d).double()
    z1, z2 = torch.randn(2, n, d, dtype=torch.float64)
    similarity, hidden = network(z1, z2)
    s_views, h_views = [], []
    for z in (z1, z2):
        k1 = z @ network.key_1.weight.T
        k2 = z @ network.key_2.weight.T
        t = z @ network.value.weight.T
        s = torch.empty(n, n, dtype=torch.float64)
        for i in range(n):
            weights = [math.exp(float(k1[i] @ k2[j]) / math.sqrt(d)) for j in range(n)]
            s[i] = torch.tensor(weights, dtype=torch.float64) / sum(weights)
        s_views.append(s)
        h_views += [sum(s[i, j] * t[j] for j in range(n)) for i in range(n)]
    assert torch.allclose(similarity, (s_views[0] + s_views[1]) / 2, atol=1e-12)
    assert torch.allclose(hidden, torch.stack(h_views), atol=1e-12)


@pytest.mark.parametrize("network_type", ATTENTION_NETWORKS)
def test_eq21_each_row_of_the_similarity_is_a_distribution(network_type):
    attention = network_type(16)(*torch.randn(2, 9, 16))
    assert isinstance(attention, Attention)
    assert attention.similarity.shape == (9, 9)
    assert attention.hidden.shape == (18, 16)
    assert (attention.similarity >= 0).all()
    assert torch.allclose(attention.similarity.sum(dim=1), torch.ones(9))


@pytest.mark.parametrize("network_type", ATTENTION_NETWORKS)
def test_eq20_follows_a_permutation_of_the_samples(network_type):
    n = 6
    network = network_type(8).double()
    z1, z2 = torch.randn(2, n, 8, dtype=torch.float64)
    order = torch.randperm(n)
    plain, permuted = network(z1, z2), network(z1[order], z2[order])
    assert torch.allclose(permuted.similarity, plain.similarity[order][:, order])
    assert torch.allclose(permuted.hidden, plain.hidden[torch.cat((order, n + order))])


@pytest.mark.parametrize("network_type", ATTENTION_NETWORKS)
def test_eq20_a_view_does_not_look_at_the_other_view(network_type):
    network = network_type(8)
    z1, z2, other = torch.randn(3, 6, 8)
    assert torch.equal(network(z1, z2).hidden[:6], network(z1, other).hidden[:6])
    swapped = network(z2, z1)
    assert torch.allclose(swapped.similarity, network(z1, z2).similarity)
    assert torch.allclose(swapped.hidden, network(z1, z2).hidden.roll(6, dims=0))


@pytest.mark.parametrize("network_type", ATTENTION_NETWORKS)
def test_eq23_stop_gradient_the_network_cuts_off_its_input(network_type):
    network = network_type(8)
    z = torch.randn(2, 6, 8, requires_grad=True)
    attention = network(z[0], z[1])
    (attention.similarity.square().sum() + attention.hidden.square().sum()).backward()
    assert z.grad is None
    assert all(p.grad is not None for p in network.parameters())


def test_attention_network_has_three_bias_free_matrices():
    assert n_parameters(AttentionNetwork()) == 3 * 128 * 128 == 49_152


def test_transformer_variant_has_the_size_that_the_printed_model_sizes_imply():
    assert 126_000 <= n_parameters(TransformerAttentionNetwork()) <= 129_000


@pytest.mark.parametrize(
    ("k", "printed"), [(4, 68.36), (8, 68.37), (20, 68.38), (89, 68.43), (152, 68.48)]
)
def test_transformer_variant_reproduces_the_printed_model_sizes(k, printed):
    distilbert = 66_362_880
    heads = (ClusteringNetwork(768, k), ProjectingNetwork(768), TransformerAttentionNetwork())
    total = distilbert + sum(n_parameters(network) for network in heads)
    assert round(total / 1e6, 2) == printed


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: ClusteringNetwork(0, 3), "width"),
        (lambda: ClusteringNetwork(4, 1), "n_clusters"),
        (lambda: ClusteringNetwork(4, 3, dropout=1.0), "dropout"),
        (lambda: ProjectingNetwork(4, 0), "n_features"),
        (lambda: TransformerAttentionNetwork(8, n_hidden=0), "n_hidden"),
    ],
)
def test_impossible_sizes_are_refused_by_name(build, name):
    with pytest.raises(ValueError, match=name):
        build()


@pytest.mark.parametrize("network_type", ATTENTION_NETWORKS)
def test_views_of_different_batches_are_refused(network_type):
    with pytest.raises(ValueError, match="two views of one batch"):
        network_type(8)(torch.randn(4, 8), torch.randn(5, 8))
