"""Which entries of a tokenizer's vocabulary are whole words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from caot.augment.words import is_letter, is_unspaced

_WORD_START = ("Ġ", "▁")  # byte-level BPE and SentencePiece mark the space before a word
_CONTINUATION = "##"  # WordPiece marks the pieces that continue one
_WORD_END = "</w>"  # older BPE marks the end of a word
_ONE_LETTER_WORDS = frozenset("aAiI")


class Tokenizer(Protocol):
    """What is needed of a tokenizer to find its whole words."""

    @property
    def all_special_ids(self) -> Sequence[int]:
        """Ids of the special tokens."""
        ...

    def get_vocab(self) -> Mapping[str, int]:
        """Token → id."""
        ...

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the surface text of tokens."""
        ...


class WholeWords(NamedTuple):
    """The whole words of a vocabulary, by increasing token id.

    Attributes
    ----------
    ids : list of int
        Token ids.
    words : list of str
        Their surface, letters only.
    """

    ids: list[int]
    words: list[str]


def whole_words(tokenizer: Tokenizer) -> WholeWords:
    """Return the tokens that are words on their own: no pieces, digits, punctuation, specials.

    Letters of scripts that are written without spaces count as words with or without the mark
    of a word's beginning, since no space stands before them.
    """
    special = set(tokenizer.all_special_ids)
    vocabulary = {t: i for t, i in tokenizer.get_vocab().items() if i not in special}
    starts_word = _word_test(vocabulary)
    found: list[tuple[int, str]] = []
    for token, token_id in vocabulary.items():
        surface = _surface(token, tokenizer)
        if is_unspaced(surface):
            if len(surface) == 1 and not token.startswith(_CONTINUATION) and is_letter(surface):
                found.append((token_id, surface))
        elif starts_word(token) and _is_word(surface):
            found.append((token_id, surface))
    found.sort()
    return WholeWords([i for i, _ in found], [word for _, word in found])


def _word_test(vocabulary: Mapping[str, int]) -> Callable[[str], bool]:
    """Return the test of a whole word that fits the vocabulary's marks."""
    for mark in _WORD_START:
        if any(token.startswith(mark) and len(token) > 1 for token in vocabulary):
            return lambda token: token.startswith(mark)
    if any(token.startswith(_CONTINUATION) and len(token) > 2 for token in vocabulary):
        return lambda token: not token.startswith(_CONTINUATION)
    if any(token.endswith(_WORD_END) and token != _WORD_END for token in vocabulary):
        return lambda token: token.endswith(_WORD_END)
    return lambda _: True


def _surface(token: str, tokenizer: Tokenizer) -> str:
    bare = token.lstrip("".join(_WORD_START)).removesuffix(_WORD_END)
    if bare.isascii() or token[0] == _WORD_START[1]:
        return bare
    # Byte-level BPE spells other characters by their bytes; only the tokenizer can read them.
    return tokenizer.convert_tokens_to_string([token]).strip()


def _is_word(surface: str) -> bool:
    if len(surface) == 1 and surface.isascii():
        return surface in _ONE_LETTER_WORDS
    return bool(surface) and all(map(is_letter, surface)) and surface[0].isalpha()
