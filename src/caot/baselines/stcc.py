"""STCC: a convolutional network that learns binary codes of the texts, then K-means."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.linalg
import torch
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import kneighbors_graph
from torch import Tensor, nn

from caot.baselines.base import Baseline, Vectors, Views
from caot.baselines.heads import Centroids
from caot.baselines.self_train import learned_words
from caot.baselines.training import Loop, Losses, Objective, seeded
from caot.baselines.word_space import WordSpace, features_of, read_space
from caot.baselines.word_vectors import WordVectors
from caot.inputs import Inputs
from caot.kmeans import kmeans
from caot.training import Callback

_MAPS = (12, 8)
_TOP = 5
_WIDTH = 3


class Sequences:
    """Word vectors of each text in order, padded with zeros, (n, width, length)."""

    def __init__(self, words: WordVectors, length: int) -> None:
        self.words, self.length = words, length
        self.table = torch.cat([torch.zeros(1, words.width), torch.from_numpy(words.vectors)])

    def read(self, texts: Iterable[str]) -> Tensor:
        """Return the numbers of the words, 0 for none, (n, length)."""
        ids = [row[: self.length] for row in self.words.ids(texts)]
        numbers = np.zeros((len(ids), self.length), dtype=np.int64)
        for row, known in enumerate(ids):
            numbers[row, : len(known)] = np.array(known, dtype=np.int64) + 1
        return torch.from_numpy(numbers)

    def tensors(self) -> dict[str, Tensor]:
        """Return what the reader is made of."""
        return {"length": torch.tensor([self.length])}


class DynamicCNN(nn.Module):
    """Two wide convolutions over the words, each dimension by itself, with folding and k-max.

    Parameters
    ----------
    vectors : Tensor, shape (V + 1, width)
        Word vectors, row 0 for no word; they stay as they are.
    length : int
        Words a text.
    """

    def __init__(self, vectors: Tensor, length: int) -> None:
        super().__init__()
        # Four dimensions are folded into one, so that their number must divide by four.
        width = 4 * math.ceil(vectors.shape[1] / 4)
        padded = nn.functional.pad(vectors, (0, width - vectors.shape[1]))
        self.words = nn.Parameter(padded, requires_grad=False)
        first, second = _MAPS
        self.first = nn.Conv1d(width, width * first, _WIDTH, padding=_WIDTH - 1, groups=width)
        half = width // 2
        self.second = nn.Conv1d(
            half * first, half * second, _WIDTH, padding=_WIDTH - 1, groups=half
        )
        # After one of two layers, half of the words are kept, and never fewer than in the end.
        self.kept = max(_TOP, math.ceil(length / 2))
        self.dropout = nn.Dropout(0.5)
        self.n_features = width // 4 * second * _TOP

    def forward(self, numbers: Tensor) -> Tensor:
        """Map numbers of words (n, length) to features (n, n_features)."""
        rows = self.words[numbers].mT  # (n, width, length)
        rows = torch.tanh(k_max(fold(self.first(rows), _MAPS[0]), self.kept))
        rows = torch.tanh(k_max(fold(self.second(rows), _MAPS[1]), _TOP))
        features: Tensor = self.dropout(rows.flatten(1))
        return features


def fold(rows: Tensor, n_maps: int) -> Tensor:
    """Add neighbouring dimensions: (n, width · maps, s) to (n, width/2 · maps, s)."""
    n, channels, steps = rows.shape
    pairs = rows.reshape(n, channels // (2 * n_maps), 2, n_maps, steps)
    return pairs.sum(dim=2).reshape(n, channels // 2, steps)


def k_max(rows: Tensor, k: int) -> Tensor:
    """Keep the k greatest values of each row, in their order: (.., s) to (.., k)."""
    if rows.shape[-1] < k:
        rows = nn.functional.pad(rows, (0, k - rows.shape[-1]))
    places = rows.topk(k, dim=-1).indices.sort(dim=-1).values
    return rows.gather(-1, places)


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
class STCC(Baseline):
    """Short text clustering via convolutional neural networks.

    An unsupervised reduction of the texts, cut at its medians to bits, is what a network learns to
    predict from the words in their order; K-means clusters what it finds useful for that.

    Parameters
    ----------
    word_vectors
        A file in word2vec's text format; None learns vectors on the texts.
    n_word_features, window, min_count
        Length of learned word vectors, how far apart words may stand, how often they must occur.
    n_bits, n_neighbors
        Length of the codes, None for one bit a cluster; neighbours in the graph whose locality
        they preserve.
    max_iter, batch_size, learning_rate
        Iterations, samples of each, Adam's step.
    max_words
        The most words of a text that are read.
    n_init
        Starts of K-means.

    References
    ----------
    Xu, Wang, Tian, Xu, Zhao, Wang and Hao. Short Text Clustering via Convolutional Neural
    Networks. NAACL Workshop on Vector Space Modeling, 2015; Xu et al. Self-Taught Convolutional
    Neural Networks for Short Text Clustering. Neural Networks, 2017.
    """

    word_vectors: str | os.PathLike[str] | None = None
    n_word_features: int = 48
    window: int = 5
    min_count: int = 2
    n_bits: int | None = None
    n_neighbors: int = 15
    max_iter: int = 1000
    batch_size: int = 200
    learning_rate: float = 1e-3
    max_words: int = 32
    n_init: int = 10

    _least: ClassVar[dict[str, int]] = {
        **Baseline._least,
        **dict.fromkeys(("window", "min_count", "n_neighbors", "max_iter", "max_words"), 1),
        **{"n_word_features": 4, "batch_size": 2, "n_init": 1},
    }

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        words = learned_words(self, inputs)
        longest = max(len(ids) for ids in words.ids(inputs.values))
        reader = Sequences(words, min(self.max_words, max(longest, 1)))
        numbers = reader.read(inputs.values)
        n_bits = self.n_bits or max(self.n_clusters, 2)
        codes = binary_codes(inputs.values, n_bits, self.n_neighbors, self.random_state)
        with seeded(self.random_state):
            network = DynamicCNN(reader.table, reader.length)
            objective = CodePrediction(network, numbers, codes)
            learning = [p for p in objective.networks.parameters() if p.requires_grad]
            optimizer = torch.optim.Adam(learning, lr=self.learning_rate)
            loop = Loop(
                self.max_iter, self.batch_size, self.random_state, n_clusters=self.n_clusters
            )
            outcome = loop.run(objective, optimizer, len(inputs), callbacks)
        self.history_, self.n_iter_ = outcome.history, outcome.n_iter
        self.end_reason_ = outcome.reason
        features = features_of(network.eval(), numbers)
        found = kmeans(
            features, self.n_clusters, n_init=self.n_init, random_state=self.random_state
        )
        self.networks_ = Centroids.of(features, found.centers)
        self.encoder_ = WordSpace(reader, network, network.n_features, "stcc")
        return features

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> WordSpace:
        words, parts, weights = read_space(folder)
        reader = Sequences(words, int(parts["length"]))
        network = DynamicCNN(reader.table, reader.length)
        network.load_state_dict(weights)
        return WordSpace(reader, network, network.n_features, "stcc")


def binary_codes(texts: Sequence[str], n_bits: int, n_neighbors: int, random_state: int) -> Tensor:
    """Return codes (n, bits) of zeros and ones from locality preserving indexing.

    TF-IDF rows are reduced by a singular value decomposition, then to the directions along which
    neighbours differ least (He, Cai, Liu and Ma, SIGIR 2004), and cut at the median of each.
    """
    weights = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(texts)
    size = min(4 * n_bits, min(weights.shape) - 1)
    rows = TruncatedSVD(size, random_state=random_state).fit_transform(weights)
    rows -= rows.mean(axis=0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, 1)
    graph = kneighbors_graph(unit, min(n_neighbors, len(unit) - 1), include_self=False)
    graph = graph.maximum(graph.T)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    spread = unit.T @ (degree[:, None] * unit)
    local = spread - unit.T @ (graph @ unit)
    spread += 1e-6 * np.trace(spread) / size * np.eye(size)
    _, directions = scipy.linalg.eigh(local, spread, subset_by_index=(0, min(n_bits, size) - 1))
    reduced = unit @ directions
    return torch.from_numpy((reduced > np.median(reduced, axis=0)).astype(np.float32))
