"""SCPCL, as far as it is known: transport's pseudo-labels guide a contrast with prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from caot.baselines.base import Vectors
from caot.baselines.contrast import Contrast
from caot.baselines.heads import Head, Prototypes
from caot.baselines.losses import nt_xent
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Losses, Objective
from caot.imbalance import ImbalanceSpec, check_imbalance, resolve_imbalance
from caot.losses import pseudo_label_loss
from caot.transport import AdaptiveTransport, Status


class PrototypeContrast(Contrast):
    """Both views are drawn to the prototype of their pseudo-label + η · contrast of the views."""

    def __init__(
        self,
        source: Representation,
        head: Prototypes,
        transport: AdaptiveTransport,
        *,
        weight: float,
        temperature: float,
    ) -> None:
        super().__init__(source, temperature)
        self.head, self.transport, self.weight = head, transport, weight
        self.networks = head

    def losses(self, rows: NDArray[np.int64], iteration: int) -> Losses:
        """Return both losses of a batch."""
        v1, v2 = self.source.views(rows)
        with torch.no_grad():
            log_prob = self.head.predict(self.source.originals(rows))
        result = self.transport(log_prob)
        is_finite = result.status is not Status.NON_FINITE
        labels = result.labels if is_finite else log_prob.argmax(dim=1)
        cluster = pseudo_label_loss(self.head.predict(v1), self.head.predict(v2), labels)
        return Losses(self.weight * nt_xent(v1, v2, self.temperature), cluster)


@dataclass(eq=False, repr=False, kw_only=True)
class SCPCL(TrainedMethod):
    """An approximation of SCPCL: prototypes, pseudo-labels from adaptive transport, contrast.

    Only the CAOT paper's sentence about it is known: adaptive transport makes pseudo-labels, which
    guide a contrast that learns robust representations. Here the prototypes start at K-means, each
    batch is solved by itself, and its labels draw both views to their prototype and away from the
    others.

    Parameters
    ----------
    contrast_weight, temperature
        Weight of the contrast of instances, and its temperature.
    prototype_temperature
        Divides the cosines with the prototypes.
    epsilon, imbalance
        Of the transport, as in :class:`~caot.CAOT`.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`.

    References
    ----------
    SCPCL, as the CAOT paper describes it in one sentence.
    """

    contrast_weight: float = 1.0
    temperature: float = 0.5
    prototype_temperature: float = 0.1
    epsilon: float = 1.0
    imbalance: ImbalanceSpec = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_imbalance(self.imbalance)

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        found = self._kmeans(source.untrained)
        resolved = resolve_imbalance(
            self.imbalance,
            start=found.labels,
            n_clusters=self.n_clusters,
            epsilon=self.epsilon,
            consistency=0.0,
            penalty="printed",
            use_floor=False,
        )
        head = Prototypes.at(found.centers, self.prototype_temperature).to(source.device)
        return PrototypeContrast(
            source,
            head,
            AdaptiveTransport(self.epsilon, resolved.uniformity),
            weight=self.contrast_weight,
            temperature=self.temperature,
        )

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        return cast("PrototypeContrast", objective).head
