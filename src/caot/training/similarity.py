"""The similarity that the transport is given (Eq. 27)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from caot.training.config import SimilaritySettings


def batch_similarity(log_prob: Tensor, attention: Tensor, settings: SimilaritySettings) -> Tensor:
    """Return S = S^cos + S^att, (n, n), each weighted as set, by default with a zero diagonal.

    Parameters
    ----------
    log_prob
        log P(0), (n, k); S^cos is the cosine of the rows of P(0).
    attention
        S^att, (n, n) (Eq. 21).
    settings
        The weights of the two, and whether the diagonal stays.
    """
    prob = functional.normalize(log_prob.exp(), dim=1)
    similarity = settings.cosine * (prob @ prob.T) + settings.attention * attention
    if settings.keep_diagonal:
        return similarity
    return similarity.masked_fill(
        torch.eye(len(similarity), dtype=torch.bool, device=similarity.device), 0.0
    )
