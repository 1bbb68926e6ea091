"""Short names for clusters, made of their keywords, each of them unique."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from caot.describe.tokens import term_key
from caot.describe.values import Keyword

SEPARATOR = " · "
MAX_LABEL = 60
EMPTY_LABEL = "Empty texts"

_N_WORDS = 2
_THIRD_WEIGHT = 0.3  # of the first keyword's, for a third one to stand in the label
_SECOND_WEIGHT = 0.1
_MAX_THREE = 40  # characters of a label of three keywords
_MAX_TEXT = 40  # characters of a text that is a label itself
_LOST = {0xFFFD: " "}  # stands for characters that could not be read


def make_labels(
    clusters: Sequence[int],
    keywords: Sequence[tuple[Keyword, ...]],
    texts: Sequence[Sequence[str]],
) -> list[str]:
    """Name clusters by their best two or three keywords.

    Labels that would be the same go on with another keyword. A cluster of one short text, however
    often it is repeated, has that for its name; one without keywords, its commonest text; one of
    empty texts is called so, and one of which nothing can be shown bears its number.

    Parameters
    ----------
    clusters : sequence of int
        The ids.
    keywords, texts : sequences
        Of each cluster.
    """
    parts = [_best(words) for words in keywords]
    _tell_apart(parts, keywords)
    labels = [
        _only_text(texts[i]) or _capitalised(SEPARATOR.join(words)) or _fallback(cluster, texts[i])
        for i, (cluster, words) in enumerate(zip(clusters, parts, strict=True))
    ]
    return numbered(labels)


def numbered(labels: Iterable[str]) -> list[str]:
    """Make labels unique, whatever their case, by numbers in brackets."""
    used: set[str] = set()
    unique = []
    for label in labels:
        name, count = label, 1
        while name.casefold() in used:
            count += 1
            name = f"{label} ({count})"
        used.add(name.casefold())
        unique.append(name)
    return unique


def shorten(text: str, length: int = MAX_LABEL) -> str:
    """Put a text on one line of at most `length` characters, cut between words where possible."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text.translate(_LOST)).split())
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip() + "…"


def _best(keywords: tuple[Keyword, ...]) -> list[str]:
    """Return the terms that a label begins with: one, two or three."""
    if not keywords:
        return []
    heaviest = keywords[0].weight
    best = [one.term for one in keywords[:_N_WORDS] if one.weight >= _SECOND_WEIGHT * heaviest]
    third = keywords[_N_WORDS : _N_WORDS + 1]
    if third and third[0].weight >= _THIRD_WEIGHT * heaviest:
        three = [*best, third[0].term]
        if len(SEPARATOR.join(three)) <= _MAX_THREE:
            return three
    return best


def _tell_apart(parts: list[list[str]], keywords: Sequence[tuple[Keyword, ...]]) -> None:
    """Lengthen the labels that say the same, first by keywords that the others do not have."""
    for _ in range(max(map(len, keywords), default=0)):
        rivals: dict[frozenset[str], list[int]] = {}
        for i, terms in enumerate(parts):
            rivals.setdefault(_words(terms), []).append(i)
        for group in (group for group in rivals.values() if len(group) > 1):
            holders = Counter(one.term for i in group for one in keywords[i])
            for i in group:
                left = [one.term for one in keywords[i] if one.term not in parts[i]]
                if left:
                    parts[i].append(min(left, key=lambda term: holders[term]))


def _words(terms: list[str]) -> frozenset[str]:
    """Return the words of a label: in another order it says the same."""
    return frozenset(word for term in terms for word in term_key(term))


def _only_text(texts: Sequence[str]) -> str:
    """Return the one text that a cluster repeats, if it is short; no keywords say it better."""
    line = shorten(texts[0], _MAX_TEXT + 1)
    if len(line) > _MAX_TEXT:
        return ""
    folded = line.casefold()
    same = all(" ".join(text.split()).casefold() == folded for text in texts)
    return line if same else ""


def _capitalised(label: str) -> str:
    if not label:
        return ""
    first = label.split(" ", maxsplit=1)[0]
    plain = first.replace("-", "").isalpha() and first.islower()
    return label[0].upper() + label[1:] if plain else label


def _fallback(cluster: int, texts: Sequence[str]) -> str:
    if not any(text.strip() for text in texts):
        return EMPTY_LABEL
    lines = Counter(shorten(text) for text in texts)
    del lines[""]
    return min(lines, key=lambda line: (-lines[line], line)) if lines else f"cluster {cluster}"
