"""RSTC: pseudo-labels from adaptive transport over the whole data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from caot.baselines.base import Vectors
from caot.baselines.contrast import ViewObjective
from caot.baselines.heads import ClusterNetwork, Head
from caot.baselines.losses import nt_xent
from caot.baselines.pseudo_labels import solve_times
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Losses, Objective
from caot.losses import pseudo_label_loss
from caot.training import Stage
from caot.training.targets import targets_made
from caot.transport import (
    AdaptiveTransport,
    Status,
    effective_imbalance,
    imbalance_level,
)

# Penalty weights of the published settings, by the imbalance of the data they were chosen for.
_PENALTIES = {"balanced": 0.1, "slight": 0.1, "imbalanced": 0.01, "severe": 0.001}

_ITERATIONS_A_SOLVE, _FEWEST_SOLVES = 30, 10


class RobustLabels(ViewObjective):
    """Cross-entropy of both views on labels of the whole data set + η · contrast of the views.

    The labels are those of K-means until the warm-up ends; then transport makes new ones at the
    given times.
    """

    def __init__(
        self,
        source: Representation,
        head: ClusterNetwork,
        labels: NDArray[np.int64],
        transport: AdaptiveTransport,
        *,
        times: frozenset[int],
        weight: float,
        temperature: float,
    ) -> None:
        super().__init__(source, projects=True)
        self.head, self.labels = head, labels
        self.transport, self.times = transport, times
        self.weight, self.temperature = weight, temperature
        self.networks = nn.ModuleList([self.projecting, head])

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return both losses of a batch, after new labels if it is time."""
        if iteration in self.times:
            self._solve(iteration)
            self.set_mode(training=True)
        v1, v2 = self.source.views(rows)
        targets = torch.from_numpy(self.labels[rows]).to(self.source.device)
        contrast = nt_xent(self.project(v1), self.project(v2), self.temperature)
        cluster = pseudo_label_loss(self.head.predict(v1), self.head.predict(v2), targets)
        return Losses(self.weight * contrast, cluster)

    def stage(self, iteration: int) -> Stage:
        """Return warm-up until the first transport."""
        return Stage.WARM_UP if iteration < min(self.times) else Stage.INTERACTIVE

    def _solve(self, iteration: int) -> None:
        """Give all samples the labels of the transport of their predictions."""
        self.set_mode(training=False)
        with torch.no_grad():
            vectors = torch.from_numpy(self.source.vectors()).to(self.source.device)
            log_prob = self.head.predict(vectors)
        result = self.transport(log_prob)
        if result.status is Status.NON_FINITE:
            return  # the old labels serve on; the loop stops if the losses are not finite either
        before, self.labels = self.labels, result.labels.cpu().numpy()
        self.told.append(targets_made(iteration, np.arange(len(before)), before, result))


@dataclass(eq=False, repr=False, kw_only=True)
class RSTC(TrainedMethod):
    """Robust representation learning with reliable pseudo-labels via self-adaptive transport.

    Parameters
    ----------
    contrast_weight, temperature
        η, the weight of the contrast, and its temperature.
    warmup_iter
        Iterations on the labels of K-means before the first transport; None is 30 %, but at least
        80 or half: a network that knows only a few clusters yet would lose the others for good.
    n_solves
        M, how often transport over the whole data set makes new labels: often at first, and
        more and more seldom, at quadratically spaced times. None is once in 30 iterations on
        average, as published (50 in 1,500), but ten times at least.
    epsilon, uniformity
        Weights of the entropy and of the penalty on uneven clusters; "auto" takes the published
        penalty (0.1, 0.01 or 0.001) of the level that the K-means sizes show.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`.

    References
    ----------
    Zheng, Hu, Liu, Chen and Liao. Robust Representation Learning with Reliable Pseudo-labels
    Generation via Self-Adaptive Optimal Transport for Short Text Clustering. ACL 2023.
    """

    contrast_weight: float = 10.0
    temperature: float = 1.0
    warmup_iter: int | None = None
    n_solves: int | None = None
    epsilon: float = 1.0
    uniformity: float | Literal["auto"] = "auto"

    _least: ClassVar[dict[str, int]] = {**TrainedMethod._least, "n_solves": 1}
    _may_be_none: ClassVar[tuple[str, ...]] = (*TrainedMethod._may_be_none, "n_solves")

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        labels = self._kmeans(source.vectors()).labels
        warmup = self.warmup_iter
        if warmup is None:
            warmup = max(round(0.3 * n_iter), min(80, n_iter // 2))
        n_solves = self.n_solves or max(_FEWEST_SOLVES, n_iter // _ITERATIONS_A_SOLVE)
        head = ClusterNetwork(self.n_clusters, source.width, source.scale)
        return RobustLabels(
            source,
            head.to(source.device),
            labels,
            AdaptiveTransport(self.epsilon, self._penalty(labels)),
            times=solve_times(min(warmup, n_iter - 1), n_iter, n_solves),
            weight=self.contrast_weight,
            temperature=self.temperature,
        )

    def _penalty(self, labels: NDArray[np.int64]) -> float:
        if self.uniformity != "auto":
            return float(self.uniformity)
        return _PENALTIES[imbalance_level(effective_imbalance(labels, self.n_clusters))]

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        return cast("RobustLabels", objective).head
