"""The methods of the benchmark: each makes an estimator that is given texts, never labels."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from caot import baselines
from caot.bench.cells import Cell
from caot.bench.datasets import DATASETS
from caot.bench.variants import find_variant
from caot.estimator import CAOT
from caot.training import Callback

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
        Whether it trains anything, and so has layers and iterations.
    """

    title: str
    paper: str | None
    make: Callable[[Cell, int], Estimator]
    learns: bool


def _caot(mode: str) -> Callable[[Cell, int], CAOT]:
    def make(cell: Cell, n_clusters: int) -> CAOT:
        variant = find_variant(cell.variant)
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
            parameters["warmup_iter"] = cell.max_iter
        return CAOT(**{**parameters, **variant.parameters})

    return make


def _as_printed(dataset: str) -> dict[str, Any]:
    """Return what the paper sets by hand for a data set."""
    spec = DATASETS.get(dataset)
    if spec is None:
        return {}
    parameters: dict[str, Any] = {} if spec.has_warmup else {"warmup_iter": 0}
    return parameters if spec.level is None else {**parameters, "imbalance": spec.level}


def _baseline(name: str) -> Callable[[Cell, int], Estimator]:
    def make(cell: Cell, n_clusters: int) -> Estimator:
        kind = baselines.METHODS[name].load()
        settings: dict[str, Any] = {
            "encoder": cell.encoder,
            "finetune": int(cell.finetune) if cell.finetune.isdigit() else cell.finetune,
            "max_iter": cell.max_iter,
            "random_state": cell.seed,
        }
        known = kind._get_param_names()
        return kind(n_clusters, **{key: v for key, v in settings.items() if key in known})

    return make


METHODS: Mapping[str, Method] = {
    **{
        name: Method(method.title, method.title, _baseline(name), method.learns)
        for name, method in baselines.METHODS.items()
    },
    "caot-faithful": Method("CAOT, as printed", "OURS", _caot("faithful"), True),
    "caot": Method("CAOT, default", "OURS", _caot("default"), True),
}


def find_method(name: str) -> Method:
    """Return a method by its name."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(METHODS)}"
    msg = f"there is no method {name!r}: {hint}"
    raise ValueError(msg)


def plain_parameters(estimator: Estimator) -> dict[str, Any]:
    """Return the settings of an estimator, ready for JSON."""
    return {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in sorted(estimator.get_params(deep=False).items())
    }
