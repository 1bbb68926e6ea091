"""How texts are read: by their embeddings alone, or with words beside them, as they let one see."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from caot.inputs import Values
from caot.preparation import Embeddings, Preparation
from caot.settings import FitSettings
from caot.start import Beginning, begin
from caot.words import Words, beside

logger = logging.getLogger("caot")

Kind: TypeAlias = Literal["alone", "with words", "with emphasised words"]

Rows: TypeAlias = NDArray[np.int64] | slice
_ALL = slice(None)
# Inputs that are read in every way to find the best; more would take minutes.
ASKED_ROWS = 20_000
# So much modularity is taken off each kind: words that topics share make clusters of their own, and
# emphasis makes tight clusters of almost any words.
HANDICAPS = MappingProxyType({"alone": 0.0, "with words": 0.01, "with emphasised words": 0.03})


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What training sees of the inputs that are not empty, and what it begins with.

    Parameters
    ----------
    kind
        How the embeddings are read.
    words
        The words that count beside them, if any do.
    words_of_views
        Vectors of the words of the inputs, and of their views where there are texts of them.
    beginning
        V(0) before training, their first clusters, and their neighbours.
    """

    kind: Kind
    words: Words | None
    words_of_views: tuple[Embeddings, ...] | None
    beginning: Beginning

    @property
    def vectors(self) -> Embeddings:
        """V(0) before training, (n, width)."""
        return self.beginning.vectors

    @property
    def merit(self) -> float:
        """How well the first clusters stand out, less the handicap of this kind of reading."""
        return self.beginning.modularity - HANDICAPS[self.kind]


def read(settings: FitSettings, prepared: Preparation, n_clusters: int) -> Reading:
    """Read embeddings alone or with words beside them (Eq. 36), as the settings say.

    Where these leave it open, the reading with the greatest merit is taken. Of more than 20,000
    inputs that many, drawn at random, decide.
    """
    reader = _Reader(settings, prepared, n_clusters)
    kinds, n = reader.kinds(), len(prepared.vectors)
    if len(kinds) > 1 and n > ASKED_ROWS:
        rng = np.random.default_rng(int(settings.random_state))
        drawn = np.sort(rng.choice(n, ASKED_ROWS, replace=False))
        chosen = reader.best(kinds, drawn).kind
        kinds = {chosen: kinds[chosen]}
    best = reader.best(kinds)
    logger.info("texts are read by their embeddings %s", best.kind)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Reader:
    """Reads inputs, or some of them, in different ways; ``rows`` count those that are not empty."""

    settings: FitSettings
    prepared: Preparation
    n_clusters: int

    def kinds(self) -> dict[Kind, Words | None]:
        """Return the kinds of reading that the settings leave open, each with its words."""
        settings, inputs, words = self.settings, self.prepared.inputs, None
        if settings.word_weight > 0 and not inputs.is_vectors:
            texts = self._texts(inputs.values)
            words = Words.of(texts, settings.word_weight, random_state=int(settings.random_state))
        if words is None:
            return {"alone": None}
        if not settings.asks_whether_words_help:
            return {"with words": words}
        emphasised = words.emphasised(texts)
        return {"alone": None, "with words": words, "with emphasised words": emphasised}

    def best(self, kinds: Mapping[Kind, Words | None], rows: Rows = _ALL) -> Reading:
        """Return the reading with the greatest merit."""
        # One after the other: each holds as many numbers as the embeddings do.
        readings = (self.read(kind, words, rows) for kind, words in kinds.items())
        return max(readings, key=lambda reading: reading.merit)

    def read(self, kind: Kind, words: Words | None, rows: Rows) -> Reading:
        """Return one reading, with its first clusters."""
        prepared, settings, said = self.prepared, self.settings, None
        vectors = prepared.vectors[rows]
        if words is not None:
            columns = (prepared.inputs.values, *(prepared.views or ()))
            said = tuple(words.vectors(self._texts(column, rows)) for column in columns)
            vectors = beside(vectors, said[0])
        beginning = begin(
            vectors,
            self.n_clusters,
            settings.start,
            with_neighbours=settings.neighbour_weight(self.n_clusters) > 0,
            random_state=int(settings.random_state),
        )
        if settings.start.kind == "neighbours":
            fit = beginning.modularity
            logger.info("embeddings %s: modularity %.3f of the first clusters", kind, fit)
        return Reading(kind, words, said, beginning)

    def _texts(self, column: Values, rows: Rows = _ALL) -> list[str]:
        return [column[row] for row in self.prepared.inputs.filled[rows]]
