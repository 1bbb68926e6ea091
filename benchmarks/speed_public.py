"""A training step as public code of this line of work takes it, written anew for comparison.

Every step tokenises its texts and pads them to 32 tokens; all three views are encoded with
gradients, once for the pseudo-labels and once more for the losses; Adam is torch's plain one. The
networks, losses and similarity are the same as ours. Its transport is Algorithm 2 in numpy, all ten
times ten steps: much faster than solving for the normaliser by automatic differentiation, as public
code does, so that the comparison is about the encoder.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.speed_corpus import Corpus
from benchmarks.transport import without_numba
from caot.encoders import TransformerEncoder
from caot.encoders.opening import transformer_of
from caot.losses import attention_contrast, instance_contrast, pseudo_label_loss
from caot.training import Networks, TrainingConfig
from caot.training.data import Sampler
from caot.training.similarity import batch_similarity
from caot.transport import CollapseWarning, Transport

PADDED_LENGTH = 32


@dataclass(frozen=True, slots=True, eq=False)
class PaddedEncoder:
    """A transformer and what pools its tokens, with all texts padded to 32 tokens."""

    model: nn.Module
    tokenizer: Any
    pooling: tuple[nn.Module, ...]

    @classmethod
    def of(cls, encoder: TransformerEncoder) -> PaddedEncoder:
        """Use the modules and the tokenizer of an encoder of ours."""
        transformer = transformer_of(encoder.module)
        _, *pooling = encoder.module.children()
        return cls(transformer.model, encoder.module.tokenizer, tuple(pooling))

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Tokenise, pad and encode n texts; return vectors (n, width)."""
        tokens = self.tokenizer(
            list(texts),
            padding="max_length",
            truncation=True,
            max_length=PADDED_LENGTH,
            return_tensors="pt",
        )
        ids, mask = tokens["input_ids"], tokens["attention_mask"]
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        features = {"token_embeddings": hidden, "attention_mask": mask}
        for module in self.pooling:
            features = module(features)
        vectors: Tensor = features["sentence_embedding"]
        return vectors


class PublicTrainer:
    """Takes steps of public code's pattern on a corpus."""

    def __init__(
        self,
        corpus: Corpus,
        encoder: PaddedEncoder,
        networks: Networks,
        config: TrainingConfig,
        transport: Transport,
    ) -> None:
        self.corpus, self.encoder, self.networks = corpus, encoder, networks
        self.config, self.transport = config, transport
        settings = config.objective
        encoder.model.requires_grad_(True)
        self.optimizer = torch.optim.Adam(
            [
                {"params": list(networks.parameters()), "lr": settings.learning_rate},
                {"params": encoder.model.parameters(), "lr": settings.learning_rate_encoder},
            ]
        )
        self.sampler = Sampler(len(corpus), config.schedule.batch_size, config.random_state)

    def step(self) -> None:
        """Make pseudo-labels for a batch, then learn from them."""
        self.networks.train()
        self.encoder.model.train()
        rows = self.sampler.next()
        labels = self.pseudo_labels(rows)
        loss = self.loss(rows, labels)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def pseudo_labels(self, rows: NDArray[np.int64]) -> Tensor:
        """Encode all views, and solve the transport for the batch."""
        v0, v1, v2 = self.encode(rows)
        attention = self.networks.attention(self.networks.project(v1), self.networks.project(v2))
        log_prob = self.networks.predict(v0).detach()
        similarity = batch_similarity(
            log_prob, attention.similarity.detach(), self.config.similarity
        )
        with without_numba(), warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            result = self.transport(log_prob.double().numpy(), similarity.double().numpy())
        return torch.from_numpy(np.asarray(result.labels))

    def loss(self, rows: NDArray[np.int64], labels: Tensor) -> Tensor:
        """Encode all views again, and return the loss of the interactive stage (Eq. 26)."""
        _, v1, v2 = self.encode(rows)
        networks = self.networks
        z1, z2 = networks.project(v1), networks.project(v2)
        attention = networks.attention(z1, z2)
        return (
            attention_contrast(attention.hidden, attention.similarity, labels)
            + pseudo_label_loss(networks.predict(v1), networks.predict(v2), labels)
            + self.config.objective.contrast_weight * instance_contrast(z1, z2)
        )

    def encode(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Return V(0), V(1) and V(2) of a batch, each (n, width) and with gradients."""
        columns = (self.corpus.texts, self.corpus.first, self.corpus.second)
        v0, v1, v2 = (self.encoder([column[row] for row in rows]) for column in columns)
        return v0, v1, v2
