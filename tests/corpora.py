"""Small corpora whose clusters are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_VOCABULARY = 8
_LENGTH = 6


class Corpus(NamedTuple):
    """Texts, their topics (n,), and two views of each text."""

    texts: list[str]
    labels: NDArray[np.int64]
    first: list[str]
    second: list[str]


def topic_texts(n_per_topic: int, n_topics: int = 4, seed: int = 0) -> Corpus:
    """Return texts of topics with disjoint vocabularies, in random order.

    The first view drops one of the words, the second swaps one for another of the same topic.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_topics), n_per_topic))
    texts, first, second = [], [], []
    for topic in labels:
        vocabulary = [f"topic{topic}word{i}" for i in range(_VOCABULARY)]
        words = rng.permutation(vocabulary).tolist()
        words, other, place = words[:_LENGTH], words[_LENGTH], int(rng.integers(_LENGTH))
        texts.append(" ".join(words))
        first.append(" ".join(words[:place] + words[place + 1 :]))
        second.append(" ".join([*words[:place], other, *words[place + 1 :]]))
    return Corpus(texts, labels, first, second)
