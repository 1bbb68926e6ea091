"""What to tell a user who wrote a name that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the way out of a misspelt name: the nearest one, or all where none is near.

    Examples
    --------
    >>> nearest_name("man", ["main", "other"])
    "did you mean 'main'?"
    >>> nearest_name("x", ["main", "other"])
    'choose one of main, other'
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(names)}"
