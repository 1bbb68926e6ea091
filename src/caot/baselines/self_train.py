"""Self-Train: an auto-encoder of averaged word vectors, and DEC's self-training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.baselines.base import Baseline, Vectors, Views
from caot.baselines.heads import StudentT
from caot.baselines.losses import kl_to_target, target_distribution
from caot.baselines.training import Loop, Losses, Objective, seeded
from caot.baselines.word_space import WordSpace, features_of, read_space
from caot.baselines.word_vectors import WordVectors
from caot.inputs import Inputs
from caot.kmeans import kmeans
from caot.training import Callback, Stage


class Sif:
    """Averages of word vectors, common words weighted down, without their common direction.

    Weights are a/(a + p(w)) (Arora, Liang and Ma, ICLR 2017); rows are scaled to a mean square
    of one.
    """

    def __init__(self, words: WordVectors, weight: float, direction: Tensor, scale: Tensor) -> None:
        self.words, self.weight, self.direction, self.scale = words, weight, direction, scale

    @classmethod
    def learn(cls, words: WordVectors, texts: Iterable[str], weight: float) -> Sif:
        """Take the common direction and the scale from the texts."""
        plain = cls(words, weight, torch.zeros(words.width), torch.ones(1))
        rows = plain.read(texts)
        direction = torch.linalg.svd(rows, full_matrices=False).Vh[0]
        rest = rows - (rows @ direction)[:, None] * direction
        return cls(words, weight, direction, rest.square().mean().rsqrt().reshape(1))

    def read(self, texts: Iterable[str]) -> Tensor:
        """Return one row a text, (n, width); zeros for a text without known words."""
        share = self.words.counts / self.words.counts.sum()
        weighted = self.words.vectors * (self.weight / (self.weight + share))[:, None]
        means = [weighted[ids].mean(axis=0) if ids else None for ids in self.words.ids(texts)]
        zero = np.zeros(self.words.width)
        rows = np.array([zero if m is None else m for m in means], dtype=np.float32)
        found = torch.from_numpy(rows)
        return self.scale * (found - (found @ self.direction)[:, None] * self.direction)

    def tensors(self) -> dict[str, Tensor]:
        """Return what the reader is made of."""
        weight = torch.tensor([self.weight], dtype=torch.float64)
        return {"direction": self.direction, "scale": self.scale, "weight": weight}


class AutoEncoder(nn.Module):
    """Encoder of the given sizes, and its mirror image; ``forward`` encodes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.encoding = _layers(sizes)
        self.decoding = _layers(sizes[::-1])

    def forward(self, rows: Tensor) -> Tensor:
        """Return the features (n, sizes[-1])."""
        features: Tensor = self.encoding(rows)
        return features


class Reconstruction(Objective):
    """The squared error of what the auto-encoder gives back."""

    def __init__(self, network: AutoEncoder, rows: Tensor) -> None:
        self.networks, self.network, self.rows = network, network, rows

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the error of a batch; a tenth of the inputs is dropped first."""
        given = self.rows[torch.from_numpy(rows)]
        noisy = nn.functional.dropout(given, 0.1)
        back = self.network.decoding(self.network(noisy))
        return Losses(other=(back - given).square().mean())

    def stage(self, iteration: int) -> Stage:
        """Return that this comes before the clustering."""
        return Stage.WARM_UP


class SelfTraining(Objective):
    """KL of the shares to targets that are sharpened over the whole data set now and then."""

    def __init__(self, network: AutoEncoder, head: StudentT, rows: Tensor, every: int) -> None:
        self.network, self.head, self.rows, self.every = network, head, rows, every
        self.networks = nn.ModuleList([network.encoding, head])
        self.targets = torch.empty(0)

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the divergence of a batch."""
        if iteration % self.every == 0:
            with torch.no_grad():
                shares = self.head.predict(torch.from_numpy(features_of(self.network, self.rows)))
            self.targets = target_distribution(shares.exp())
        index = torch.from_numpy(rows)
        log_shares = self.head.predict(self.network(self.rows[index]))
        return Losses(cluster=kl_to_target(log_shares, self.targets[index]))


