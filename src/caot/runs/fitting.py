"""From a table to a run folder: check, choose K, fit, describe, write, report."""

from __future__ import annotations

import dataclasses
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import caot
from caot.clusterer import TextClusterer
from caot.encoders.availability import is_offline
from caot.estimator import CAOT
from caot.io import TextTable
from caot.metrics import score
from caot.runs.describing import described
from caot.runs.events import Clock, PartStarted, RunCallback, RunEvent
from caot.runs.facts import history_of
from caot.runs.folder import RunFolder
from caot.runs.inputs import check_texts, not_english, suggest_for
from caot.runs.methods import check_method, find_run_method
from caot.runs.record import RunRecord, finite
from caot.runs.recording import record_of
from caot.runs.reporting import report_data, shares_of
from caot.runs.result import RunResult
from caot.runs.resuming import check_same
from caot.runs.settings import RunSettings

logger = logging.getLogger("caot.runs")

_PACKAGE = Path(caot.__file__).parent


def fit_run(
    table: TextTable,
    folder: RunFolder,
    settings: RunSettings,
    *,
    callbacks: Sequence[RunCallback] = (),
    resume: bool = False,
    source: str | os.PathLike[str] | None = None,
    title: str | None = None,
    true_labels: Sequence[object] | None = None,
) -> RunRecord:
    """Cluster a table and write its run folder.

    Interrupted by Ctrl-C, training leaves a checkpoint in the folder; the same call with
    ``resume`` goes on from it and ends in the same result.

    Parameters
    ----------
    table
        The texts.
    folder
        Where results go, from `RunFolder.prepare`.
    settings
        What is asked for.
    callbacks
        Called with every event; they cannot change the result.
    resume
        Whether to go on with the run that was begun in the folder.
    source
        The file that was read, for its hash; None for a pipe.
    title
        The report's; the table's name by default.
    true_labels
        For the scores of report and record, where they are known, (n,).
    """
    check_method(settings.method, settings.n_clusters, resume=resume)
    clock = Clock()
    tell = _teller((clock, *callbacks))
    tell(PartStarted("check"))
    check_texts(table, settings.n_clusters, settings.on_empty)
    noted: list[str] = []
    language = None
    if settings.reads_by_encoder:
        language = not_english(table.texts, settings.encoder)
    if language is not None:
        _warn(noted, language)
    with folder.locked():
        return _fit_locked(
            table,
            folder,
            settings,
            tell=tell,
            clock=clock,
            noted=noted,
            resume=resume,
            source=source,
            title=title,
            true_labels=true_labels,
        )


def _fit_locked(
    table: TextTable,
    folder: RunFolder,
    settings: RunSettings,
    *,
    tell: RunCallback,
    clock: Clock,
    noted: list[str],
    resume: bool,
    source: str | os.PathLike[str] | None,
    title: str | None,
    true_labels: Sequence[object] | None,
) -> RunRecord:
    """Do what `fit_run` says, in a folder that no other process writes to."""
    begun = False
    try:
        with _collected(noted):
            facts = _begin(table, folder, settings, tell, resume=resume)
            begun = True
            settings = _as_begun(settings, facts)
            tell(PartStarted("prepare"))
            model = _fitted(table, folder, settings, facts["n_clusters"], tell)
            tell(PartStarted("describe"))
            result = _result(table, model, settings)
    except BaseException:
        if begun:
            folder.abandon()
        raise
    record = record_of(table, model, settings, result, source)
    tell(PartStarted("write"))
    record = dataclasses.replace(record, timings=clock.seconds, warnings=tuple(noted), title=title)
    record = folder.write(model, result, record, raw=settings.raw)
    tell(PartStarted("report"))
    scores = _scores(result, true_labels)
    record = _with_report(folder, result, record, model, noted, scores=scores)
    record = dataclasses.replace(record, timings=clock.seconds, warnings=tuple(noted))
    record.write(folder.path)
    return record


