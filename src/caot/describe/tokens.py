"""From a text to the terms that may describe it: words, phrases, runs of characters.

Scripts that are written without spaces have no words to split at. Katakana runs are words;
of Chinese characters and of Thai, Lao, Burmese and Khmer, runs of a few characters are taken, and
hiragana, which mostly carries grammar, is left out.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator

WEAK = "\x01"
"""Stands before a term whose capitals say nothing: it opens a sentence, or all is in capitals."""

_KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff\uff66-\uff9f"
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HIRAGANA = "\u3041-\u309f"
_SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = _KATAKANA + _HAN + _HIRAGANA + _SOUTH_EAST
_RUN_LENGTHS = {"han": range(2, 5), "south_east": range(2, 7)}
_IN_PHRASE = frozenset({"word", "number"})
_LINKS = frozenset({"da", "de", "del", "della", "des", "di", "do", "du", "of"})
_FILLERS = frozenset({"a", "an", "the", "my", "our", "your", "his", "her", "their"})
_BETWEEN = frozenset({"link", "filler"})
_WEB = frozenset({"http", "https", "www"})  # left of broken addresses; HTTP is a word
_MAX_WORD = 50  # characters; longer ones are codes and pasted data

_NOISE = re.compile(
    r"https?://\S+|www\.\S+|\S+@\S+\.\w+|(?<!\w)@\w+|&#?\w+;"
    r"|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|io|co|ly|gov|edu|de|uk|fr|eu)/\S*",
    re.IGNORECASE,
)
_IS_RUN = re.compile(f"[{_HAN}{_SOUTH_EAST}]")
_ENDS_SENTENCE = re.compile(r"[.!?:;|\n]")


@functools.cache
def _token_pattern(*, ascii_only: bool) -> re.Pattern[str]:
    r"""Build the pattern of a token; ``\w`` alone would cut words of many scripts at marks."""
    marks = "".join(
        character
        for character in map(chr, range(0x300, 0x11A00))
        if unicodedata.category(character)[0] == "M"
    )
    unit = r"\w+" if ascii_only else rf"[^\W{_UNSPACED}]+(?:[{marks}]+[^\W{_UNSPACED}]*)*"
    # Joined by a hyphen, dot or ampersand (e-mail, node.js, AT&T), by an apostrophe in Cyrillic, by
    # a slash between capitals (PL/SQL).
    joint = "(?:[-.&]|(?<=[\u0400-\u04ff])['’ʼ]|(?<=[A-Z])/(?=[A-Z]))"
    word = rf"(?P<word>(?:(?<![\w.])\.(?=[^\W\d_]))?{unit}(?:{joint}{unit})*[+#]*)"
    if ascii_only:
        return re.compile(word)
    return re.compile(
        f"(?P<katakana>[{_KATAKANA}]+)|(?P<han>[{_HAN}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
        f"|(?P<south_east>[{_SOUTH_EAST}]+)|{word}"
    )


def without_noise(text: str) -> str:
    """Replace addresses of pages and people, handles and entities by a bar."""
    if any(mark in text for mark in "@/&") or "www." in text:
        return _NOISE.sub(" | ", text)
    return text


def words(text: str) -> list[str]:
    """Return the lower-case words of a text, apart from those of scripts without spaces."""
    found = _tokens(without_noise(text))
    return [match.group().lower() for match in found if match.lastgroup == "word"]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return _token_pattern(ascii_only=text.isascii()).finditer(text)


def is_run(term: str) -> bool:
    """Whether a term is a run of characters of a script without spaces, not words."""
    return _IS_RUN.match(term) is not None


def term_key(term: str) -> tuple[str, ...]:
    """Return the words of a term in the form by which they are compared."""
    folded = unicodedata.normalize("NFKC", term.removeprefix(WEAK)).casefold()
    first, *rest = folded.split(" ")
    words = [first, *(word for word in rest if word not in _LINKS)]
    return tuple(word.replace("-", "") or word for word in words)


class Analyser:
    """Turns a text into its terms; to be called, as scikit-learn's vectorisers do.

    Parameters
    ----------
    stop_words : frozenset of str
        Lower-case words that are no terms, nor part of one.
    ngram_range : (int, int)
        The least and the most words of a term.
    """

    def __init__(self, stop_words: frozenset[str], ngram_range: tuple[int, int]) -> None:
        self._stop_words = stop_words
        self._shortest, self._longest = ngram_range
        self._kinds: dict[str, str] = {}
        unspaced = sorted((word for word in stop_words if is_run(word)), key=len, reverse=True)
        self._cut = re.compile("|".join(map(re.escape, unspaced))) if unspaced else None

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text, with repeats."""
        terms: list[str] = []
        phrase: list[tuple[str, str]] = []  # words, each with the link before it
        text = without_noise(text)
        shouted = text.isupper()
        weak, end, link = True, 0, ""
        for match in _tokens(text):
            token, gap = match.group(), text[end : match.start()]
            opens = end == 0 or (gap != " " and _ENDS_SENTENCE.search(gap) is not None)
            end = match.end()
            kind = self._kinds.get(token)
            if kind is None:
                kind = self._kinds[token] = self._kind(token, match.lastgroup or "word")
            links = bool(phrase) and not link and kind in _BETWEEN
            if phrase and not ((kind in _IN_PHRASE or links) and gap.isspace()):
                self._add_phrases(terms, phrase, weak)
                phrase, links = [], False
            if kind == "word" or (kind == "number" and phrase):
                if not phrase:
                    weak, link = opens or shouted, ""
                phrase.append((link, token))
            elif kind in _RUN_LENGTHS:
                terms += self._runs(token, kind)
            link = f"{token} " if links and kind == "link" else ""
        self._add_phrases(terms, phrase, weak)
        return terms

    def _kind(self, token: str, group: str) -> str:
        """Return the kind of a token, a key of the run lengths, or "" for what is left out.

        A "number", which may also be a capital (Windows 7, OS X), says nothing alone. A "link" is
        a stop word that may stand between the words of a phrase (mot de passe), a "filler" one
        that a phrase is written without (cancel my order).
        """
        if group in _RUN_LENGTHS:
            return group
        if group == "hiragana" or len(token) > _MAX_WORD:
            return ""
        if token.lower() in self._stop_words or token in _WEB:
            return "link" if token in _LINKS else "filler" if token in _FILLERS else ""
        if len(token) == 1:
            return "number" if token.isdecimal() or token.isupper() else ""
        if not any(character.isalpha() for character in token):
            return "number" if token[0].isdecimal() else ""
        return "word"

    def _add_phrases(self, terms: list[str], words: list[tuple[str, str]], weak: bool) -> None:
        """Add the n-grams of adjacent words; numbers only stand inside a phrase, never first."""
        for start, (_, first) in enumerate(words):
            if self._kinds[first] != "word":
                continue
            mark = WEAK if weak and start == 0 and first[0].isupper() else ""
            term = mark + first
            if self._shortest == 1:
                terms.append(term)
            for size, (link, word) in enumerate(words[start + 1 : start + self._longest], 2):
                term = f"{term} {link}{word}"
                if size >= self._shortest:
                    terms.append(term)

    def _runs(self, run: str, kind: str) -> Iterator[str]:
        for piece in self._cut.split(run) if self._cut else [run]:
            units = _units(piece)
            for size in _RUN_LENGTHS[kind]:
                for start in range(len(units) - size + 1):
                    yield "".join(units[start : start + size])


def _units(run: str) -> list[str]:
    """Cut a run into characters, each with the marks that belong to it."""
    units: list[str] = []
    for character in run:
        if units and unicodedata.category(character)[0] == "M":
            units[-1] += character
        else:
            units.append(character)
    return units