@dataclass(eq=False, repr=False, kw_only=True)
class SelfTrain(Baseline):
    """A self-training approach for short text clustering.

    Texts are weighted averages of word vectors; an auto-encoder makes features of them; centres
    from K-means and features then learn from their own sharpened assignments.

    Parameters
    ----------
    word_vectors
        A file in word2vec's text format; None learns vectors on the texts.
    n_word_features, window, min_count
        Length of learned word vectors, how far apart words may stand, how often they must occur.
    sif_weight
        a of the weights a/(a + p).
    hidden, n_features
        Sizes of the auto-encoder's layers, and of its features.
    pretrain_iter, max_iter, batch_size, learning_rate
        Iterations of the auto-encoder and of the self-training, samples of each, Adam's step.
    update_every
        Iterations between two targets.
    n_init
        Starts of K-means.

    References
    ----------
    Hadifar, Sterckx, Demeester and Develder. A Self-Training Approach for Short Text Clustering.
    RepL4NLP 2019.
    """

    word_vectors: str | os.PathLike[str] | None = None
    n_word_features: int = 100
    window: int = 5
    min_count: int = 2
    sif_weight: float = 0.1
    hidden: tuple[int, ...] = (500, 500, 2000)
    n_features: int = 20
    pretrain_iter: int = 2000
    max_iter: int = 500
    batch_size: int = 64
    learning_rate: float = 1e-3
    update_every: int = 100
    n_init: int = 10

    _least: ClassVar[dict[str, int]] = {
        **Baseline._least,
        **dict.fromkeys(("window", "min_count", "pretrain_iter", "max_iter", "update_every"), 1),
        **{"n_features": 1, "batch_size": 2, "n_init": 1},
    }

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        words = learned_words(self, inputs)
        reader = Sif.learn(words, inputs.values, self.sif_weight)
        rows = reader.read(inputs.values)
        with seeded(self.random_state):
            network = AutoEncoder((words.width, *self.hidden, self.n_features))
            self._run(Reconstruction(network, rows), self.pretrain_iter, rows, callbacks)
            found = kmeans(
                features_of(network, rows),
                self.n_clusters,
                n_init=self.n_init,
                random_state=self.random_state,
            )
            head = StudentT.at(found.centers)
            training = SelfTraining(network, head, rows, self.update_every)
            self._run(training, self.max_iter, rows, callbacks)
        self.networks_ = head.eval()
        self.encoder_ = WordSpace(reader, network.encoding, self.n_features, "self-train")
        return features_of(network, rows)

    def _run(
        self, objective: Objective, n_iter: int, rows: Tensor, callbacks: Sequence[Callback]
    ) -> None:
        optimizer = torch.optim.Adam(objective.networks.parameters(), lr=self.learning_rate)
        loop = Loop(n_iter, self.batch_size, self.random_state, n_clusters=self.n_clusters)
        outcome = loop.run(objective, optimizer, len(rows), callbacks)
        self.history_, self.n_iter_ = outcome.history, outcome.n_iter
        self.end_reason_ = outcome.reason

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> WordSpace:
        words, parts, weights = read_space(folder)
        reader = Sif(words, float(parts["weight"]), parts["direction"], parts["scale"])
        matrices = [tensor for tensor in weights.values() if tensor.ndim == 2]
        sizes = [matrices[0].shape[1], *(len(matrix) for matrix in matrices)]
        network = _layers(sizes)
        network.load_state_dict(weights)
        return WordSpace(reader, network, sizes[-1], "self-train")


def learned_words(model: SelfTrain | Baseline, inputs: Inputs) -> WordVectors:
    """Return the vectors that a word-vector method asks for."""
    if inputs.is_vectors:
        msg = f"{type(model).__name__} reads words: X must hold texts, not vectors"
        raise TypeError(msg)
    settings = model.get_params(deep=False)
    if settings["word_vectors"] is not None:
        return WordVectors.read(settings["word_vectors"], inputs.values)
    return WordVectors.learn(
        inputs.values,
        settings["n_word_features"],
        window=settings["window"],
        min_count=settings["min_count"],
        random_state=settings["random_state"],
    )


def _layers(sizes: Sequence[int]) -> nn.Sequential:
    """Return linear layers with ReLU between them."""
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts[:-1])
