"""RSTC: pseudo-labels from adaptive transport over the whole data set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal, NamedTuple, cast

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
_PENALTIES = {"balanced": 0.1, "slight": 0.01, "imbalanced": 0.001, "severe": 0.001}

_ITERATIONS_A_SOLVE, _FEWEST_SOLVES = 30, 10


class Beginning(NamedTuple):
    """Labels of all samples (n,), and the transport that makes new ones."""

    labels: NDArray[np.int64]
    transport: AdaptiveTransport


class RobustLabels(ViewObjective):
    """Cross-entropy of both views on labels of the whole data set + η · contrast of the views.

    In the warm-up there is the contrast alone. At its end K-means of what was learned gives all
    samples a label, and ``begin`` makes of those the transport that gives new ones at the given
    times.
    """

    def __init__(
        self,
        source: Representation,
        head: ClusterNetwork,
        begin: Callable[[Vectors], Beginning],
        *,
        warmup: int,
        times: frozenset[int],
        weight: float,
        temperature: float,
    ) -> None:
        super().__init__(source, projects=True)
        self.head, self.begin = head, begin
        self.warmup, self.times = warmup, times
        self.weight, self.temperature = weight, temperature
        self.networks = nn.ModuleList([self.projecting, head])

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return the losses of a batch, after new labels if it is time."""
        if iteration == self.warmup:
            self.labels, self.transport = self.begin(self._vectors())
        if iteration in self.times:
            self._solve(iteration)
        v1, v2 = self.source.views(rows)
        contrast = self.weight * nt_xent(self.project(v1), self.project(v2), self.temperature)
        if iteration < self.warmup:
            return Losses(contrast)
        targets = torch.from_numpy(self.labels[rows]).to(self.source.device)
        cluster = pseudo_label_loss(self.head.predict(v1), self.head.predict(v2), targets)
        return Losses(contrast, cluster)

    def stage(self, iteration: int) -> Stage:
        """Return head start from the end of the warm-up to the first transport."""
        if iteration < self.warmup:
            return Stage.WARM_UP
        return Stage.HEAD_START if iteration < min(self.times) else Stage.INTERACTIVE

    def _vectors(self) -> Vectors:
        """Return all samples, without dropout."""
        self.set_mode(training=False)
        vectors = self.source.vectors()
        self.set_mode(training=True)
        return vectors

    def _solve(self, iteration: int) -> None:
        """Give all samples the labels of the transport of their predictions."""
        vectors = torch.from_numpy(self._vectors()).to(self.source.device)
        self.head.eval()
        with torch.no_grad():
            log_prob = self.head.predict(vectors)
        self.head.train()
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
        Iterations of contrast alone before K-means gives the first labels; None is 30 %.
    head_iter
        Iterations on those labels before the first transport: a network that knows only a few
        clusters yet would lose the others for good. Published are 40; 80, as in CAOT, did better
        on Tweet, one of the sets that defaults are chosen on.
    n_solves
        M, how often transport over the whole data set makes new labels: often at first, and
        more and more seldom, at quadratically spaced times. None is once in 30 iterations on
        average, but ten times at least.
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
    head_iter: int = 80
    n_solves: int | None = None
    epsilon: float = 0.1
    uniformity: float | Literal["auto"] = "auto"

    _least: ClassVar[dict[str, int]] = {
        **TrainedMethod._least,
        "n_solves": 1,
        "warmup_iter": 0,
        "head_iter": 0,
    }
    _may_be_none: ClassVar[tuple[str, ...]] = (
        *TrainedMethod._may_be_none,
        "n_solves",
        "warmup_iter",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        is_number = isinstance(self.uniformity, Real) and not isinstance(self.uniformity, bool)
        if self.uniformity != "auto" and not (is_number and 0 < self.uniformity < math.inf):
            msg = f"uniformity must be 'auto' or a number above 0, got {self.uniformity!r}"
            raise ValueError(msg)

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        warmup = round(0.3 * n_iter) if self.warmup_iter is None else self.warmup_iter
        warmup = min(warmup, n_iter - 1)
        first = min(warmup + self.head_iter, n_iter - 1)
        n_solves = self.n_solves or max(_FEWEST_SOLVES, n_iter // _ITERATIONS_A_SOLVE)
        head = ClusterNetwork(self.n_clusters, source.width, source.scale)
        return RobustLabels(
            source,
            head.to(source.device),
            self._begin,
            warmup=warmup,
            times=solve_times(first, n_iter, n_solves),
            weight=self.contrast_weight,
            temperature=self.temperature,
        )

    def _begin(self, vectors: Vectors) -> Beginning:
        """Return the K-means labels of the vectors, and the transport for clusters so uneven."""
        labels = self._kmeans(vectors).labels
        return Beginning(labels, AdaptiveTransport(self.epsilon, self._penalty(labels)))

    def _penalty(self, labels: NDArray[np.int64]) -> float:
        if self.uniformity != "auto":
            return float(self.uniformity)
        return _PENALTIES[imbalance_level(effective_imbalance(labels, self.n_clusters))]

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        return cast("RobustLabels", objective).head
