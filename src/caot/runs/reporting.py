"""From a run to its report, and from a run folder back to a result."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from caot.inputs import EMPTY_OWN, read_inputs
from caot.io.cells import as_text, python_values
from caot.plain import plain
from caot.prediction import probabilities
from caot.report import ReportData, project
from caot.runs.describing import Describing, Endpoint, described
from caot.runs.folder import RunFolder
from caot.runs.methods import CAOT, find_run_method
from caot.runs.options import OPTIONS
from caot.runs.record import RunRecord
from caot.runs.result import RunResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from caot.clusterer import TextClusterer
    from caot.training import History


def shares_of(
    model: TextClusterer, texts: tuple[str, ...]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return probabilities (n, k) and embeddings (n, width) of texts, which are encoded once."""
    on_empty = EMPTY_OWN if model.has_own_cluster_ else "error"
    inputs = read_inputs(list(texts), on_empty=on_empty)
    embeddings = model.transform(inputs.values)
    return probabilities(model, embeddings, inputs), embeddings


def result_of(
    folder: RunFolder,
    describing: Describing | None = None,
    endpoint: Endpoint | None = None,
    *,
    keep_labels: bool = False,
) -> RunResult:
    """Return the result of a run again, described anew if ``describing`` says how.

    With ``keep_labels`` the clusters keep the names that they have; with an endpoint, those do for
    which it writes none.
    """
    table, labels = folder.table(), folder.labels()
    shares, embeddings = shares_of(folder.model(), table.texts)
    description = folder.description()
    if describing is not None:
        description = described(
            table.texts,
            labels,
            shares,
            embeddings,
            describing=describing,
            endpoint=endpoint,
            names=description.labels if keep_labels or endpoint is not None else {},
        )
    return RunResult(table, labels, shares, embeddings, description)


def report_data(
    result: RunResult,
    record: RunRecord,
    history: History | None,
    *,
    scores: Mapping[str, float] | None = None,
) -> ReportData:
    """Gather what the report shows."""
    info = result.document_info()
    seed = int(record.parameters["random_state"])
    ids = result.table.ids
    return ReportData(
        title=record.title or str(record.input["name"]),
        texts=result.table.texts,
        labels=result.labels,
        confidence=info["confidence"].to_numpy(dtype=np.float64),
        description=result.description,
        coordinates=project(result.embeddings, seed, labels=result.labels),
        created=_date(record.created),
        history=history,
        settings=_shown_settings(record),
        versions=record.versions,
        warnings=record.warnings,
        scores=scores,
        second_labels=info["second_cluster"].to_numpy(dtype=np.int64),
        second_confidence=np.nan_to_num(info["second_confidence"].to_numpy(dtype=np.float64)),
        ids=None if ids is None else [as_text(value) for value in python_values(ids)],
    )


def _shown_settings(record: RunRecord) -> dict[str, Any]:
    """Return what to show by name; what was not set, or is not known, has no row."""
    shown = {
        "input": record.input["name"],
        "sha256": record.input["sha256"],
        "text columns": ", ".join(record.input["text_columns"]),
        "method": find_run_method(record.method).title,
        **_shown_parameters(record.parameters, record.method),
        "encoder": record.encoder,  # the one that was used, where "auto" was asked for
        "min_confidence": record.settings["min_confidence"],
        "imbalance level": record.imbalance.get("level"),
        "penalty weight": record.imbalance.get("uniformity"),
        "iterations": record.training.get("n_iter"),
        "iterations saved": record.training.get("n_iter_saved"),
        "end of training": record.training.get("end_reason"),
        "seconds in all": round(sum(record.timings.values()), 1),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _shown_parameters(parameters: Mapping[str, Any], method: str = CAOT) -> dict[str, Any]:
    """Return those that have options, and others only where they are not as usual."""
    usual = {name: plain(value) for name, value in find_run_method(method).usual().items()}
    shown = {name: parameters[name] for name in OPTIONS if name in parameters}
    return shown | {
        name: value
        for name, value in parameters.items()
        if name not in OPTIONS and value != usual.get(name)
    }


def _date(moment: str) -> str:
    """Return the day of an ISO time as people write it."""
    day = datetime.datetime.fromisoformat(moment)
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"
