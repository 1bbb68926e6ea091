"""What the methods on word vectors share: their settings, the vectors, the training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from caot.baselines.learned import LearnedMethod
from caot.baselines.training import Loop, Objective
from caot.baselines.word_vectors import WordVectors
from caot.inputs import Inputs
from caot.training import Callback


@dataclass(eq=False, repr=False, kw_only=True)
class WordMethod(LearnedMethod):
    """Learns from word vectors; no encoder has a part in it.

    Parameters
    ----------
    word_vectors
        A file in word2vec's text format; None learns vectors on the texts.
    n_word_features, window, min_count
        Length of learned word vectors, how far apart words may stand, how often they must occur.
    max_iter
        Iterations.
    """

    word_vectors: str | os.PathLike[str] | None = None
    n_word_features: int = 48
    window: int = 5
    min_count: int = 2
    max_iter: int = 1000
    learning_rate: float = 1e-3

    _least: ClassVar[dict[str, int]] = {
        **LearnedMethod._least,
        **dict.fromkeys(("window", "min_count", "max_iter"), 1),
        "n_word_features": 4,
    }

    def _words(self, inputs: Inputs) -> WordVectors:
        """Return the vectors of the words: as given, or learned on the texts."""
        if inputs.is_vectors:
            msg = f"{type(self).__name__} reads words: X must hold texts, not vectors"
            raise TypeError(msg)
        if self.word_vectors is not None:
            return WordVectors.read(self.word_vectors, inputs.values)
        return WordVectors.learn(
            inputs.values,
            self.n_word_features,
            window=self.window,
            min_count=self.min_count,
            random_state=self.random_state,
        )

    def _learn(
        self, objective: Objective, n_iter: int, n_samples: int, callbacks: Sequence[Callback]
    ) -> None:
        """Train on all texts."""
        loop = Loop(n_iter, self.batch_size, self.random_state, n_clusters=self.n_clusters)
        self._run(loop, objective, n_samples, callbacks)
