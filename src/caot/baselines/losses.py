"""The losses of the methods, as pure functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def info_nce(
    anchors: Tensor, positives: Tensor, temperature: float, others: Tensor | None = None
) -> Tensor:
    """Pull each anchor to its positive, away from the other positives and from ``others``.

    Anchors and positives are (n, d), others (m, d); the cosine counts.
    """
    unit, targets = functional.normalize(anchors, dim=1), functional.normalize(positives, dim=1)
    logits = unit @ targets.T
    if others is not None:
        logits = torch.cat([logits, unit @ functional.normalize(others, dim=1).T], dim=1)
    own = torch.arange(len(anchors), device=anchors.device)
    return functional.cross_entropy(logits / temperature, own)


def nt_xent(z1: Tensor, z2: Tensor, temperature: float, excluded: Tensor | None = None) -> Tensor:
    """Contrast of two views (n, d) over all 2n rows, the positive in the denominator.

    Parameters
    ----------
    z1, z2
        Features of the two views.
    temperature
        Divides the cosines.
    excluded
        (n, n) bool: samples j that are no negatives of sample i.
    """
    n = len(z1)
    unit = functional.normalize(torch.cat([z1, z2]), dim=1)
    logits = unit @ unit.T / temperature
    own = torch.eye(2 * n, dtype=torch.bool, device=z1.device)
    if excluded is not None:
        same = torch.eye(n, dtype=torch.bool, device=z1.device)
        own = own | (excluded & ~same).repeat(2, 2)
    logits = logits.masked_fill(own, -torch.inf)
    partner = torch.arange(2 * n, device=z1.device).roll(n)
    return functional.cross_entropy(logits, partner)


def target_distribution(shares: Tensor) -> Tensor:
    """Return DEC's sharpened targets p_ij ∝ q_ij²/Σ_i q_ij, without gradient, (n, k)."""
    squared = shares.detach().square() / shares.detach().sum(dim=0).clamp_min(1e-12)
    return squared / squared.sum(dim=1, keepdim=True)


def kl_to_target(log_shares: Tensor, target: Tensor) -> Tensor:
    """Return the mean over the samples of KL(p_i ‖ q_i)."""
    return functional.kl_div(log_shares, target, reduction="batchmean")


def nearest_mask(vectors: Tensor, n_neighbors: int) -> Tensor:
    """Return which samples are among each sample's nearest by cosine, itself not, (n, n) bool."""
    unit = functional.normalize(vectors.detach(), dim=1)
    cosines = (unit @ unit.T).fill_diagonal_(-torch.inf)
    count = min(n_neighbors, len(vectors) - 1)
    nearest = cosines.topk(count, dim=1).indices
    return torch.zeros_like(cosines, dtype=torch.bool).scatter_(1, nearest, True)


def smoothed_shares(shares: Tensor, vectors: Tensor, neighbors: Tensor, weight: float) -> Tensor:
    """Mix each sample's shares with its neighbours': q_i ← (q_i + λ Σ w q_j)/(1 + λ Σ w).

    w_ij = cos_ij · exp(−d_ij²) over the neighbours, with distances of unit vectors.
    """
    unit = functional.normalize(vectors.detach(), dim=1)
    cosines = unit @ unit.T
    near = cosines.clamp_min(0) * torch.exp(2 * cosines - 2) * neighbors  # d² = 2 − 2 cos
    return (shares + weight * near @ shares) / (1 + weight * near.sum(dim=1, keepdim=True))


def self_expression(features: Tensor, ridge: float) -> Tensor:
    """Return C (n, n) with zero diagonal that minimises |Z − CZ|² + ridge |C|².

    Every row is a ridge regression on the other rows, and all come from one inverse:
    C_ij = −G_ij/G_ii with G = (ZZᵀ + ridge I)⁻¹.
    """
    n = len(features)
    gram = features @ features.T + ridge * torch.eye(n, device=features.device)
    inverse = torch.linalg.inv(gram)
    expression: Tensor = -inverse / inverse.diagonal()[:, None]
    return expression.fill_diagonal_(0.0)


def cluster_contrast(log_prob1: Tensor, log_prob2: Tensor, temperature: float) -> Tensor:
    """Contrast clusters, as columns of two views' shares (n, k), and keep all of them in use.

    The second part is the negative entropy of the mean shares, which one large cluster raises.
    """
    shares1, shares2 = log_prob1.exp(), log_prob2.exp()
    contrast = nt_xent(shares1.T, shares2.T, temperature)
    means = torch.stack([shares1.mean(dim=0), shares2.mean(dim=0)])
    crowding: Tensor = torch.special.xlogy(means, means).sum()
    return contrast + crowding
