"""The similarity of a batch against a double loop written from Eq. 27."""

import pytest
import torch

from caot.training import SimilaritySettings, batch_similarity

N = 4


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    log_prob = torch.log_softmax(2 * torch.randn(N, 3, generator=generator), dim=1)
    attention = torch.softmax(torch.randn(N, N, generator=generator), dim=1)
    return log_prob, attention


def by_hand(log_prob, attention, cosine_weight, attention_weight, *, diagonal):
    prob = log_prob.exp()
    expected = torch.zeros(N, N)
    for i in range(N):
        for j in range(N):
            cosine = prob[i] @ prob[j] / (prob[i].norm() * prob[j].norm())
            if i != j or diagonal:
                expected[i, j] = cosine_weight * cosine + attention_weight * attention[i, j]
    return expected


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.5, 20.0)])
def test_similarity_is_the_weighted_sum(batch, weights, diagonal):
    similarity = batch_similarity(*batch, SimilaritySettings(*weights, keep_diagonal=diagonal))
    torch.testing.assert_close(similarity, by_hand(*batch, *weights, diagonal=diagonal))


def test_a_sample_is_not_similar_to_itself_by_default(batch):
    similarity = batch_similarity(*batch, SimilaritySettings())
    assert torch.equal(similarity.diagonal(), torch.zeros(N))
    assert (similarity + torch.eye(N) > 0).all()


def test_sure_predictions_of_two_clusters_are_not_similar():
    log_prob = torch.tensor([[0.0, -200.0], [0.0, -200.0], [-200.0, 0.0]])
    similarity = batch_similarity(log_prob, torch.zeros(3, 3), SimilaritySettings())
    expected = torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    torch.testing.assert_close(similarity, expected)
