"""What the words of the texts say beside the encoder: vectors of shared, rare words (Eq. 36)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from caot.augment.words import is_unspaced
from caot.vectors import unit_rows

_WIDTH = 100
_MAX_WORDS = 50_000
# A word of a single text connects nothing, one of every other text tells nothing.
_LEAST_TEXTS, _MOST_TEXTS = 2, 0.5
_WORD = re.compile(r"\b\w\w+\b")
WORDS_FILES = _WORDS_FILE, _ARRAYS_FILE = "caot_words.json", "caot_words.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words that count in some texts, and what each says.

    Parameters
    ----------
    vocabulary
        V distinct words.
    rarity
        (V,), their inverse document frequency.
    directions
        (V, w): the leading singular vectors of TF-IDF, or the words themselves where they are few;
        those of emphasised words have lengths.
    weight
        The length of a text's vector, where an embedding has 1.

    Examples
    --------
    >>> things = ("door", "window", "gate", "roof", "lock", "wall")
    >>> texts = [f"{verb} the {thing}" for verb in ("lift", "mend") for thing in things]
    >>> words = Words.of(texts, weight=0.5)
    >>> words.vectors(["mend a gate", "nothing known"]).shape
    (2, 8)
    """

    vocabulary: tuple[str, ...]
    rarity: NDArray[np.float32]
    directions: NDArray[np.float32]
    weight: float

    @classmethod
    def of(
        cls, texts: Sequence[str], weight: float, width: int = _WIDTH, *, random_state: int = 0
    ) -> Self | None:
        """Learn words from texts; None if no word counts, as in very few texts."""
        vectorizer = _vectorizer(min_df=_LEAST_TEXTS, max_df=_MOST_TEXTS, max_features=_MAX_WORDS)
        try:
            weights = vectorizer.fit_transform(texts)
        except ValueError:  # no word is left: scikit-learn has no other sign for it
            return None
        directions = np.eye(weights.shape[1], dtype=np.float32)
        if weights.shape[1] > width:
            found = TruncatedSVD(width, random_state=random_state).fit(weights)
            directions = np.ascontiguousarray(found.components_.T)  # or each product copies them
        vocabulary = tuple(vectorizer.get_feature_names_out().tolist())
        return cls(vocabulary, vectorizer.idf_.astype(np.float32), directions, float(weight))

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self.directions.shape[1])

    def emphasised(self, texts: Sequence[str]) -> Self:
        """Return these words, with the directions that many texts share counting for more.

        Each is as long as the square of its singular value, the longest of length 1: texts are
        compared as if each had been smoothed over all that share words with it. In small data rare
        words have directions of their own; this takes their say.
        """
        strength = np.linalg.norm(self._along_directions(texts), axis=0)
        lengths = np.square(strength / strength.max(initial=np.finfo(np.float32).tiny))
        return replace(self, directions=self.directions * lengths)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length ``weight`` for each text, (n, width).

        That of a text without a word that counts is zero.
        """
        return np.float32(self.weight) * unit_rows(self._along_directions(texts))

    def _along_directions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how far the words of each text go in each direction, (n, width)."""
        vectorizer = _vectorizer(vocabulary=self.vocabulary)
        vectorizer.idf_ = self.rarity
        found: NDArray[np.float32] = vectorizer.transform(texts) @ self.directions
        return found

    def digest(self) -> str:
        """Return a sha256 of the content."""
        content = hashlib.sha256(json.dumps([self.weight, *self.vocabulary]).encode())
        for array in (self.rarity, self.directions):
            content.update(np.ascontiguousarray(array).data)
        return content.hexdigest()

    def save(self, folder: Path) -> None:
        """Write the words as JSON, and their numbers as safetensors."""
        content = {"weight": self.weight, "vocabulary": self.vocabulary}
        text = json.dumps(content, ensure_ascii=False)
        (folder / _WORDS_FILE).write_text(text + "\n", encoding="utf-8")
        arrays = {"rarity": self.rarity, "directions": np.ascontiguousarray(self.directions)}
        save_file(arrays, folder / _ARRAYS_FILE)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read what `save` wrote; None if the folder holds no words."""
        path = folder / _WORDS_FILE
        if not path.is_file():
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        arrays = load_file(folder / _ARRAYS_FILE)
        return cls(tuple(content["vocabulary"]), weight=content["weight"], **arrays)


def beside(
    embeddings: NDArray[np.float32], words: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Return unit embeddings with vectors of words beside them (Eq. 36), (n, width + w).

    Without words the embeddings are returned as they are.
    """
    if words is None:
        return embeddings
    return np.concatenate([unit_rows(embeddings), words], axis=1)


def _vectorizer(**settings: Any) -> TfidfVectorizer:  # noqa: ANN401 - as scikit-learn's
    """Return what weighs words, the same way in fitting and in prediction."""
    return TfidfVectorizer(analyzer=words_in, sublinear_tf=True, dtype=np.float32, **settings)


def words_in(text: str) -> list[str]:
    """Return the words of a text that may count: of two letters at least, no English stop words.

    A run of a script without spaces is no word: every two letters that follow one another are.

    Examples
    --------
    >>> words_in("Where is my order?")
    ['order']
    >>> words_in("我的订单")
    ['我的', '的订', '订单']
    """
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if is_unspaced(word):
            found += [word[at : at + 2] for at in range(len(word) - 1)]
        elif word not in ENGLISH_STOP_WORDS:  # which other languages hardly have
            found.append(word)
    return found
