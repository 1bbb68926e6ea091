"""The networks that are trained on top of an encoder, as one module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from caot.networks import (
    AttentionNetwork,
    ClusteringNetwork,
    ProjectingNetwork,
    TransformerAttentionNetwork,
)
from caot.training.config import TrainingConfig

_ATTENTION = {"matrices": AttentionNetwork, "transformer": TransformerAttentionNetwork}


class Networks(nn.Module):
    """The three networks on top of an encoder: G_p, G_z and G_h (Eqs. 17, 18, 20).

    ``scale`` multiplies the embeddings first. Encoders that normalise give vectors whose entries
    are so small that freshly made networks hardly tell them apart; scaled to a mean square of one,
    all encoders start alike. The paper has no such factor: 1 in faithful mode.
    """

    scale: Tensor

    def __init__(self, width: int, config: TrainingConfig) -> None:
        super().__init__()
        self.clustering = ClusteringNetwork(width, config.n_clusters)
        self.projecting = ProjectingNetwork(width)
        self.attention = _ATTENTION[config.attention]()
        self.n_clusters = config.n_clusters
        self.attention_kind = config.attention
        self.register_buffer("scale", torch.tensor(config.embedding_scale))

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return log P, (n, k)."""
        log_prob: Tensor = self.clustering(self.scale * embeddings)
        return log_prob

    def project(self, embeddings: Tensor) -> Tensor:
        """Return Z, (n, 128)."""
        features: Tensor = self.projecting(self.scale * embeddings)
        return features
