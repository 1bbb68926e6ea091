"""A description as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from caot.describe.checks import checked_labels, checked_probabilities
from caot.describe.values import Description
from caot.shares import NO_CLUSTER, next_probable
from caot.texts import as_texts


def cluster_info(description: Description, texts: Iterable[str]) -> pd.DataFrame:
    """Return one row a cluster.

    The columns are cluster, label, keywords (list of str), size, share, mean_confidence and
    examples (list of str, the texts themselves).
    """
    given = as_texts(texts)
    clusters = description.clusters
    needed = max((max(one.examples, default=-1) for one in clusters), default=-1)
    if needed >= len(given):
        msg = (
            f"the description names row {needed} but there are {len(given)} texts: pass the texts "
            "that were described"
        )
        raise ValueError(msg)
    return pd.DataFrame(
        {
            "cluster": np.array([one.cluster for one in clusters], dtype=np.int64),
            "label": [one.label for one in clusters],
            "keywords": [[keyword.term for keyword in one.keywords] for one in clusters],
            "size": np.array([one.size for one in clusters], dtype=np.int64),
            "share": np.array([one.share for one in clusters], dtype=np.float64),
            "mean_confidence": np.array([one.mean_confidence for one in clusters], dtype=float),
            "examples": [[given[row] for row in one.examples] for one in clusters],
        }
    )


def document_info(
    description: Description,
    texts: Iterable[str],
    probabilities: ArrayLike,
    labels: ArrayLike,
    ids: Sequence[object] | None = None,
) -> pd.DataFrame:
    """Return one row a text, in the order of the texts.

    The columns are id (if ``ids`` are given), cluster, label, confidence, second_cluster and
    second_confidence. ``confidence`` is the probability of the text's cluster and
    ``second_cluster`` the most probable other one. A text that was given to no cluster has the
    cluster -1, no label, and its most probable cluster as the second, with the same confidence.
    The second is -1 where no other cluster has a share; with one cluster alone its confidence is
    NaN.
    """
    n = len(as_texts(texts))
    clusters = checked_labels(labels, n)
    table = checked_probabilities(probabilities, clusters)
    rows = np.arange(n)
    first = np.where(clusters == NO_CLUSTER, table.argmax(axis=1), clusters)
    second, best = next_probable(table, clusters)
    names = {NO_CLUSTER: "", **description.labels}
    unknown = sorted(set(np.unique(clusters).tolist()) - set(names))
    if unknown:
        msg = (
            f"labels hold cluster {unknown[0]}, which the description lacks: pass the labels that "
            "were described"
        )
        raise ValueError(msg)
    columns: dict[str, object] = {} if ids is None else {"id": list(ids)}
    columns |= {
        "cluster": clusters,
        "label": [names[cluster] for cluster in clusters.tolist()],
        "confidence": table[rows, first],
        "second_cluster": second,
        "second_confidence": best,
    }
    return pd.DataFrame(columns)
