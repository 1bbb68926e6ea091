"""The coupling matrix of a few samples: how sure, and how consistent, a run's targets are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caot.bench.cells import Cell
from caot.bench.datasets import BenchmarkData
from caot.estimator import CAOT
from caot.prediction import network_input
from caot.settings import FitSettings
from caot.training import SimilaritySettings, batch_similarity
from caot.transport import Prediction

_DATASET, _SEED = "stackoverflow", 0
_OF_EACH_CLASS = 5
_VARIANTS = ("full", "prediction", "adaptive")


def coupling_picture(
    cell: Cell, model: CAOT, data: BenchmarkData, views: tuple[list[str], list[str]] | None
) -> dict[str, Any] | None:
    """Return the rows of Q, each summing to one, of five samples of each class, as in the paper.

    For prediction, Q is P itself. None for cells that the paper draws no picture of.
    """
    wanted = cell.dataset == _DATASET and cell.variant in _VARIANTS and cell.seed == _SEED
    if not wanted or views is None:
        return None
    rows = _chosen_rows(data.truth)
    texts = [[part[row] for row in rows] for part in (data.inputs, *views)]
    plan = _plan(model, [network_input(model, model.transform(part), part) for part in texts])
    return {
        "rows": rows,
        "classes": data.truth[rows],
        "matrix": np.round(plan / plan.sum(axis=1, keepdims=True), 4),
    }


def _chosen_rows(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    rng = np.random.default_rng(_SEED)
    chosen = [
        rng.choice(np.flatnonzero(truth == label), _OF_EACH_CLASS, replace=False)
        for label in np.unique(truth)
    ]
    return np.concatenate(chosen)


def _plan(model: CAOT, vectors: list[NDArray[np.float32]]) -> NDArray[np.float64]:
    settings = FitSettings.of(model.get_params(deep=False))
    solver = settings.transport(model.imbalance_.uniformity)
    networks = model.networks_
    device = next(networks.parameters()).device
    with torch.no_grad():
        original, first, second = (torch.from_numpy(part).to(device) for part in vectors)
        log_prob: Tensor = networks.predict(original)
        attention = networks.attention(networks.project(first), networks.project(second))
        similarity = batch_similarity(log_prob, attention.similarity, SimilaritySettings())
    if isinstance(solver, Prediction):
        return log_prob.exp().cpu().numpy().astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = solver(log_prob, similarity if solver.uses_similarity else None)
    return torch.as_tensor(result.plan).cpu().numpy().astype(np.float64)
