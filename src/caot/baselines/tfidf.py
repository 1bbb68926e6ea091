"""K-means on TF-IDF weights."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
import torch
from safetensors.torch import load_file, save_file
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from caot.baselines.base import Baseline, Vectors, Views
from caot.baselines.heads import Similarities
from caot.inputs import Inputs
from caot.training import Callback

_VOCABULARY_FILE = "vocabulary.json"
_WEIGHTS_FILE = "tfidf.safetensors"
# One letter is a word too: C, R, and most words of Chinese.
_WORD = r"(?u)\b\w+\b"


class TfidfSpace:
    """From texts to the dot products of their TF-IDF weights with the centres, (n, k).

    All that decides the clusters, in k numbers a text rather than tens of thousands.

    Parameters
    ----------
    vectorizer
        A fitted vectorizer; rows of length one.
    centers
        (k, words).
    """

    name = "tf-idf"

    def __init__(self, vectorizer: TfidfVectorizer, centers: Vectors) -> None:
        self.vectorizer, self.centers = vectorizer, centers

    @property
    def width(self) -> int:
        """The number of centres."""
        return len(self.centers)

    def encode(
        self, inputs: Iterable[str], batch_size: int = 64, progress: bool = False
    ) -> Vectors:
        """Return the dot products, (n, k); the batch size changes nothing here."""
        return self.products(self.vectorizer.transform(inputs))

    def products(self, weights: scipy.sparse.csr_array) -> Vectors:
        """Return the dot products of TF-IDF rows with the centres, (n, k)."""
        return np.asarray(weights @ self.centers.T, dtype=np.float32)

    def save(self, folder: Path) -> None:
        """Write the words, their weights and the centres."""
        words = self.vectorizer.get_feature_names_out().tolist()
        text = json.dumps(words, ensure_ascii=False)
        (folder / _VOCABULARY_FILE).write_text(text + "\n", encoding="utf-8")
        tensors = {"idf": torch.from_numpy(self.vectorizer.idf_)}
        tensors["centers"] = torch.from_numpy(self.centers)
        save_file(tensors, folder / _WEIGHTS_FILE)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        words = json.loads((folder / _VOCABULARY_FILE).read_text(encoding="utf-8"))
        tensors = load_file(folder / _WEIGHTS_FILE)
        vectorizer = _vectorizer(vocabulary=words)
        vectorizer.idf_ = tensors["idf"].numpy()
        return cls(vectorizer, tensors["centers"].numpy())


@dataclass(eq=False, repr=False, kw_only=True)
class TfidfKMeans(Baseline):
    """K-means on rows of TF-IDF weights of length one: words alone, no model of language.

    ``transform`` gives the similarity of each text to each centre, (n, k).

    Parameters
    ----------
    n_init
        Starts of K-means, of which the one with the least inertia is taken.
    min_count
        Words of fewer texts are left out.
    max_words
        At most so many words, the commonest, are kept; None keeps all.

    References
    ----------
    Spärck Jones. A Statistical Interpretation of Term Specificity and Its Application in
    Retrieval. Journal of Documentation, 1972.
    """

    n_init: int = 10
    min_count: int = 1
    max_words: int | None = None

    _least: ClassVar[dict[str, int]] = {**Baseline._least, "n_init": 1, "min_count": 1}

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        if inputs.is_vectors:
            msg = "TF-IDF counts words: X must hold texts, not vectors"
            raise TypeError(msg)
        vectorizer = _vectorizer(min_df=self.min_count, max_features=self.max_words)
        weights = vectorizer.fit_transform(inputs.values)
        model = KMeans(self.n_clusters, n_init=self.n_init, random_state=self.random_state)
        model.fit(weights)
        centers = model.cluster_centers_.astype(np.float32)
        self.encoder_ = space = TfidfSpace(vectorizer, centers)
        products = space.products(weights)
        self.networks_ = Similarities.of(products, np.square(centers).sum(axis=1))
        return products

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> TfidfSpace:
        return TfidfSpace.load(folder)


def _vectorizer(**settings: Any) -> TfidfVectorizer:  # noqa: ANN401
    return TfidfVectorizer(token_pattern=_WORD, dtype=np.float32, **settings)
