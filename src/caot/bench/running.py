"""Running a cell: fit without labels, then measure."""

from __future__ import annotations

import hashlib
import resource
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import caot
from caot.baselines import RivalNotInstalled
from caot.baselines.translation import TranslationNotAvailable
from caot.bench.cells import Cell
from caot.bench.datasets import load_known
from caot.bench.images import image_features
from caot.bench.measures import FittedRun, measure, representations
from caot.bench.methods import (
    Estimator,
    Inputs,
    deciding_settings,
    find_method,
    plain_parameters,
)
from caot.bench.observers import Clock, FeatureKeeper, LastLabels
from caot.bench.records import FORMAT, CellRecord, CellStatus, config_hash, machine_facts
from caot.bench.variants import find_variant
from caot.bench.views import NO_VIEWS, views_of
from caot.encoders import EncoderNotAvailable
from caot.estimator import CAOT
from caot.extras import origin
from caot.kmeans import kmeans
from caot.metrics import score
from caot.persistence import library_versions

# The features are kept only where the paper draws them, and seldom where layers learn: then all
# texts are encoded for each point.
_FEATURE_CURVES = ("searchsnippets", "googlenews-ts")
_DRAWN = ("caot", "caot-faithful", "rstc", "sccl")
_POINTS_FROZEN, _POINTS_LEARNING = 11, 5


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a cell finds its data, keeps what others can use again, and how many threads it has."""

    data_dir: Path | None
    cache: Path
    n_threads: int


# What a method needs and this machine may lack: no fault of the method.
_NOT_AT_HAND = (EncoderNotAvailable, TranslationNotAvailable, RivalNotInstalled)


def run_cell(cell: Cell, place: RunPlace) -> dict[str, Any]:
    """Run a cell and return its record, whatever happens."""
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            outcome = _run(cell, place)
        messages = {str(note.message) for note in noted if issubclass(note.category, UserWarning)}
        outcome["warnings"] = sorted(messages)
    except _NOT_AT_HAND as error:
        outcome = {"status": CellStatus.NOT_RUN, "error": _without_paths(str(error))}
    except Exception as error:
        outcome = {
            "status": CellStatus.FAILED,
            "error": _without_paths(f"{type(error).__name__}: {error}"),
            "traceback": _without_paths(traceback.format_exc()),
        }
    return {
        "format": FORMAT,
        "cell": cell.as_dict(),
        **outcome,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_memory_mb": round(_peak_memory(), 1),
        "caot": caot.__version__,
        "versions": library_versions(),
        "machine": machine_facts(place.n_threads),
    }


def cell_hash(cell: Cell, n_clusters: int) -> str:
    """Return what tells whether a record was made with the settings that the cell has now."""
    method = find_method(cell.method)
    settings = deciding_settings(method.make(cell, n_clusters))
    later = {} if method.version == 1 else {"version": method.version}
    return config_hash({"cell": cell.as_dict(), "settings": settings, **later})


def is_current(record: CellRecord) -> bool:
    """Tell whether a finished record was made with the settings that its cell has now."""
    try:
        wanted = cell_hash(record.cell, int(record.content["n_clusters"]))
    except ValueError:  # of a method or a variant that is no more
        return False
    return bool(record.content["config_hash"] == wanted)


def _run(cell: Cell, place: RunPlace) -> dict[str, Any]:
    data = load_known(cell.dataset, place.data_dir)
    inputs, features = data.inputs, None
    if isinstance(inputs, np.ndarray):
        inputs, features = image_features(inputs)
    method = find_method(cell.method)
    model = method.make(cell, data.n_classes)
    takes_views = method.takes_views and find_variant(cell.variant).takes_views
    views = views_of(data, place.cache) if takes_views else NO_VIEWS
    given = views.views
    clock, last = Clock(), LastLabels(len(data))
    keeper = _feature_keeper(cell) if given else None
    observers = [clock, last] if keeper is None else [clock, last, keeper]
    fit_without_labels(model, inputs, given, observers)
    seconds = clock.seconds_by_stage()
    labels = _reported_labels(cell, model, inputs)
    outcome: dict[str, Any] = {
        "status": CellStatus.DONE,
        "scores": score(data.truth, labels).as_dict(),
        "n_samples": len(data),
        "n_clusters": data.n_classes,
        "views": views.name,
        "features": features,
        "seconds_by_stage": seconds,
        "data_sha256": data.digest,
        "config": plain_parameters(model),
        "config_hash": cell_hash(cell, data.n_classes),
        "labels_sha256": _digest(labels),
    }
    if method.learns:
        outcome |= measure(FittedRun(cell, model, data, inputs, given, last, keeper))
    return outcome


def _feature_keeper(cell: Cell) -> FeatureKeeper | None:
    """Return what keeps the features of a run whose curve is drawn."""
    if cell.dataset not in _FEATURE_CURVES or cell.method not in _DRAWN or cell.variant != "full":
        return None
    return FeatureKeeper(_POINTS_FROZEN if cell.finetune == "none" else _POINTS_LEARNING)


def fit_without_labels(
    model: Estimator, inputs: Inputs, views: tuple[Any, Any] | None, observers: list[Any]
) -> None:
    """Fit: a method is given this much and no more."""
    model.fit(inputs, views=views, callbacks=observers)


def _reported_labels(cell: Cell, model: Estimator, inputs: Inputs) -> NDArray[np.int64]:
    """Return the labels that are scored: the model's own, or K-means' on what it has learned."""
    if not find_variant(cell.variant).clusters_by_kmeans:
        return model.labels_
    assert isinstance(model, CAOT)  # other methods have no such variant
    vectors = representations(model, inputs)
    return kmeans(vectors, model.n_clusters, n_init=10, random_state=cell.seed).labels


def _digest(labels: NDArray[np.int64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(labels, dtype=np.int64).data).hexdigest()


def _peak_memory() -> float:
    """Return the most memory that this process has had, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024**2 if sys.platform == "darwin" else 1024)


def _without_paths(text: str) -> str:
    """Return a text that tells nothing of the machine: files by their place in the package."""
    package, (source, _) = str(Path(caot.__file__).parent.parent), origin()
    return text.replace(package, "").replace(source, ".").replace(str(Path.home()), "~")
