"""Texts made safe for a page: nothing in them is markup, code, or breaks the file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

# Control characters are shown by their pictures (U+2400 on); tab and line ends are kept.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# "<" could end the script element, the separators end lines in old readers of scripts.
_IN_SCRIPT = tuple((char, f"\\u{ord(char):04x}") for char in "<>&\u2028\u2029")
_CUTS = (1000, 700, 500, 350, 250, 180, 120, 80, 60, 40)


def clean(text: str) -> str:
    """Return ``text`` as valid Unicode that a page can show."""
    if not _ODD.search(text):
        return text
    return _SURROGATES.sub("\ufffd", text.translate(_CONTROLS))


def cut(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of ``text``, the last an ellipsis if any are missing."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def script_json(value: object) -> str:
    """Return JSON that may stand inside a script element."""
    encoded = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char, escape in _IN_SCRIPT:
        encoded = encoded.replace(char, escape)
    return encoded


def fit_texts(texts: Sequence[str], budget: int) -> tuple[list[str], int]:
    """Return the texts, clean and cut so that their JSON fits ``budget`` bytes, and the cut.

    The shortest cut, 40 characters, is taken even where it does not fit.
    """
    limit = _CUTS[0]
    shown = [clean(cut(text, limit)) for text in texts]
    while limit > _CUTS[-1] and (size := len(script_json(shown).encode())) > budget:
        # The next cut that fits if all characters take as many bytes as these did on average.
        room = budget * sum(map(len, shown)) / size
        shorter = [each for each in _CUTS if each < limit]
        fits = (each for each in shorter if sum(min(len(text), each) for text in shown) <= room)
        limit = next(fits, _CUTS[-1])
        shown = [cut(text, limit) for text in shown]
    return shown, limit
