"""Plain text, one text a line, to frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pandas as pd

COLUMN = "text"


def text_frames(lines: Iterable[str], chunk_rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield frames of at most ``chunk_rows`` texts; all at once for None.

    Every line is a row, blank ones too: row i is line i + 1 of the file.
    """
    texts = (line.removesuffix("\n").removesuffix("\r") for line in lines)
    while chunk := list(islice(texts, chunk_rows)):
        yield pd.DataFrame({COLUMN: chunk}, dtype=object)
