"""The methods of the benchmark: each makes an estimator that is given texts, never labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from caot import baselines
from caot.baselines.making import unknown_method
from caot.bench.cells import Cell
from caot.bench.datasets import DATASETS
from caot.bench.variants import find_variant
from caot.effort import Layers
from caot.estimator import CAOT
from caot.settings import DEFAULT_MODE_VERSION, FitSettings, Mode
from caot.training import Callback, TrainingConfig

_STAND_IN_SAMPLES = 10_000
# Settings of methods that came after the first records, as they are where nothing is asked for.
_ADDED: Mapping[str, Any] = {"max_chunks": None}

Inputs = list[str] | NDArray[Any]


class Estimator(Protocol):
    """What a method must offer."""

    labels_: NDArray[np.int64]

    def fit(
        self,
        X: Any,  # noqa: ANN401, N803 - texts or vectors, by scikit-learn's name
        y: None = None,
        *,
        views: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Cluster the inputs; ``callbacks`` observe."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all settings by name."""
        ...


@dataclass(frozen=True, slots=True)
class Method:
    """A method by name.

    Parameters
    ----------
    title
        What tables call it.
    paper
        The row of the paper's main table that it is compared with, if any.
    make
        Makes the estimator of a cell, for so many clusters.
    learns
        Whether it trains anything.
    encodes
        Whether its vectors come from an encoder.
    finetunes
        Whether it can train layers of the encoder, and so has layers and iterations.
    takes_views
        Whether it is given the two views of the data; others would make no use of them, or have
        to make their own.
    version
        Goes up when it finds other clusters with the same settings.
    """

    title: str
    paper: str | None
    make: Callable[[Cell, int], Estimator]
    learns: bool
    encodes: bool = True
    finetunes: bool = False
    takes_views: bool = True
    version: int = 1


def _caot(mode: Mode) -> Callable[[Cell, int], CAOT]:
    def make(cell: Cell, n_clusters: int) -> CAOT:
        variant = find_variant(cell.variant)
        if variant.finds_k:
            raise _no_variant(cell)
        parameters: dict[str, Any] = {
            "n_clusters": n_clusters,
            "encoder": cell.encoder,
            "finetune": int(cell.finetune) if cell.finetune.isdigit() else cell.finetune,
            "max_iter": cell.max_iter,
            "mode": mode,
            "random_state": cell.seed,
        }
        if mode == "faithful":
            parameters |= _as_printed(cell.dataset)
        if variant.warms_up_only:
            whole = FitSettings(mode=mode, max_iter=cell.max_iter).iterations(
                frozen=cell.finetune == "none", n_samples=_STAND_IN_SAMPLES
            )
            parameters |= {"max_iter": whole, "warmup_iter": whole}
        return CAOT(**{**parameters, **variant.parameters})

    return make


def _as_printed(dataset: str) -> dict[str, Any]:
    """Return what the paper sets by hand for a data set."""
    spec = DATASETS.get(dataset)
    level = None if spec is None else spec.level
    return _warmup(dataset) if level is None else {**_warmup(dataset), "imbalance": level}


def _warmup(dataset: str) -> dict[str, Any]:
    """Return no warm-up where the paper has none, and RSTC neither; nothing elsewhere."""
    spec = DATASETS.get(dataset)
    return {} if spec is None or spec.has_warmup else {"warmup_iter": 0}


def _baseline(method: baselines.Method) -> Callable[[Cell, int], Estimator]:
    def make(cell: Cell, n_clusters: int) -> Estimator:
        kind = method.load()
        settings: dict[str, Any] = {
            "n_clusters": n_clusters,
            "encoder": cell.encoder,
            "finetune": int(cell.finetune) if cell.finetune.isdigit() else cell.finetune,
            "random_state": cell.seed,
            **_warmup(cell.dataset),
        }
        if cell.max_iter is not None:
            settings["max_iter"] = cell.max_iter
        known = kind._get_param_names()
        settings = {key: value for key, value in settings.items() if key in known}
        variant = find_variant(cell.variant)
        lacks_k = variant.finds_k and not method.finds_k
        if variant.clusters_by_kmeans or lacks_k or not variant.parameters.keys() <= {*known}:
            raise _no_variant(cell)
        return kind(**{**settings, **variant.parameters})

    return make


def _no_variant(cell: Cell) -> ValueError:
    msg = f"the method {cell.method!r} has no variant {cell.variant!r}: leave --variant out, or "
    msg += "choose another --method"
    return ValueError(msg)


def _listed(method: baselines.Method) -> Method:
    note = " (approximation)" if method.approximation else ""
    return Method(
        method.title + note,
        method.title,
        _baseline(method),
        method.learns,
        method.encodes,
        method.finetunes,
        method.takes_views,
        method.version,
    )


METHODS: Mapping[str, Method] = {
    **{name: _listed(method) for name, method in baselines.METHODS.items()},
    "caot-faithful": Method(
        "CAOT, as printed", "OURS", _caot("faithful"), learns=True, finetunes=True
    ),
    "caot": Method("CAOT, default", "OURS", _caot("default"), learns=True, finetunes=True),
}


def find_method(name: str) -> Method:
    """Return a method by its name."""
    if name in METHODS:
        return METHODS[name]
    raise unknown_method(name, METHODS)


def deciding_settings(estimator: Estimator) -> dict[str, Any]:
    """Return the settings that decide a result, as far as they are not the paper's.

    A setting that is added, and is off unless asked for, leaves them as they were; a default of the
    default mode that changes does not.
    """
    if not isinstance(estimator, CAOT):
        given = plain_parameters(estimator)
        off = [name for name, usual in _ADDED.items() if given.get(name) == usual]
        return {name: value for name, value in given.items() if name not in off}
    usual = plain_parameters(CAOT(estimator.n_clusters))
    given = {
        name: value
        for name, value in plain_parameters(estimator).items()
        if name != "variant" and value != usual[name]
    }
    settings = FitSettings.of(estimator.get_params(deep=False))
    if not settings.is_faithful:
        given["default mode"] = DEFAULT_MODE_VERSION
    if settings.word_weight > 0:
        given["words"] = settings.word_weight
    if settings.penalty != "printed":
        given["penalty"] = settings.penalty
    return given | {"training": _unlike_the_paper(estimator.n_clusters, settings)}


def _unlike_the_paper(n_clusters: int, settings: FitSettings) -> dict[str, Any]:
    """Return the settings of the trainer that differ from the paper's.

    What data decide (the penalty, the scale of embeddings) has a stand-in here.
    """
    layers: Layers = "all" if settings.finetune == "auto" else settings.finetune
    scale = settings.open_choices.uniformity_scale
    schedule = settings.schedule(frozen=layers == "none", n_samples=_STAND_IN_SAMPLES)
    config = settings.config(
        n_clusters, schedule, layers=layers, uniformity=scale, embedding_scale=2.0
    )
    printed = _flat(TrainingConfig(n_clusters).as_dict())
    return {name: v for name, v in _flat(config.as_dict()).items() if printed.get(name) != v}


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def plain_parameters(estimator: Estimator) -> dict[str, Any]:
    """Return the settings of an estimator, ready for JSON."""
    return {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in sorted(estimator.get_params(deep=False).items())
    }
