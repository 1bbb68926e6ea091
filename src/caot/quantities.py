"""Amounts as people write them: times and sizes of memory."""

from __future__ import annotations

import math
import re
from numbers import Real

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZES = {"MB": 1e6, "GB": 1e9, "TB": 1e12}


def seconds(budget: float | str | None) -> float:
    """Return a time budget in seconds: a number, "90", "90s", "10min", "2h"; infinity for None."""
    if budget is None:
        return math.inf
    if isinstance(budget, Real) and not isinstance(budget, bool) and float(budget) > 0:
        return float(budget)
    match = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", budget)
        if isinstance(budget, str)
        else None
    )
    if match is None or match[2] not in _UNITS or float(match[1]) == 0:
        msg = (
            f"time_budget must be seconds or a text such as '10min', '90s' or '2h', got {budget!r}"
        )
        raise ValueError(msg)
    return float(match[1]) * _UNITS[match[2]]


def n_bytes(size: float | str) -> float:
    """Return a size in bytes: a number, or a text such as "500MB" or "2GB"."""
    if isinstance(size, Real) and not isinstance(size, bool) and float(size) >= 0:
        return float(size)
    match = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", size)
        if isinstance(size, str)
        else None
    )
    if match is None or match[2].upper() not in _SIZES:
        msg = f"cache_memory must be bytes or a text such as '500MB' or '2GB', got {size!r}"
        raise ValueError(msg)
    return float(match[1]) * _SIZES[match[2].upper()]
