"""Words of a text by position, and the draws that choose among them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

_TOKEN = re.compile(r"\S+")
_PREFIXES = frozenset(".#@$")  # .NET, #topic, @name, $5
_SUFFIXES = frozenset("#+%")  # C#, C++, 50%
_MARKS = "".join(_PREFIXES | _SUFFIXES)
# Thai to Tibetan, Burmese, Khmer, kana, Han with its extensions: scripts without spaces.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)


class Word(NamedTuple):
    """A word of a text: its span without punctuation, and the span with it.

    Attributes
    ----------
    text : str
        The bare word.
    start, end : int
        Where the bare word stands.
    outer_start, outer_end : int
        Where it stands with the punctuation attached to it.
    """

    text: str
    start: int
    end: int
    outer_start: int
    outer_end: int


def fold(word: str) -> str:
    """Return the form by which words are compared: no case, accents or marks of a name."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).strip(_MARKS)


def is_letter(character: str) -> bool:
    """Whether a character is a letter or a combining mark (which many scripts need in words)."""
    return unicodedata.category(character)[0] in "LM"


def is_unspaced(text: str) -> bool:
    """Whether `text` has a character of a script that is written without spaces."""
    return _UNSPACED.search(text) is not None


def split_words(text: str) -> list[Word]:
    """Return the words of `text` in order.

    A word is a whitespace-separated token with a letter or digit, without the punctuation around
    it. In scripts written without spaces each character, with its marks, counts as a word.
    """
    words: list[Word] = []
    for token in _TOKEN.finditer(text):
        if is_unspaced(token.group()):
            words.extend(_unspaced_words(text, token.start(), token.end()))
        else:
            word = _bare_word(text, token.start(), token.end())
            if word is not None:
                words.append(word)
    return words


def _bare_word(text: str, outer_start: int, outer_end: int) -> Word | None:
    inside = [i for i in range(outer_start, outer_end) if _in_word(text[i])]
    if not any(text[i].isalnum() for i in inside):
        return None
    start, end = inside[0], inside[-1] + 1
    if start == outer_start + 1 and text[outer_start] in _PREFIXES:
        start = outer_start
    while end < outer_end and text[end] in _SUFFIXES:
        end += 1
    return Word(text[start:end], start, end, outer_start, outer_end)


def _unspaced_words(text: str, start: int, end: int) -> list[Word]:
    """Cut a token at each unspaced character; runs of other characters stay whole words."""
    words: list[Word] = []
    i = start
    while i < end:
        stop = i + 1
        if is_unspaced(text[i]):
            while stop < end and unicodedata.category(text[stop])[0] == "M":
                stop += 1
            if text[i].isalnum():
                words.append(Word(text[i:stop], i, stop, i, stop))
        else:
            while stop < end and not is_unspaced(text[stop]):
                stop += 1
            word = _bare_word(text, i, stop)
            if word is not None:
                words.append(word)
        i = stop
    return words


def _in_word(character: str) -> bool:
    return character.isalnum() or is_letter(character)


def n_changed(rate: float, n_words: int) -> int:
    """Return how many of `n_words` words the rate changes: at least one when there is one."""
    return min(n_words, max(1, round(rate * n_words)))


def replace_words(text: str, replacements: Mapping[Word, str]) -> str:
    """Put new words in the place of old ones; spaces and punctuation stay."""
    pieces: list[str] = []
    position = 0
    for word in sorted(replacements, key=lambda word: word.start):
        pieces += [text[position : word.start], match_case(replacements[word], word.text)]
        position = word.end
    return "".join([*pieces, text[position:]])


def match_case(word: str, like: str) -> str:
    """Give a lower-case word the capitals of the word that it replaces."""
    if not word.islower():
        return word
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


def text_generator(random_state: int, purpose: str, text: str) -> np.random.Generator:
    """Return a generator that depends on the seed, the purpose and the text alone.

    One generator a text makes a view independent of the other texts and of the batch size.
    """
    key = f"{random_state}\0{purpose}\0{text}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(key, digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def draw_words(words: Sequence[Word], size: int, generator: np.random.Generator) -> list[Word]:
    """Draw `size` of the words without replacement and return them in the order of the text."""
    chosen = generator.choice(len(words), size=min(size, len(words)), replace=False)
    return [words[i] for i in sorted(chosen.tolist())]


def check_rate(rate: float) -> None:
    """Raise unless `rate` is a share of the words."""
    if not 0.0 < rate <= 1.0:
        raise ValueError(f"rate must lie in (0, 1], a share of the words, got {rate!r}.")