def _begin(
    table: TextTable,
    folder: RunFolder,
    settings: RunSettings,
    tell: RunCallback,
    *,
    resume: bool,
) -> dict[str, Any]:
    """Mark the folder, after K is known; return what is known of the run."""
    if resume:
        facts = folder.begin({}, resume=True)
        check_same(facts, finite(settings.as_dict()))
        return facts
    n_clusters: int | str | None = settings.n_clusters
    if n_clusters == "auto" and find_run_method(settings.method).finds_k:
        n_clusters = None
    elif n_clusters == "auto":
        tell(PartStarted("choose K"))
        found = suggest_for(
            table.texts,
            encoder=settings.encoder,
            max_length=settings.max_length,
            max_chunks=settings.max_chunks,
            random_state=settings.random_state,
            local_files_only=is_offline(),
        )
        logger.info("-k auto: %s", found.reason)
        n_clusters = found.best
    return folder.begin({"n_clusters": n_clusters, "settings": finite(settings.as_dict())})


def _fitted(
    table: TextTable,
    folder: RunFolder,
    settings: RunSettings,
    n_clusters: int | None,
    tell: RunCallback,
) -> TextClusterer:
    """Fit the method's estimator, from the checkpoint in the folder if it makes any."""
    model, texts = settings.estimator(n_clusters), list(table.texts)
    if isinstance(model, CAOT):
        return model.fit(
            texts,
            callbacks=(tell,),
            checkpoint=folder.checkpoint_path,
            checkpoint_every=settings.checkpoint_every,
        )
    return model.fit(texts, callbacks=(tell,))


def _as_begun(settings: RunSettings, facts: Mapping[str, Any]) -> RunSettings:
    """Return the settings with -k as it was first written, for the record of a resumed run."""
    asked = facts.get("settings", {}).get("n_clusters", settings.n_clusters)
    return dataclasses.replace(settings, n_clusters=asked)


def _result(table: TextTable, model: TextClusterer, settings: RunSettings) -> RunResult:
    shares, embeddings = shares_of(model, table.texts)
    labels = model.labels_.copy()
    if settings.min_confidence is not None:
        labels[shares.max(axis=1) < settings.min_confidence] = -1
    description = described(
        table.texts,
        labels,
        shares,
        embeddings,
        describing=settings.describing,
        endpoint=settings.endpoint,
    )
    return RunResult(table, labels, shares, embeddings, description)


def _scores(result: RunResult, true_labels: Sequence[object] | None) -> dict[str, float] | None:
    if true_labels is None:
        return None
    scores = score(np.asarray(true_labels), result.labels)
    return {
        "accuracy": scores.accuracy,
        "NMI": scores.nmi_geometric,
        "ARI": scores.ari,
        "purity": scores.purity,
    }


def _with_report(
    folder: RunFolder,
    result: RunResult,
    record: RunRecord,
    model: TextClusterer,
    noted: list[str],
    *,
    scores: Mapping[str, float] | None,
) -> RunRecord:
    """Write the report; what goes wrong with it is a warning, since all else is safe."""
    try:
        data = report_data(result, record, history_of(model), scores=scores)
        folder.write_report(data)
    except Exception as error:
        logger.debug("the report failed", exc_info=True)
        _warn(
            noted,
            f"the report could not be made ({error}); all other results are in {folder.path}: "
            f"try again with caot report {folder.path}",
        )
    if scores is None:
        return record
    return dataclasses.replace(record, training={**record.training, "scores": dict(scores)})


def _teller(callbacks: Sequence[RunCallback]) -> RunCallback:
    def tell(event: RunEvent) -> None:
        for callback in callbacks:
            callback(event)

    return tell


@contextmanager
def _collected(noted: list[str]) -> Iterator[None]:
    """Take note of the warnings of this package; those of others are no business of a user's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        ours = warning.category.__module__.startswith("caot")
        if ours or Path(warning.filename).is_relative_to(_PACKAGE):
            _warn(noted, str(warning.message))


def _warn(noted: list[str], message: str) -> None:
    if message not in noted:
        noted.append(message)
        logger.warning("%s", message)
