"""Function words of many languages: as stop words, and to tell which language texts are in."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from caot.describe.tokens import words

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "Arabic",
        "cs": "Czech",
        "da": "Danish",
        "de": "German",
        "el": "Greek",
        "en": "English",
        "es": "Spanish",
        "fi": "Finnish",
        "fr": "French",
        "hu": "Hungarian",
        "id": "Indonesian",
        "it": "Italian",
        "ja": "Japanese",
        "nl": "Dutch",
        "no": "Norwegian",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sv": "Swedish",
        "th": "Thai",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "zh": "Chinese",
    }
)
"""The languages whose function words are known, by their ISO 639-1 codes."""

_SCRIPTS = (  # Kana come first: Japanese has Chinese characters too.
    ("ja", re.compile("[\u3041-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_IN_SCRIPT = 0.2  # of the letters, for the script to tell the language
_COVERAGE = 0.08  # of the words; real texts have 0.2 to 0.5, an unknown language next to nothing
_PRESENT = 0.1  # of the texts, for a language to count among those of a mixed collection
_SAMPLE = 2000


@functools.cache
def function_words(code: str) -> frozenset[str]:
    """Return the function words of a language, by its code."""
    listed = importlib.resources.files(__package__) / "stop_words" / f"{code}.txt"
    return frozenset(listed.read_text(encoding="utf-8").split())


def detect_language(texts: Sequence[str]) -> tuple[str | None, float]:
    """Tell which language most of the texts are in.

    Each text is given to the language whose function words it has most of, or, for Chinese,
    Japanese, Thai, Korean, Hebrew and Hindi, to that of its script. Texts without either say
    nothing. At most 2,000 texts are read, evenly spaced.

    Returns
    -------
    code : str or None
        The commonest language; None where too few function words were found to tell.
    share : float
        Its part of the texts that say something; 0 without a language.
    """
    votes = _votes(texts)
    if not votes.texts:
        return None, 0.0
    code, count = votes.texts.most_common(1)[0]
    told_by_script = code in {script for script, _ in _SCRIPTS}
    if not told_by_script and votes.coverage[code] < _COVERAGE:
        return None, 0.0
    return code, count / votes.texts.total()


def resolve_stop_words(
    stop_words: str | Iterable[str] | None, texts: Sequence[str]
) -> frozenset[str]:
    """Return the lower-case stop words that a setting stands for.

    Parameters
    ----------
    stop_words : "auto", str, iterable of str or None
        "auto" takes the function words of every language that at least a tenth of the texts are
        in; a code or English name ("de", "german") takes that language's; several of these, all
        of them; other words stand for themselves; None is no stop words.
    texts : sequence of str
        Read by "auto" alone.
    """
    if stop_words is None:
        return frozenset()
    if stop_words == "auto":
        votes = _votes(texts).texts
        present = [code for code, count in votes.items() if count >= _PRESENT * votes.total()]
        return _union(code for code in present if code in LANGUAGES)
    if isinstance(stop_words, str):
        return function_words(_code(stop_words))
    listed = list(stop_words)
    if any(not isinstance(word, str) for word in listed):
        msg = "stop_words holds something that is not a string: list words, or codes of languages"
        raise TypeError(msg)
    if listed and all(_known(word) for word in listed):
        return _union(_code(word) for word in listed)
    return frozenset(word.lower() for word in listed)


@dataclass(frozen=True, slots=True)
class _Votes:
    """How many texts each language has, and each language's part of all words."""

    texts: Counter[str]
    coverage: Mapping[str, float]


def _votes(texts: Sequence[str]) -> _Votes:
    """Give every text of a sample to a language, where it says something."""
    step = max(1, -(-len(texts) // _SAMPLE))
    votes: Counter[str] = Counter()
    found: Counter[str] = Counter()
    undecided: list[Counter[str]] = []
    n_words = 0
    for text in texts[::step]:
        script = _script(text)
        if script is not None:
            votes[script] += 1
            continue
        tokens = words(text)
        hits = Counter(code for token in tokens for code in _languages_of_word().get(token, ()))
        n_words += len(tokens)
        found += hits
        if hits:
            undecided.append(hits)
    coverage = {code: count / n_words for code, count in found.items()}
    for hits in undecided:
        # Near languages share words and short texts have few: the collection decides with them.
        votes[max(hits, key=lambda code: hits[code] * (_PRESENT + coverage[code]))] += 1
    return _Votes(votes, coverage)


@functools.cache
def _languages_of_word() -> dict[str, tuple[str, ...]]:
    """Return the languages that each function word belongs to."""
    table: dict[str, tuple[str, ...]] = {}
    for code in LANGUAGES:
        for word in function_words(code):
            table[word] = (*table.get(word, ()), code)
    return table


def _script(text: str) -> str | None:
    """Return the language that the letters alone tell, if they do."""
    if text.isascii():
        return None
    letters = sum(character.isalpha() for character in text)
    for code, pattern in _SCRIPTS:
        if len(pattern.findall(text)) > _IN_SCRIPT * letters:
            return code
    return None


def _union(codes: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(function_words(code) for code in codes))


def _known(name: str) -> bool:
    return name.lower() in LANGUAGES or name.title() in LANGUAGES.values()


def _code(name: str) -> str:
    """Return the code of a language given by code or English name."""
    for code, language in LANGUAGES.items():
        if name.lower() in {code, language.lower()}:
            return code
    msg = (
        f"stop_words is {name!r}, no language whose function words are known: choose 'auto', None, "
        f"a list of words, or one of {', '.join(LANGUAGES)}"
    )
    raise ValueError(msg)
