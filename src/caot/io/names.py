"""Names of columns: those of texts, those that are free, those that are one another's twins."""

from __future__ import annotations

import re
from collections.abc import Iterable

# The likelier first: of several columns with such names, the first in this order is taken.
TEXT_NAMES = (
    "text",
    "texts",
    "title",
    "query",
    "subject",
    "message",
    "body",
    "content",
    "question",
    "sentence",
    "headline",
    "tweet",
    "comment",
    "review",
    "description",
    "utterance",
    "document",
    "summary",
)
_OURS = "_caot"


def plain_name(name: str) -> str:
    """Return a name in small letters without the white space around it."""
    return name.strip().casefold()


def last_word(name: str) -> str:
    """Return the last word of a name such as ``ticket_subject`` or ``Ticket Subject``."""
    return re.split(r"[\W_]+", plain_name(name))[-1]


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names, repeated ones numbered: ``a, a, b`` gives ``a, a_2, b``."""
    given = list(names)
    taken = set(given)
    seen: set[str] = set()
    unique = []
    for name in given:
        free = _numbered(name, taken) if name in seen else name
        taken.add(free)
        seen.add(free)
        unique.append(free)
    return unique


def added_names(existing: Iterable[str], ours: Iterable[str]) -> dict[str, str]:
    """Return the name that each of our columns gets in a user's table.

    A name that the table has already gets the suffix ``_caot``, and a number after it when that
    is taken too: the user's columns keep their names.
    """
    taken = set(existing)
    wanted = list(ours)
    reserved = taken | set(wanted)
    chosen: dict[str, str] = {}
    for name in wanted:
        free = name
        if name in taken:
            free = (
                name + _OURS if name + _OURS not in reserved else _numbered(name + _OURS, reserved)
            )
        reserved.add(free)
        chosen[name] = free
    return chosen


def _numbered(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
