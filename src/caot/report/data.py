"""What a report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from caot.describe import Description
    from caot.training import History

NO_CLUSTER = -1
"""The label of a text that was left without a cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """All that a report shows of n texts; rendering adds nothing, not even the date.

    Attributes
    ----------
    title
        The heading of the page.
    texts
        The n texts, in input order.
    labels
        (n,) cluster of each text; −1 for none.
    confidence
        (n,) probability of that cluster, between 0 and 1.
    description
        The clusters that hold texts, described.
    coordinates
        (n, 2) place of each text on the map, as :func:`~caot.report.project` gives it.
    created
        Date and time as the page shall print it.
    history
        The record of the training, if there was one.
    settings, versions
        What someone needs to reproduce the run: plain values by name.
    warnings
        What the reader must know before trusting the clusters; a sentence each.
    scores
        Measures by name, where true labels are known.
    second_labels, second_confidence
        (n,) the second choice of each text.
    ids
        The n identifiers of the input, shown in place of row numbers.
    """

    title: str
    texts: Sequence[str]
    labels: NDArray[np.int64]
    confidence: NDArray[np.float64]
    description: Description
    coordinates: NDArray[np.float32]
    created: str
    history: History | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    scores: Mapping[str, float] | None = None
    second_labels: NDArray[np.int64] | None = None
    second_confidence: NDArray[np.float64] | None = None
    ids: Sequence[str] | None = None

    def __post_init__(self) -> None:
        n = len(self.texts)
        if n == 0:
            msg = "a report needs at least one text"
            raise ValueError(msg)
        for name in ("labels", "confidence", "second_labels", "second_confidence", "ids"):
            value = getattr(self, name)
            if value is not None and len(value) != n:
                msg = f"{name} has {len(value)} entries for {n} texts; give one for each"
                raise ValueError(msg)
        self._check_coordinates(n)
        if (self.second_labels is None) != (self.second_confidence is None):
            msg = "second_labels and second_confidence go together: give both or neither"
            raise ValueError(msg)
        self._check_confidence()
        self._check_clusters()

    def _check_coordinates(self, n: int) -> None:
        if self.coordinates.shape != (n, 2):
            msg = f"coordinates must have shape ({n}, 2), got {self.coordinates.shape}"
            raise ValueError(msg)
        if not np.isfinite(self.coordinates).all():
            msg = "coordinates has NaN or infinite entries, which no map can show"
            raise ValueError(msg)

    def _check_confidence(self) -> None:
        for name in ("confidence", "second_confidence"):
            value = getattr(self, name)
            # Sums of float32 probabilities may exceed 1 by rounding.
            if value is not None and not ((value >= 0) & (value <= 1 + 1e-5)).all():
                msg = f"{name} must hold probabilities between 0 and 1"
                raise ValueError(msg)

    def _check_clusters(self) -> None:
        known = {NO_CLUSTER, *(item.cluster for item in self.description.clusters)}
        for name in ("labels", "second_labels"):
            value = getattr(self, name)
            # A second choice may be a cluster that holds no text.
            if value is None or name == "second_labels":
                continue
            unknown = sorted(set(np.unique(value).tolist()) - known)
            if unknown:
                msg = (
                    f"labels has clusters that the description lacks ({unknown[0]} is one); "
                    "describe the same labels that the report is about"
                )
                raise ValueError(msg)
