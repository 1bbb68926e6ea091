"""The three networks on top of the encoder (Eqs. 17, 18, 20, 21 of docs/maths.md).

They are initialised from torch's global random generator: whoever builds them seeds it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Attention(NamedTuple):
    """What an attention network says about a batch of n samples in two views.

    ``similarity`` is S^att, (n, n), each row a distribution (Eq. 21);
    ``hidden`` is H, (2n, n_features), view 1 above view 2 (Eq. 20).
    """

    similarity: Tensor
    hidden: Tensor


class ClusteringNetwork(nn.Module):
    """Log-probabilities of the clusters for encoded texts, G_p (Eq. 17).

    Parameters
    ----------
    width : int
        Width d1 of the encoder, and of both hidden layers.
    n_clusters : int
        Number of clusters k, at least 2.
    dropout : float
        Share of the inputs of each hidden layer that is dropped in training.
    """

    def __init__(self, width: int, n_clusters: int, dropout: float = 0.5) -> None:
        super().__init__()
        _require_at_least("width", width, 1)
        _require_at_least("n_clusters", n_clusters, 2)
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout is {dropout}: choose a share in [0, 1).")
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, n_clusters),
        )

    def forward(self, embeddings: Tensor) -> Tensor:
        """Map embeddings (n, width) to log-probabilities (n, n_clusters)."""
        logits: Tensor = self.layers(embeddings)
        # Never log(softmax(.)): the transport cost is -log P, and log(0) would be infinite.
        return torch.log_softmax(logits, dim=-1)


class ProjectingNetwork(nn.Module):
    """Features for the contrastive losses, G_z (Eq. 18).

    Parameters
    ----------
    width : int
        Width d1 of the encoder, and of the hidden layer.
    n_features : int
        Width d2 of the result.
    """

    def __init__(self, width: int, n_features: int = 128) -> None:
        super().__init__()
        _require_at_least("width", width, 1)
        _require_at_least("n_features", n_features, 1)
        self.layers = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, n_features)
        )

    def forward(self, embeddings: Tensor) -> Tensor:
        """Map embeddings (n, width) to features (n, n_features)."""
        features: Tensor = self.layers(embeddings)
        return features


class AttentionNetwork(nn.Module):
    """Instance-level attention, G_h: each sample looks at the others of its batch (Eqs. 20, 21).

    Three matrices without bias, as the paper prints it.

    Parameters
    ----------
    n_features : int
        Width d2 of the features.
    """

    def __init__(self, n_features: int = 128) -> None:
        super().__init__()
        _require_at_least("n_features", n_features, 1)
        self.key_1 = nn.Linear(n_features, n_features, bias=False)
        self.key_2 = nn.Linear(n_features, n_features, bias=False)
        self.value = nn.Linear(n_features, n_features, bias=False)

    def forward(self, z1: Tensor, z2: Tensor) -> Attention:
        """Relate the samples of a batch, seen as z1 and z2, both (n, n_features)."""
        z = _frozen_views(z1, z2)  # (2, n, d2)
        similarity = _row_softmax(self.key_1(z), self.key_2(z))  # (2, n, n)
        hidden = similarity @ self.value(z)  # (2, n, d2)
        return Attention(similarity.mean(dim=0), hidden.flatten(0, 1))


class TransformerAttentionNetwork(nn.Module):
    """A transformer layer in the place of Eq. 20; its attention matrix serves as S^(v).

    The batch is the sequence, without positions. One head; post-norm, as in the first transformer;
    the default ``n_hidden`` gives the number of parameters that the paper's model sizes imply.

    Parameters
    ----------
    n_features : int
        Width d2 of the features.
    n_hidden : int
        Width of the layer's feed-forward part.
    """

    def __init__(self, n_features: int = 128, n_hidden: int = 240) -> None:
        super().__init__()
        _require_at_least("n_features", n_features, 1)
        _require_at_least("n_hidden", n_hidden, 1)
        self.key_1 = nn.Linear(n_features, n_features, bias=False)
        self.key_2 = nn.Linear(n_features, n_features, bias=False)
        self.value = nn.Linear(n_features, n_features, bias=False)
        self.output = nn.Linear(n_features, n_features, bias=False)
        self.attention_norm = nn.LayerNorm(n_features)
        self.feed_forward = nn.Sequential(
            nn.Linear(n_features, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_features)
        )
        self.feed_forward_norm = nn.LayerNorm(n_features)

    def forward(self, z1: Tensor, z2: Tensor) -> Attention:
        """Relate the samples of a batch, seen as z1 and z2, both (n, n_features)."""
        z = _frozen_views(z1, z2)  # (2, n, d2)
        similarity = _row_softmax(self.key_1(z), self.key_2(z))  # (2, n, n)
        mixed = self.attention_norm(z + self.output(similarity @ self.value(z)))  # (2, n, d2)
        hidden = self.feed_forward_norm(mixed + self.feed_forward(mixed))  # (2, n, d2)
        return Attention(similarity.mean(dim=0), hidden.flatten(0, 1))


def _frozen_views(z1: Tensor, z2: Tensor) -> Tensor:
    """Stack two views (n, d2) to (2, n, d2), cut off from what made them."""
    if z1.ndim != 2 or z1.shape != z2.shape:
        raise ValueError(
            f"z1 is {tuple(z1.shape)} and z2 is {tuple(z2.shape)}: "
            "give the two views of one batch, both (n, n_features)."
        )
    # The stop-gradient of Eq. 23: L_A trains the attention network alone. It stands here, and not
    # in the training loop, so that it cannot be forgotten.
    return torch.stack((z1, z2)).detach()


def _row_softmax(queries: Tensor, keys: Tensor) -> Tensor:
    """Scaled dot-product attention weights (.., n, n) of queries and keys (.., n, d2)."""
    return torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), dim=-1)


def _require_at_least(name: str, value: int, smallest: int) -> None:
    if value < smallest:
        raise ValueError(f"{name} is {value}: it must be at least {smallest}.")
