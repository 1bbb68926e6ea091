"""Self-Train: an auto-encoder of averaged word vectors, and DEC's self-training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.baselines.auto_encoder import AutoEncoder, layers
from caot.baselines.base import Vectors, Views
from caot.baselines.heads import StudentT
from caot.baselines.losses import kl_to_target, target_distribution
from caot.baselines.training import Losses, Objective, seeded
from caot.baselines.word_method import WordMethod
from caot.baselines.word_readers import Sif
from caot.baselines.word_space import WordSpace, features_of, read_space
from caot.inputs import Inputs
from caot.training import Callback, Stage


class SelfTraining(Objective):
    """First the error of what the auto-encoder gives back, then DEC's self-training.

    The first part has ``n_first`` iterations; then ``start`` makes centres (k, width) of all
    features (n, width), and the loss is the KL of the shares to targets that are sharpened over
    the whole data set every so many iterations.
    """

    def __init__(
        self,
        network: AutoEncoder,
        head: StudentT,
        rows: Tensor,
        *,
        start: Callable[[Vectors], Vectors],
        n_first: int,
        every: int,
    ) -> None:
        self.network, self.head, self.rows, self.start = network, head, rows, start
        self.n_first, self.every = n_first, every
        self.networks = nn.ModuleList([network, head])
        self.targets = torch.empty(0)

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the loss of a batch."""
        index = torch.from_numpy(rows)
        if iteration < self.n_first:
            return Losses(other=self.reconstruction(self.rows[index]))
        if iteration == self.n_first:
            self.head.move_to(self.start(features_of(self.network, self.rows)))
        if (iteration - self.n_first) % self.every == 0:
            with torch.no_grad():
                shares = self.head.predict(torch.from_numpy(features_of(self.network, self.rows)))
            self.targets = target_distribution(shares.exp())
        log_shares = self.head.predict(self.network(self.rows[index]))
        return Losses(cluster=kl_to_target(log_shares, self.targets[index]))

    def reconstruction(self, given: Tensor) -> Tensor:
        """Return the squared error on samples (n, d), a tenth of whose entries is dropped."""
        back = self.network.decoding(self.network(nn.functional.dropout(given, 0.1)))
        error: Tensor = (back - given).square().mean()
        return error

    def stage(self, iteration: int) -> Stage:
        """Return warm-up for the auto-encoder."""
        return Stage.WARM_UP if iteration < self.n_first else Stage.INTERACTIVE


@dataclass(eq=False, repr=False, kw_only=True)
class SelfTrain(WordMethod):
    """A self-training approach for short text clustering.

    Texts are weighted averages of word vectors; an auto-encoder makes features of them; centres
    from K-means and features then learn from their own sharpened assignments.

    Parameters
    ----------
    sif_weight
        a of the weights a/(a + p).
    hidden, n_features
        Sizes of the auto-encoder's layers, and of its features.
    pretrain_iter, max_iter
        Iterations of the auto-encoder, and of the self-training after it.
    update_every
        Iterations between two targets.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.word_method.WordMethod`.

    References
    ----------
    Hadifar, Sterckx, Demeester and Develder. A Self-Training Approach for Short Text Clustering.
    RepL4NLP 2019.
    """

    n_word_features: int = 100
    sif_weight: float = 0.1
    hidden: tuple[int, ...] = (500, 500, 2000)
    n_features: int = 20
    pretrain_iter: int = 2000
    max_iter: int = 500
    batch_size: int = 64
    update_every: int = 100

    _least: ClassVar[dict[str, int]] = {
        **WordMethod._least,
        **dict.fromkeys(("pretrain_iter", "update_every", "n_features"), 1),
    }

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        words = self._words(inputs)
        reader = Sif.learn(words, inputs.values, self.sif_weight)
        rows = reader.read(inputs.values)
        with seeded(self.random_state):
            network = AutoEncoder((words.width, *self.hidden, self.n_features))
            head = StudentT(self.n_clusters, self.n_features)
            objective = SelfTraining(
                network,
                head,
                rows,
                start=lambda features: self._kmeans(features).centers,
                n_first=self.pretrain_iter,
                every=self.update_every,
            )
            self._learn(objective, self.pretrain_iter + self.max_iter, len(rows), callbacks)
        self.networks_ = head.eval()
        self.encoder_ = WordSpace(reader, network.encoding, self.n_features, "self-train")
        return features_of(network, rows)

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> WordSpace:
        words, parts, weights = read_space(folder)
        reader = Sif(words, float(parts["weight"]), parts["direction"], parts["scale"])
        names = sorted(weights, key=lambda name: int(name.split(".")[0]))  # not 0, 10, 2
        matrices = [weights[name] for name in names if weights[name].ndim == 2]
        sizes = [matrices[0].shape[1], *(len(matrix) for matrix in matrices)]
        network = layers(sizes)
        network.load_state_dict(weights)
        return WordSpace(reader, network, sizes[-1], "self-train")
