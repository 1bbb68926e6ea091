"""Words replaced by their nearest neighbours among the encoder's own words."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from caot.augment.base import Request, TextAugmenter
from caot.augment.dropout import drop_words
from caot.augment.word_space import Matrix, Neighbors, nearest_words, word_space
from caot.augment.words import (
    check_rate,
    draw_words,
    n_changed,
    replace_words,
    split_words,
    text_generator,
)
from caot.vectors import unit_rows

if TYPE_CHECKING:
    from caot.encoders import Encoder

logger = logging.getLogger("caot.augment")

_MAX_DRAWS = 10  # a second view that equals the first is drawn again this often


@dataclass(frozen=True, slots=True)
class Substitute(TextAugmenter):
    """Replaces words by near neighbours in the encoder's input embedding; no other model.

    In each text max(1, round(rate × words)) words are replaced, or as many as have neighbours:
    words that are one token of the encoder, no function words. A changed text is kept if the
    encoder's vector of it stays close to the original's. One that is not is drawn again with a
    single word replaced; if that fails too, no word has neighbours, or the second view can only
    repeat the first, words are deleted as in `WordDropout`.

    Parameters
    ----------
    rate : float
        Share of the words to replace, in (0, 1].
    n_neighbors : int
        How many neighbours of a word to draw from, all alike.
    min_similarity : float
        The least cosine of a changed text to the original, by the encoder.
    min_word_similarity : float
        The least cosine of a neighbour to its word, in the centred input embedding.
    """

    rate: float = 0.2
    n_neighbors: int = 10
    min_similarity: float = 0.7
    min_word_similarity: float = 0.35
    name: ClassVar[str] = "substitute"

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, got {self.n_neighbors!r}.")
        for field in ("min_similarity", "min_word_similarity"):
            if not -1.0 <= getattr(self, field) < 1.0:
                raise ValueError(f"{field} must lie in [-1, 1), got {getattr(self, field)!r}.")

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        if request.encoder is None:
            raise ValueError(
                "Substitute takes its words from the encoder: pass encoder=..., or use "
                "augmenter='word-dropout', which needs none."
            )
        neighbors = nearest_words(
            word_space(request.encoder),
            (word.text for text in texts for word in split_words(text)),
            n_neighbors=self.n_neighbors,
            min_similarity=self.min_word_similarity,
        )
        vectors = _unit_vectors(texts, request.encoder, request.progress)
        corpus = _Corpus(texts, vectors, neighbors, request.encoder, request.progress)
        first = self._view(corpus, [None] * len(texts), request.random_state, 0)
        return first, self._view(corpus, first, request.random_state, 1)

    def _view(
        self, corpus: _Corpus, unlike: Sequence[str | None], random_state: int, view: int
    ) -> list[str]:
        """Draw one view of all texts, each unlike the given one where that is possible."""
        kept: dict[int, str] = {}
        rows: Sequence[int] = range(len(corpus.texts))
        for attempt, rate in enumerate((self.rate, 0.0)):  # a rate of 0 still changes one word
            drawn: dict[int, str] = {}
            for row in rows:
                text = corpus.texts[row]
                generator = text_generator(random_state, f"substitute {view} {attempt}", text)
                changed = substitute_words(text, corpus.neighbors, rate, generator, unlike[row])
                if changed is not None:
                    drawn[row] = changed
            kept |= corpus.near(drawn, self.min_similarity)
            rows = [row for row in drawn if row not in kept]
        logger.debug(
            "substitute view %d: %d of %d texts had words deleted instead",
            view + 1,
            len(corpus.texts) - len(kept),
            len(corpus.texts),
        )
        return [
            kept[row]
            if row in kept
            else drop_words(text, self.rate, random_state, view, unlike=unlike[row])
            for row, text in enumerate(corpus.texts)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Corpus:
    """The m texts with all that their views are drawn from."""

    texts: list[str]
    vectors: Matrix  # (m, width), rows of length 1
    neighbors: Mapping[str, Neighbors]
    encoder: Encoder
    progress: bool

    def near(self, drawn: Mapping[int, str], min_similarity: float) -> dict[int, str]:
        """Keep of row → changed text those whose vector is close to the original's."""
        if not drawn:
            return {}
        changed = _unit_vectors(list(drawn.values()), self.encoder, self.progress)
        cosine = (changed * self.vectors[list(drawn)]).sum(axis=1)
        return {
            row: text
            for (row, text), similarity in zip(drawn.items(), cosine.tolist(), strict=True)
            if similarity >= min_similarity
        }


def substitute_words(
    text: str,
    neighbors: Mapping[str, Neighbors],
    rate: float,
    generator: np.random.Generator,
    unlike: str | None = None,
) -> str | None:
    """Replace max(1, round(rate × words)) words by neighbours drawn uniformly.

    Returns None if no word has neighbours, or if no draw differs from `unlike`.
    """
    words = split_words(text)
    possible = [word for word in words if word.text in neighbors]
    if not possible:
        return None
    for _ in range(_MAX_DRAWS):
        chosen = draw_words(possible, n_changed(rate, len(words)), generator)
        replacements = {
            word: own[int(generator.integers(len(own)))]
            for word in chosen
            for own in [neighbors[word.text].words]
        }
        changed = replace_words(text, replacements)
        if changed != unlike:
            return changed
    return None


def _unit_vectors(texts: list[str], encoder: Encoder, progress: bool) -> Matrix:
    return unit_rows(encoder.encode(texts, progress=progress))
