"""STCC: a convolutional network that learns binary codes of the texts, then K-means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.baselines.base import Vectors, Views
from caot.baselines.binary_codes import binary_codes
from caot.baselines.dynamic_cnn import DynamicCNN
from caot.baselines.heads import Centroids
from caot.baselines.training import Losses, Objective, seeded
from caot.baselines.word_method import WordMethod
from caot.baselines.word_readers import Sequences
from caot.baselines.word_space import WordSpace, features_of, read_space
from caot.inputs import Inputs
from caot.training import Callback


class CodePrediction(Objective):
    """The cross-entropy of each bit of the codes."""

    def __init__(self, network: DynamicCNN, numbers: Tensor, codes: Tensor) -> None:
        self.network, self.numbers, self.codes = network, numbers, codes
        self.output = nn.Linear(network.n_features, codes.shape[1])
        self.networks = nn.ModuleList([network, self.output])

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the loss of a batch."""
        index = torch.from_numpy(rows)
        logits = self.output(self.network(self.numbers[index]))
        loss = nn.functional.binary_cross_entropy_with_logits(logits, self.codes[index])
        return Losses(cluster=loss)


@dataclass(eq=False, repr=False, kw_only=True)
class STCC(WordMethod):
    """Short text clustering via convolutional neural networks.

    An unsupervised reduction of the texts, cut at its medians to bits, is what a network learns to
    predict from the words in their order; K-means clusters what it finds useful for that.

    Parameters
    ----------
    n_bits, n_neighbors
        Length of the codes, None for one bit a cluster; neighbours in the graph whose locality
        they preserve.
    max_words
        The most words of a text that are read.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.word_method.WordMethod`.

    References
    ----------
    Xu, Wang, Tian, Xu, Zhao, Wang and Hao. Short Text Clustering via Convolutional Neural
    Networks. NAACL Workshop on Vector Space Modeling, 2015; Xu et al. Self-Taught Convolutional
    Neural Networks for Short Text Clustering. Neural Networks, 2017.
    """

    n_bits: int | None = None
    n_neighbors: int = 15
    max_words: int = 32

    _least: ClassVar[dict[str, int]] = {
        **WordMethod._least,
        **dict.fromkeys(("n_bits", "n_neighbors", "max_words"), 1),
    }
    _may_be_none: ClassVar[tuple[str, ...]] = (*WordMethod._may_be_none, "n_bits")

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        words = self._words(inputs)
        longest = max(len(ids) for ids in words.ids(inputs.values))
        reader = Sequences(words, min(self.max_words, max(longest, 1)))
        numbers = reader.read(inputs.values)
        n_bits = self.n_bits or max(self.n_clusters, 2)
        codes = binary_codes(inputs.values, n_bits, self.n_neighbors, self.random_state)
        with seeded(self.random_state):
            network = DynamicCNN(reader.table, reader.length)
            objective = CodePrediction(network, numbers, codes)
            self._learn(objective, self.max_iter, len(inputs), callbacks)
        features = features_of(network.eval(), numbers)
        self.networks_ = Centroids.of(features, self._kmeans(features).centers)
        self.encoder_ = WordSpace(reader, network, network.n_features, "stcc")
        return features

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> WordSpace:
        words, parts, weights = read_space(folder)
        reader = Sequences(words, int(parts["length"]))
        network = DynamicCNN(reader.table, reader.length)
        network.load_state_dict(weights)
        return WordSpace(reader, network, network.n_features, "stcc")
