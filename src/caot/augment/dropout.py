"""Views without any model: the same text twice, or with words deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from caot.augment.base import Request, TextAugmenter
from caot.augment.words import check_rate, draw_words, n_changed, split_words, text_generator

_MAX_DRAWS = 10  # a second view that equals the first is drawn again this often


@dataclass(frozen=True, slots=True)
class Dropout(TextAugmenter):
    """The same text twice; the views differ by the dropout of the trained encoder alone."""

    name: ClassVar[str] = "dropout"
    identical: ClassVar[bool] = True

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        return texts, texts


@dataclass(frozen=True, slots=True)
class WordDropout(TextAugmenter):
    """Deletes words; at least one of each text is kept.

    Each view loses max(1, round(rate × words)) words, so that a text of two words or more always
    changes. A second view that came out equal to the first is drawn again.

    Parameters
    ----------
    rate : float
        Share of the words to delete, in (0, 1].
    """

    rate: float = 0.2
    name: ClassVar[str] = "word-dropout"

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        seed = request.random_state
        first = [drop_words(text, self.rate, seed, 0) for text in texts]
        second = [
            drop_words(text, self.rate, seed, 1, unlike=other)
            for text, other in zip(texts, first, strict=True)
        ]
        return first, second


def drop_words(
    text: str, rate: float, random_state: int, view: int, *, unlike: str | None = None
) -> str:
    """Delete max(1, round(rate × words)) words of `text`, at most all but one.

    Parameters
    ----------
    text : str
        The original text.
    rate : float
        Share of the words to delete.
    random_state, view : int
        Seed and view of the draw.
    unlike : str, optional
        A view that the result should differ from, when any other draw exists.
    """
    words = split_words(text)
    if len(words) < 2:
        return text
    size = min(n_changed(rate, len(words)), len(words) - 1)
    generator = text_generator(random_state, f"word-dropout {view}", text)
    for _ in range(_MAX_DRAWS):
        shortened = text
        for word in reversed(draw_words(words, size, generator)):
            shortened = _delete(shortened, word.outer_start, word.outer_end)
        if shortened != unlike:
            break
    return shortened


def _delete(text: str, start: int, end: int) -> str:
    """Delete a span with the space before it, or after it at the beginning of the text."""
    before, after = text[:start], text[end:]
    if not after or after[0].isspace():
        before = before.rstrip()
    return before + after if before else after.lstrip()
