"""From a fitted model and its result to the record of the run."""

from __future__ import annotations

import datetime
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caot.io import TextTable
from caot.persistence import library_versions
from caot.plain import plain
from caot.runs.facts import imbalance_facts, training_facts
from caot.runs.record import RunRecord
from caot.runs.result import RunResult
from caot.runs.settings import RunSettings
from caot.texts import empty_rows
from caot.threads import n_threads

if TYPE_CHECKING:
    from caot.clusterer import TextClusterer


def record_of(
    table: TextTable,
    model: TextClusterer,
    settings: RunSettings,
    result: RunResult,
    source: str | os.PathLike[str] | None,
) -> RunRecord:
    """Return the record of a fit, still without timings, files and warnings."""
    now = datetime.datetime.now(datetime.UTC)
    return RunRecord(
        created=now.isoformat(timespec="seconds"),
        settings=settings.as_dict(),
        parameters={name: plain(value) for name, value in model.get_params(deep=False).items()},
        versions=library_versions(),
        encoder=str(model.encoder_.name),
        input=_input_facts(table, source),
        columns={},
        counts=_counts(table, model, result),
        training=training_facts(model),
        imbalance=imbalance_facts(model),
        timings={},
        method=settings.method,
        threads=n_threads(),
    )


def _counts(table: TextTable, model: TextClusterer, result: RunResult) -> dict[str, int | None]:
    # The empty texts' own cluster, the last one, was not found but given.
    sizes = model.cluster_sizes_[:-1] if model.has_own_cluster_ else model.cluster_sizes_
    return {
        "texts": len(table),
        "distinct": len(set(table.texts)),
        "empty": int(empty_rows(list(table.texts)).sum()),
        "without_cluster": int((result.labels == -1).sum()),
        "clusters_asked": model.n_clusters,
        "clusters_used": int(np.count_nonzero(sizes)),
    }


def _input_facts(table: TextTable, source: str | os.PathLike[str] | None) -> dict[str, Any]:
    names = [str(name) for name in table.frame.columns]
    digest = None
    if source is not None and Path(source).is_file():
        with Path(source).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    is_path = source is not None
    return {
        "name": Path(table.source).name if is_path else table.source,
        "sha256": digest,
        "n_columns": len(names),
        "text_columns": list(table.text_columns),
        "text_positions": [names.index(name) for name in table.text_columns],
        "id_column": table.id_column,
        "id_position": None if table.id_column is None else names.index(table.id_column),
    }
