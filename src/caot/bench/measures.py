"""What is measured of a fitted CAOT model, after the fit, when labels may be looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from caot.bench.cells import Cell
from caot.bench.coupling import coupling_picture
from caot.bench.datasets import BenchmarkData
from caot.bench.methods import Inputs
from caot.bench.observers import FeatureKeeper, LastLabels
from caot.encoders import EmbeddingCache
from caot.estimator import CAOT
from caot.kmeans import kmeans
from caot.metrics import neighbourhood_similarity, score

_BIN = 20  # iterations that a point of a curve is the mean of
_RESTARTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class FittedRun:
    """A run that is over: what was fitted, on what, and what was observed."""

    cell: Cell
    model: CAOT
    data: BenchmarkData
    inputs: Inputs
    views: tuple[list[str], list[str]] | None
    last: LastLabels
    keeper: FeatureKeeper | None


def measure_caot(run: FittedRun) -> dict[str, Any]:
    """Return pseudo-label scores, curves, representation quality and cost of a run."""
    cell, model, data, last, keeper = run.cell, run.model, run.data, run.last, run.keeper
    history = model.history_
    known = last.labels >= 0
    outcome: dict[str, Any] = {
        "n_iter": model.n_iter_,
        "n_iter_saved": model.n_iter_saved_,
        "end_reason": model.end_reason_.name.lower(),
        "imbalance": asdict(model.imbalance_),
        "n_parameters": _count(model.networks_, model.encoder_.module),
        "encoder_name": model.encoder_.name,
        "representation": _representation(run),
    }
    if known.any():
        outcome["pseudo_label_scores"] = score(data.truth[known], last.labels[known]).as_dict()
        outcome["pseudo_labelled"] = int(known.sum())
        outcome["change_rate"] = {"bin": _BIN, "values": _binned(history.change_rate)}
        outcome["transport"] = {
            "mean_outer": float(history.n_outer.mean()),
            "mean_inner": float(history.n_inner.mean()),
            "collapsed": float(history.collapsed.mean()),
        }
    if keeper is not None:
        outcome["ns"] = [
            {"iteration": iteration, "value": neighbourhood_similarity(z0, z1, data.truth)}
            for iteration, z0, z1 in keeper.kept
        ]
    picture = coupling_picture(cell, model, data, run.views)
    return outcome if picture is None else {**outcome, "coupling": picture}


def representations(model: CAOT, inputs: Inputs) -> NDArray[np.float32]:
    """Return V(0) of the inputs by the encoder as it is after the fit, (n, width)."""
    if isinstance(inputs, np.ndarray):
        return model.transform(inputs)
    return EmbeddingCache().get(model.encoder_, inputs)  # known already if it has not learned


def _representation(run: FittedRun) -> dict[str, dict[str, float | int]]:
    """Return the scores of K-means on V(0), where it has learned, and on Z(0)."""
    cell, model, data = run.cell, run.model, run.data
    vectors = representations(model, run.inputs)
    with torch.no_grad():
        device = next(model.networks_.parameters()).device
        projected = model.networks_.project(torch.from_numpy(vectors).to(device)).cpu().numpy()
    spaces = {"projection": projected}
    if cell.finetune != "none":
        spaces["encoder"] = vectors
    return {
        name: score(
            data.truth,
            kmeans(space, data.n_classes, n_init=_RESTARTS, random_state=cell.seed).labels,
        ).as_dict()
        for name, space in spaces.items()
    }


def _binned(values: NDArray[np.float64]) -> list[float]:
    """Return the means of consecutive bins; the last may be shorter."""
    return [
        round(float(values[start : start + _BIN].mean()), 5)
        for start in range(0, len(values), _BIN)
    ]


def _count(networks: torch.nn.Module, encoder: torch.nn.Module) -> dict[str, int]:
    def size(module: torch.nn.Module) -> int:
        return sum(weights.numel() for weights in module.parameters())

    return {"networks": size(networks), "encoder": size(encoder)}
