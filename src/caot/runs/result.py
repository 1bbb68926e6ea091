"""The answer of a run: which text is in which cluster, and what the clusters are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caot.describe import ClusterDescription, Description, Keyword, cluster_info, document_info
from caot.io import TextTable, add_columns
from caot.io.cells import as_text, is_missing, python_values

ADDED = ("cluster", "label", "confidence", "second_cluster", "second_confidence")
"""What our columns hold, in their order."""

_BETWEEN_EXAMPLES = " | "


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """A table of n texts with their clusters.

    Attributes
    ----------
    table
        The texts and all columns of the input.
    labels
        (n,) the clusters; −1 where the confidence is below the minimum.
    probabilities
        (n, k) of every cluster.
    embeddings
        (n, width) the texts' vectors.
    description
        The clusters in words.
    """

    table: TextTable
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    embeddings: NDArray[np.float32]
    description: Description

    def document_info(self) -> pd.DataFrame:
        """Return cluster, label, confidence and second choice of each text, (n, 5)."""
        return document_info(self.description, self.table.texts, self.probabilities, self.labels)

    def assignments(self) -> pd.DataFrame:
        """Return the input's columns and ours beside them, in input order.

        A column of texts that held other values too, as JSONL can, holds them as texts, so that it
        is read again as it was clustered.
        """
        frame = self.table.frame.copy(deep=False)
        for name in self.table.text_columns:
            if _is_mixed(frame[name]):
                frame[name] = _as_texts(frame[name])
        return add_columns(frame, self.document_info())


def _is_mixed(column: pd.Series) -> bool:
    """Tell whether a column without a type of its own holds texts and other values."""
    values = [value for value in python_values(column) if not is_missing(value)]
    strings = [isinstance(value, str) for value in values]
    return column.dtype == object and any(strings) and not all(strings)


def _as_texts(column: pd.Series) -> pd.Series:
    texts = [None if is_missing(value) else as_text(value) for value in python_values(column)]
    return pd.Series(texts, index=column.index, dtype=object)


def clusters_for_reading(description: Description, texts: tuple[str, ...]) -> pd.DataFrame:
    """Return one row a cluster for a spreadsheet: keywords and examples as one cell each."""
    frame = cluster_info(description, texts)
    frame["keywords"] = [", ".join(words) for words in frame["keywords"]]
    frame["examples"] = [_BETWEEN_EXAMPLES.join(few) for few in frame["examples"]]
    return frame


def clusters_for_programs(description: Description, texts: tuple[str, ...]) -> pd.DataFrame:
    """Return one row a cluster with everything a description holds."""
    frame = cluster_info(description, texts)
    clusters = description.clusters
    frame["keyword_weights"] = [[word.weight for word in one.keywords] for one in clusters]
    frame["example_rows"] = [list(one.examples) for one in clusters]
    frame["doubtful_rows"] = [list(one.doubtful) for one in clusters]
    nearest = pd.Series([[list(pair) for pair in one.nearest] for one in clusters], dtype=object)
    return frame.assign(nearest=nearest)


def description_from(rows: list[dict[str, Any]]) -> Description:
    """Return the description that `clusters_for_programs` made rows of."""
    return Description(
        tuple(
            ClusterDescription(
                cluster=int(row["cluster"]),
                label=row["label"],
                keywords=tuple(map(Keyword, row["keywords"], row["keyword_weights"])),
                size=int(row["size"]),
                share=float(row["share"]),
                mean_confidence=float(row["mean_confidence"]),
                examples=tuple(map(int, row["example_rows"])),
                doubtful=tuple(map(int, row["doubtful_rows"])),
                nearest=tuple((int(near), float(cosine)) for near, cosine in row["nearest"]),
            )
            for row in rows
        )
    )
