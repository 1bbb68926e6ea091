"""What a user asks of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from caot.plain import from_plain
from caot.runs.describing import Describing, Endpoint
from caot.runs.errors import RunError
from caot.runs.methods import CAOT, check_method, check_parameters, find_run_method
from caot.settings import FitSettings

if TYPE_CHECKING:
    from caot.clusterer import TextClusterer

CHECKPOINT_EVERY = 20


@dataclass(frozen=True, slots=True)
class RunSettings(FitSettings):
    """Settings of a run: those of the fit, by the names of `caot.CAOT`'s parameters, and its own.

    Parameters
    ----------
    n_clusters
        A number, or "auto" for the best of a curve over K.
    method
        A name of `caot.runs.RUN_METHODS`. Settings that it shares with `caot.CAOT` have the same
        names; one that is left as it is in `caot.CAOT` is left to the method's own default.
    method_settings
        Parameters of the method's estimator that have no place among the others.
    encoder
        As in `caot.CAOT`, but always by its name: a run must be able to go on.
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
    _: KW_ONLY
    method: str = CAOT
    method_settings: Mapping[str, Any] = field(default_factory=dict)
    encoder: str = "auto"
    min_confidence: float | None = None
    describing: Describing = field(default_factory=Describing)
    endpoint: Endpoint | None = None
    raw: bool = False
    checkpoint_every: int = CHECKPOINT_EVERY

    def __post_init__(self) -> None:
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            msg = f"the least confidence is {self.min_confidence}: give a number from 0 to 1"
            raise RunError(msg)
        method = check_method(self.method, self.n_clusters)
        FitSettings.__post_init__(self)
        asked = None if self.n_clusters == "auto" else self.n_clusters
        check_parameters(method, self._shared(), self.method_settings, asked)

    @property
    def reads_by_encoder(self) -> bool:
        """Whether the method's vectors come from an encoder."""
        return "encoder" in find_run_method(self.method).usual()

    def parameters(self, n_clusters: int | None) -> dict[str, Any]:
        """Return the parameters of the method's estimator; None lets it find K."""
        return from_plain({"n_clusters": n_clusters, **self._shared(), **self.method_settings})

    def estimator(self, n_clusters: int | None) -> TextClusterer:
        """Return the method's estimator, not fitted yet."""
        return find_run_method(self.method).load()(**self.parameters(n_clusters))

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; of an endpoint no key."""
        plain = {"n_clusters": self.n_clusters, **FitSettings.as_dict(self)}
        if plain["endpoint"] is not None:
            del plain["endpoint"]["api_key"]
        return plain

    def _shared(self) -> dict[str, Any]:
        """Return the settings of the fit: of another method than CAOT those that were changed."""
        given = {one.name: getattr(self, one.name) for one in fields(FitSettings)}
        if self.method == CAOT:
            return given
        usual = FitSettings()
        return {name: value for name, value in given.items() if value != getattr(usual, name)}
