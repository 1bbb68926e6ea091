"""Texts with some words said twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from caot.augment.base import Request, TextAugmenter
from caot.augment.words import check_rate, draw_words, split_words, text_generator


@dataclass(frozen=True, slots=True)
class WordRepetition(TextAugmenter):
    """The text itself, and the text with some words said twice, so that lengths differ.

    Up to max(2, rate × words) words, a number drawn anew for each text, are repeated in place.
    """

    rate: float = 0.32
    name: ClassVar[str] = "word-repetition"

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        return texts, [self._repeated(text, request.random_state) for text in texts]

    def _repeated(self, text: str, random_state: int) -> str:
        words = split_words(text)
        generator = text_generator(random_state, self.name, text)
        most = min(len(words), max(2, int(self.rate * len(words))))
        count = int(generator.integers(0, most + 1))
        for word in reversed(draw_words(words, count, generator) if count else []):
            text = f"{text[: word.end]} {text[word.start :]}"
        return text
