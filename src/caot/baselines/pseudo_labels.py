"""When transport makes new pseudo-labels for a whole data set."""

from __future__ import annotations


def solve_times(start: int, end: int, count: int) -> frozenset[int]:
    """Return the iterations of the transports: quadratically spaced from start to before end.

    >>> sorted(solve_times(0, 100, 6))
    [0, 2, 11, 25, 44, 69]
    """
    return frozenset(start + int((end - start) * (j / count) ** 2) for j in range(count))
