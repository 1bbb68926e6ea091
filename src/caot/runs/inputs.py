"""Texts of a run, checked before any long work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from caot.describe import LANGUAGES, detect_language
from caot.encoders import EmbeddingCache, load_encoder
from caot.io import TextTable
from caot.io.columns import joined_texts
from caot.io.frames import column_index
from caot.runs.errors import RunError
from caot.suggest import KSuggestion, suggest_k
from caot.texts import empty_rows, listed

MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
SAMPLE = 5000  # as many texts as a curve over K looks at

_OTHERS = {"ko": "Korean", "he": "Hebrew", "hi": "Hindi"}  # known by their script alone


def table_of(
    columns: Mapping[str, Sequence[object]], text: str, *, source: str = "the texts"
) -> TextTable:
    """Return a table made of columns in memory, with the texts in one of them."""
    frame = pd.DataFrame(dict(columns))
    frame.columns = column_index(columns)
    return TextTable(frame, joined_texts(frame, (text,)), (text,), None, source)


def check_texts(table: TextTable, n_clusters: int | str, on_empty: str) -> None:
    """Raise if texts are empty and may not be, or if there are more clusters than texts."""
    empty = empty_rows(list(table.texts))
    if on_empty == "error" and empty.any():
        rows = (np.flatnonzero(empty) + 1).tolist()
        msg = (
            f"{len(rows)} of the {len(table)} texts of {table.source} are empty, in rows "
            f"{listed(rows)} (counted from 1, a header left out): fill or remove them, or give "
            "them a cluster of their own with --on-empty own-cluster"
        )
        raise RunError(msg)
    n_distinct = len({text for text, skip in zip(table.texts, empty, strict=True) if not skip})
    least = 2 if n_clusters == "auto" else int(n_clusters)
    if n_distinct < least:
        way_out = f"ask for at most {n_distinct}" if n_distinct >= 2 else "more texts are needed"
        msg = f"{table.source} has {n_distinct} distinct texts, fewer than {least} clusters: "
        raise RunError(msg + way_out)


def not_english(texts: Sequence[str], encoder: str) -> str | None:
    """Return a warning if the encoder is the embedded English one and most texts are not."""
    if encoder != "auto":
        return None
    code, share = detect_language(texts)
    if code is None or (code == "en" and share >= 0.5):
        return None
    name = LANGUAGES.get(code) or _OTHERS.get(code, code)
    what = f"most texts look {name}" if code != "en" else "half of the texts do not look English"
    return f"{what}, but the embedded encoder knows English alone: use --encoder {MULTILINGUAL}"


def suggest_for(
    texts: Sequence[str],
    *,
    encoder: str = "auto",
    max_length: int | None = None,
    max_chunks: int | None = None,
    k_values: Sequence[int] | None = None,
    random_state: int = 0,
    local_files_only: bool = False,
) -> KSuggestion:
    """Recommend a number of clusters for texts; their vectors are kept for the next time."""
    filled = [text for text, empty in zip(texts, empty_rows(list(texts)), strict=True) if not empty]
    distinct = list(dict.fromkeys(filled))
    if len(distinct) > SAMPLE:
        rows = np.random.default_rng(random_state).permutation(len(distinct))[:SAMPLE]
        distinct = [distinct[row] for row in np.sort(rows).tolist()]
    model = load_encoder(
        encoder,
        max_length=max_length,
        max_chunks=max_chunks,
        local_files_only=local_files_only,
    )
    vectors = EmbeddingCache().get(model, distinct)
    return suggest_k(vectors, k_values=k_values, random_state=random_state)
