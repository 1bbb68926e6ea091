"""What is measured of a model that has learned, after the fit, when labels may be looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from caot.baselines.representation import AdaptedEncoder
from caot.bench.cells import Cell
from caot.bench.coupling import coupling_picture
from caot.bench.datasets import BenchmarkData
from caot.bench.methods import Estimator, Inputs
from caot.bench.observers import FeatureKeeper, LastLabels
from caot.encoders import EmbeddingCache, Encoder
from caot.estimator import CAOT
from caot.kmeans import kmeans
from caot.metrics import neighbourhood_similarity, score
from caot.prediction import network_input
from caot.training import History

_BIN = 20  # iterations that a point of a curve is the mean of
_RESTARTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class FittedRun:
    """A run that is over: what was fitted, on what, and what was observed."""

    cell: Cell
    model: Estimator
    data: BenchmarkData
    inputs: Inputs
    views: tuple[list[str], list[str]] | None
    last: LastLabels
    keeper: FeatureKeeper | None


def measure(run: FittedRun) -> dict[str, Any]:
    """Return pseudo-label scores, curves, representation quality and cost of any method's run."""
    model: Any = run.model  # what the estimators of methods that learn have in common
    data, last, keeper = run.data, run.last, run.keeper
    known = last.labels >= 0
    outcome: dict[str, Any] = {
        "n_iter": model.n_iter_,
        "end_reason": model.end_reason_.name.lower(),
        "n_parameters": _parameters(model),
        "encoder_name": model.encoder_.name,
        "representation": _representation(run),
    }
    if known.any():
        outcome["pseudo_label_scores"] = score(data.truth[known], last.labels[known]).as_dict()
        outcome["pseudo_labelled"] = int(known.sum())
        outcome |= _transports(model.history_)
    if keeper is not None:
        outcome["ns"] = [
            {"iteration": iteration, "value": neighbourhood_similarity(z0, z1, data.truth)}
            for iteration, z0, z1 in keeper.kept
        ]
    return {**outcome, **_of_caot(run, model)} if isinstance(model, CAOT) else outcome


def representations(model: Any, inputs: Inputs) -> NDArray[np.float32]:  # noqa: ANN401
    """Return V(0) of the inputs by the encoder as it is after the fit, (n, width).

    The fit has encoded them last of all, so that the cache knows them.
    """
    encoder = model.encoder_
    if isinstance(encoder, AdaptedEncoder):
        return encoder.adapt(EmbeddingCache().get(encoder.encoder, inputs))
    if isinstance(encoder, Encoder):
        return EmbeddingCache().get(encoder, inputs)
    vectors: NDArray[np.float32] = model.transform(inputs)
    return vectors


def _of_caot(run: FittedRun, model: CAOT) -> dict[str, Any]:
    """Return what there is of CAOT alone."""
    found = {"n_iter_saved": model.n_iter_saved_, "imbalance": asdict(model.imbalance_)}
    picture = coupling_picture(run.cell, model, run.data, run.views)
    return found if picture is None else {**found, "coupling": picture}


def _transports(history: History) -> dict[str, Any]:
    return {
        "change_rate": {"bin": _BIN, "values": _binned(history.change_rate)},
        "transport": {
            "mean_outer": float(history.n_outer.mean()),
            "mean_inner": float(history.n_inner.mean()),
            "collapsed": float(history.collapsed.mean()),
        },
    }


def _representation(run: FittedRun) -> dict[str, dict[str, float | int]]:
    """Return the scores of K-means on the spaces that have learned."""
    cell, data = run.cell, run.data
    return {
        name: score(
            data.truth,
            kmeans(space, data.n_classes, n_init=_RESTARTS, random_state=cell.seed).labels,
        ).as_dict()
        for name, space in _spaces(run).items()
    }


def _spaces(run: FittedRun) -> dict[str, NDArray[np.float32]]:
    """Return V(0), where it has learned, and Z(0), as far as it is at hand after the fit."""
    vectors = representations(run.model, run.inputs)
    if not isinstance(run.model, CAOT):  # V(0) learns in any case, by a map if by no layers
        if run.keeper is None or not run.keeper.kept:
            return {"encoder": vectors}
        _, projected, _ = run.keeper.kept[-1]
        return {"projection": projected.astype(np.float32), "encoder": vectors}
    with torch.no_grad():
        device = next(run.model.networks_.parameters()).device
        rows = torch.from_numpy(network_input(run.model, vectors, run.inputs)).to(device)
        spaces = {"projection": run.model.networks_.project(rows).cpu().numpy()}
    return spaces if run.cell.finetune == "none" else {**spaces, "encoder": vectors}


def _binned(values: NDArray[np.float64]) -> list[float]:
    """Return the means of consecutive bins; the last may be shorter."""
    return [
        round(float(values[start : start + _BIN].mean()), 5)
        for start in range(0, len(values), _BIN)
    ]


def _parameters(model: Any) -> dict[str, int]:  # noqa: ANN401 - any method that learns
    """Return the parameters of the networks that were trained, and of what encodes texts."""

    def size(module: torch.nn.Module) -> int:
        return sum(weights.numel() for weights in module.parameters())

    on_top = getattr(model, "n_parameters_", None)
    return {
        "networks": size(model.networks_) if on_top is None else int(on_top),
        "encoder": size(model.encoder_.module),
    }
