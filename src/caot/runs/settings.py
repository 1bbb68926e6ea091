"""What a user asks of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from caot.imbalance import ImbalanceSpec
from caot.runs.describing import Describing, Endpoint
from caot.runs.errors import RunError
from caot.settings import FineTune, check_finetune, seconds

CHECKPOINT_EVERY = 20


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a run; those with the names of `caot.CAOT`'s parameters are its.

    Parameters
    ----------
    n_clusters
        A number, or "auto" for the best of a curve over K.
    min_confidence
        Texts with less confidence get the cluster −1.
    describing
        How clusters are put into words.
    endpoint
        A language model that writes the labels; None sends nothing anywhere.
    raw
        Whether cells of CSV that a spreadsheet would run as formulas stay as they are.
    checkpoint_every
        Iterations between two checkpoints.
    """

    n_clusters: int | Literal["auto"]
    encoder: str = "auto"
    finetune: FineTune = "auto"
    imbalance: ImbalanceSpec = "auto"
    max_iter: int | None = None
    max_length: int | None = None
    on_empty: Literal["error", "own-cluster"] = "error"
    time_budget: float | str | None = None
    device: str | None = None
    random_state: int = 0
    min_confidence: float | None = None
    describing: Describing = field(default_factory=Describing)
    endpoint: Endpoint | None = None
    raw: bool = False
    checkpoint_every: int = CHECKPOINT_EVERY

    def __post_init__(self) -> None:
        if self.n_clusters != "auto" and self.n_clusters < 2:
            msg = f"the number of clusters is {self.n_clusters}: ask for at least 2, or auto"
            raise RunError(msg)
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            msg = f"the least confidence is {self.min_confidence}: give a number from 0 to 1"
            raise RunError(msg)
        check_finetune(self.finetune)
        seconds(self.time_budget)

    def parameters(self, n_clusters: int) -> dict[str, Any]:
        """Return the parameters of `caot.CAOT`."""
        return {
            "n_clusters": n_clusters,
            "encoder": self.encoder,
            "finetune": self.finetune,
            "imbalance": self.imbalance,
            "max_iter": self.max_iter,
            "max_length": self.max_length,
            "on_empty": self.on_empty,
            "time_budget": self.time_budget,
            "device": self.device,
            "random_state": self.random_state,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; of an endpoint no key."""
        plain = asdict(self)
        if plain["endpoint"] is not None:
            del plain["endpoint"]["api_key"]
        return plain
