"""The three losses as pure functions of tensors (Eqs. 19, 23, 24 of docs/maths.md).

Rows of a two-view tensor (2n, d) come in the order view 1, view 2, so that rows i and n + i
are the same sample. ``sim`` is the cosine.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# From this temperature on, exponentials of cosines over it are summed as they are: the largest,
# exp(20), is far from overflow. Below it, sums are made in the log domain.
_WARM = 0.1


def instance_contrast(z1: Tensor, z2: Tensor, temperature: float = 1.0) -> Tensor:
    """Pull the two views of a sample together and push the other samples away, L_I (Eq. 19).

    Unlike in most contrastive losses the positive pair is *not* part of the denominator.

    Parameters
    ----------
    z1, z2 : Tensor of shape (n, d)
        Features of the two views; only their directions count.
    temperature : float
        Divides the cosines.

    Returns
    -------
    Tensor
        The mean over the 2n anchors, a scalar.
    """
    if z1.ndim != 2 or z1.shape != z2.shape:
        raise ValueError(
            f"z1 is {tuple(z1.shape)} and z2 is {tuple(z2.shape)}: "
            "give the two views of one batch, both (n, d)."
        )
    n = z1.shape[0]
    cosines = _pairwise_cosines(torch.cat((z1, z2)), temperature)  # (2n, 2n)
    positive = cosines.diagonal(n)  # (n,): the pair (i, n + i), the same for both its anchors
    (negative,) = _log_sums(cosines, temperature, _others(cosines))
    return negative.mean() - positive.mean() / temperature


def attention_contrast(
    hidden: Tensor, similarity: Tensor, labels: Tensor, temperature: float = 1.0
) -> Tensor:
    """Draw the attention towards samples of the same pseudo-label, L_A (Eqs. 22, 23).

    Both ``hidden`` and ``similarity`` keep their gradients; that these end in the attention
    network is the doing of that network, which detaches its input.

    Parameters
    ----------
    hidden : Tensor of shape (2n, d)
        H, the two views of the attention network's output.
    similarity : Tensor of shape (n, n)
        S^att, non-negative.
    labels : Tensor of shape (n,)
        Pseudo-labels.
    temperature : float
        Divides the cosines.

    Returns
    -------
    Tensor
        The mean over the 2n anchors, a scalar.
    """
    n = labels.shape[0]
    if hidden.ndim != 2 or hidden.shape[0] != 2 * n or similarity.shape != (n, n):
        raise ValueError(
            f"For {n} labels, hidden must be ({2 * n}, d) and similarity ({n}, {n}); they are "
            f"{tuple(hidden.shape)} and {tuple(similarity.shape)}."
        )
    cosines = _pairwise_cosines(hidden, temperature)  # (2n, 2n)
    same_cluster = labels[:, None] == labels[None, :]  # (n, n), row i is R_i, which holds i
    # A softmax may underflow to 0, where the logarithm would turn the gradient into NaN.
    weights = similarity.clamp_min(torch.finfo(similarity.dtype).tiny) * same_cluster
    denominator, numerator = _log_sums(
        cosines, temperature, _others(cosines), weights.repeat(2, 2)
    )  # (2n,)
    return (denominator - numerator).mean()


def pseudo_label_loss(log_prob1: Tensor, log_prob2: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of both views against the pseudo-labels, L_P (Eq. 24).

    The views are added and the samples averaged.

    Parameters
    ----------
    log_prob1, log_prob2 : Tensor of shape (n, k)
        Log-probabilities of the two views.
    labels : Tensor of shape (n,)
        Pseudo-labels in 0 .. k - 1, int64.

    Returns
    -------
    Tensor
        A scalar.
    """
    if log_prob1.ndim != 2 or log_prob1.shape != log_prob2.shape:
        raise ValueError(
            f"log_prob1 is {tuple(log_prob1.shape)} and log_prob2 is {tuple(log_prob2.shape)}: "
            "give the two views of one batch, both (n, k)."
        )
    if labels.shape != log_prob1.shape[:1] or not len(labels):
        raise ValueError(
            f"labels is {tuple(labels.shape)} for log-probabilities {tuple(log_prob1.shape)}: "
            "give one label for each row, and at least one row."
        )
    return functional.nll_loss(log_prob1, labels) + functional.nll_loss(log_prob2, labels)


def _pairwise_cosines(rows: Tensor, temperature: float) -> Tensor:
    """Cosines of all pairs of the 2n rows, (2n, 2n); the temperature is only checked."""
    if rows.shape[0] < 4:
        raise ValueError(
            f"A batch of {rows.shape[0] // 2} leaves a sample without others to contrast with: "
            "use batches of at least 2 samples (drop or merge a smaller last batch)."
        )
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}: it must be positive.")
    unit = functional.normalize(rows, dim=1)
    return unit @ unit.T


def _others(cosines: Tensor) -> Tensor:
    """Weights (2n, 2n) of 1, and of 0 for the two rows of an anchor's own sample."""
    n = cosines.shape[0] // 2
    return 1 - torch.eye(n, dtype=cosines.dtype, device=cosines.device).repeat(2, 2)


def _log_sums(cosines: Tensor, temperature: float, *weights: Tensor) -> list[Tensor]:
    """For each anchor and each set of weights, log Σ_v w_v exp(cos_v / temperature), (2n,).

    Cosines are bounded, so that the exponentials, which all sums share, need no maximum taken off;
    and nothing is masked by minus infinity, whose exponential is slow.
    """
    if temperature >= _WARM:
        # Each is at least 1: weights that underflowed to the smallest number stay above zero.
        terms = ((cosines + 1) / temperature).exp()
        return [(terms * part).sum(dim=1).log() - 1 / temperature for part in weights]
    return [torch.logsumexp(cosines / temperature + _log(part), dim=1) for part in weights]


def _log(weights: Tensor) -> Tensor:
    """Logarithms; minus infinity for 0, which has no gradient."""
    positive = weights > 0
    return torch.where(positive, weights, 1.0).log().masked_fill(~positive, -torch.inf)
