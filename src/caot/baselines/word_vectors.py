"""Word vectors: learned on the corpus at hand, or read from a file in word2vec's text format."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from caot.augment.words import split_words

# Contexts are smoothed by this power, so that rare ones do not look all too telling.
_SMOOTHING = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words, their vectors and how often each occurred.

    Parameters
    ----------
    words
        V distinct words.
    vectors
        (V, width) float32.
    counts
        (V,) occurrences in the corpus.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    counts: NDArray[np.int64]

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    def ids(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the numbers of the known words of each text, in order."""
        number = {word: row for row, word in enumerate(self.words)}
        return [[number[w] for w in words_of(text) if w in number] for text in texts]

    @classmethod
    def learn(
        cls,
        texts: Sequence[str],
        width: int,
        *,
        window: int = 5,
        min_count: int = 2,
        random_state: int = 0,
    ) -> Self:
        """Factorise the positive pointwise mutual information of words that stand together.

        Parameters
        ----------
        texts
            The corpus.
        width
            The length of a vector; less if there are fewer words.
        window
            Words at most so far apart stand together.
        min_count
            Rarer words are left out.
        random_state
            Seed of the decomposition.
        """
        tokens = [words_of(text) for text in texts]
        found = Counter(word for words in tokens for word in words)
        words = tuple(sorted(w for w, count in found.items() if count >= min_count))
        counts = np.array([found[word] for word in words], dtype=np.int64)
        if len(words) < 2:
            msg = f"fewer than two words occur {min_count} times: there is nothing to learn from"
            raise ValueError(msg)
        number = {word: row for row, word in enumerate(words)}
        rows = [[number[word] for word in text if word in number] for text in tokens]
        information = ppmi(co_occurrences(rows, len(words), window))
        size = min(width, len(words) - 1)
        left, values, _ = randomized_svd(information, size, random_state=random_state)
        return cls(words, (left * np.sqrt(values)).astype(np.float32), counts)

    @classmethod
    def read(cls, path: str | os.PathLike[str], texts: Sequence[str]) -> Self:
        """Read the vectors of the words that occur in the texts."""
        found = Counter(word for text in texts for word in words_of(text))
        words: list[str] = []
        rows: list[NDArray[np.float32]] = []
        with Path(path).open(encoding="utf-8") as file:
            for line in file:
                word, *numbers = line.rstrip().split(" ")
                is_header = len(numbers) < 2
                if is_header or word.casefold() not in found or word.casefold() in words:
                    continue
                words.append(word.casefold())
                rows.append(np.array(numbers, dtype=np.float32))
        if not words or len({len(row) for row in rows}) > 1:
            msg = f"{path} holds no vectors of the texts' words in word2vec's text format: "
            msg += "one word a line, then its numbers"
            raise ValueError(msg)
        counts = np.array([found[word] for word in words], dtype=np.int64)
        return cls(tuple(words), np.stack(rows), counts)


def words_of(text: str) -> list[str]:
    """Return the words of a text, without case."""
    return [word.text.casefold() for word in split_words(text)]


def co_occurrences(
    rows: Sequence[Sequence[int]], n_words: int, window: int
) -> scipy.sparse.csr_array:
    """Count how often two words stand at most ``window`` apart in a text, (V, V), symmetric."""
    flat = np.fromiter((word for row in rows for word in row), np.int64)
    text = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    total = scipy.sparse.csr_array((n_words, n_words), dtype=np.float64)
    for distance in range(1, window + 1):
        together = text[distance:] == text[:-distance]
        first, second = flat[:-distance][together], flat[distance:][together]
        pairs = (np.ones(len(first)), (first, second))
        total = total + scipy.sparse.csr_array(pairs, shape=total.shape)
    return scipy.sparse.csr_array(total + total.T)


def ppmi(counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return max(0, log P(w, c)/(P(w) P(c))) of co-occurrence counts, (V, V)."""
    table = scipy.sparse.coo_array(counts)
    words = np.asarray(counts.sum(axis=1)).ravel()
    contexts = words**_SMOOTHING
    expected = words[table.row] * contexts[table.col] / contexts.sum()
    values = np.maximum(np.log(table.data / expected), 0)
    information = scipy.sparse.csr_array((values, (table.row, table.col)), shape=counts.shape)
    information.eliminate_zeros()
    return information
