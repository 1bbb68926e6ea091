"""The record of a training run."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caot.training.config import Stage
from caot.training.events import Event, StepDone, TargetsMade
from caot.transport import Status

_STAGES = tuple(Stage)
_STATUSES = tuple(Status)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """What each iteration did, as arrays: T iterations, of which U were interactive.

    Attributes
    ----------
    stage
        (T,) names of the stages.
    loss, instance_loss, attention_loss, pseudo_label_loss
        (T,) L, L_I, L_A and L_P before the update; NaN where one has no part.
    target_iteration
        (U,) the iterations with a transport; the following arrays are about these.
    change_rate
        (U,) share of pseudo-labels that differ from the same sample's last one (Eq. 28).
    objective
        (U,) the transport's objective at its end.
    column_mass
        (U, k) the masses b.
    cluster_sizes
        (U, k) how many samples of the whole data carry each pseudo-label so far.
    status, n_outer, n_inner, stopped_early, collapsed
        (U,) how the transport ended.
    """

    stage: NDArray[np.str_]
    loss: NDArray[np.float64]
    instance_loss: NDArray[np.float64]
    attention_loss: NDArray[np.float64]
    pseudo_label_loss: NDArray[np.float64]
    target_iteration: NDArray[np.int64]
    change_rate: NDArray[np.float64]
    objective: NDArray[np.float64]
    column_mass: NDArray[np.float32]
    cluster_sizes: NDArray[np.int32]
    status: NDArray[np.str_]
    n_outer: NDArray[np.int64]
    n_inner: NDArray[np.int64]
    stopped_early: NDArray[np.bool_]
    collapsed: NDArray[np.bool_]

    def to_frame(self) -> pd.DataFrame:
        """Return one row an iteration, without masses and sizes."""
        by_step = [f.name for f in fields(self)][:5]
        frame = pd.DataFrame({name: getattr(self, name) for name in by_step})
        frame.index.name = "iteration"
        targets = pd.DataFrame(
            {
                name: getattr(self, name)
                for name in (
                    "change_rate",
                    "objective",
                    "status",
                    "n_outer",
                    "n_inner",
                    "stopped_early",
                    "collapsed",
                )
            },
            index=pd.Index(self.target_iteration, name="iteration"),
        )
        return frame.join(targets)


class Recorder:
    """Collects events into a :class:`History`; its arrays go into checkpoints and come back."""

    def __init__(self, n_clusters: int) -> None:
        self._n_clusters = n_clusters
        self._steps: list[tuple[float, ...]] = []
        self._targets: list[tuple[float, ...]] = []
        self._masses: list[NDArray[np.float32]] = []
        self._sizes: list[NDArray[np.int32]] = []

    def observe(self, event: Event, last_labels: NDArray[np.int64]) -> None:
        """Take note of an event; ``last_labels`` (n,) are the newest pseudo-labels, −1 for none."""
        if isinstance(event, StepDone):
            self._steps.append(
                (
                    _STAGES.index(event.stage),
                    event.loss,
                    event.instance_loss,
                    event.attention_loss,
                    event.pseudo_label_loss,
                )
            )
        elif isinstance(event, TargetsMade):
            self._targets.append(
                (
                    event.iteration,
                    event.change_rate,
                    _STATUSES.index(event.status),
                    event.n_outer,
                    event.n_inner,
                    event.stopped_early,
                    event.collapsed,
                    event.objective,
                )
            )
            self._masses.append(event.column_mass.astype(np.float32))
            known = last_labels[last_labels >= 0]
            self._sizes.append(np.bincount(known, minlength=self._n_clusters).astype(np.int32))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all that was noted, as arrays."""
        k = self._n_clusters
        return {
            "steps": np.array(self._steps, dtype=np.float64).reshape(-1, 5),
            "targets": np.array(self._targets, dtype=np.float64).reshape(-1, 8),
            "masses": np.array(self._masses, dtype=np.float32).reshape(-1, k),
            "sizes": np.array(self._sizes, dtype=np.int32).reshape(-1, k),
        }

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take back what :meth:`arrays` returned."""
        self._steps = [tuple(row) for row in arrays["steps"].astype(np.float64).tolist()]
        self._targets = [tuple(row) for row in arrays["targets"].astype(np.float64).tolist()]
        self._masses = list(arrays["masses"].astype(np.float32))
        self._sizes = list(arrays["sizes"].astype(np.int32))

    @property
    def change_rate(self) -> NDArray[np.float64]:
        """The change rates so far, (U,)."""
        return np.array([row[1] for row in self._targets], dtype=np.float64)

    @property
    def objective(self) -> NDArray[np.float64]:
        """The transport's objectives so far, (U,)."""
        return np.array([row[7] for row in self._targets], dtype=np.float64)

    def history(self) -> History:
        """Return the record so far."""
        arrays = self.arrays()
        steps, targets = arrays["steps"].astype(np.float64), arrays["targets"].astype(np.float64)
        return History(
            stage=np.array([_STAGES[int(i)].value for i in steps[:, 0]], dtype=np.str_),
            loss=steps[:, 1],
            instance_loss=steps[:, 2],
            attention_loss=steps[:, 3],
            pseudo_label_loss=steps[:, 4],
            target_iteration=targets[:, 0].astype(np.int64),
            change_rate=targets[:, 1],
            objective=targets[:, 7],
            column_mass=arrays["masses"].astype(np.float32),
            cluster_sizes=arrays["sizes"].astype(np.int32),
            status=np.array([_STATUSES[int(i)].name.lower() for i in targets[:, 2]], dtype=np.str_),
            n_outer=targets[:, 3].astype(np.int64),
            n_inner=targets[:, 4].astype(np.int64),
            stopped_early=targets[:, 5].astype(np.bool_),
            collapsed=targets[:, 6].astype(np.bool_),
        )
