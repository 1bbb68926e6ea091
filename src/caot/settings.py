"""What a user sets, declared once: the settings of any method, and those of this one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias

from caot.augment import Augmenter, check_augmenter
from caot.checks import (
    check_device,
    check_finetune,
    check_seed,
    require_choice,
    require_integer,
)
from caot.effort import Layers
from caot.encoders import Encoder
from caot.imbalance import ImbalanceSpec, PenaltyKind, check_imbalance
from caot.inputs import EMPTY_OWN
from caot.plain import plain
from caot.quantities import n_bytes, seconds
from caot.start import StartKind, StartSettings
from caot.training import Objective, Schedule, Stopping, TrainingConfig
from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    ConsistentTransport,
    Prediction,
    Transport,
)
from caot.variant import Variant

__all__ = ["FitSettings", "PreparationSettings", "Variant"]

Mode: TypeAlias = Literal["default", "faithful"]
FineTune: TypeAlias = Literal["auto", "all", "none"] | int
OnEmpty: TypeAlias = Literal["error", "own-cluster"]
EncoderSpec: TypeAlias = str | os.PathLike[str] | Encoder
AugmenterSpec: TypeAlias = str | Augmenter | Callable[[list[str]], object]

# Raised when the default mode, its settings as they were, may find other clusters than before: if
# handicaps of readings change, or the gentle penalty. Records know by it that they are old.
DEFAULT_MODE_VERSION = 2
_FAITHFUL_ITER = 2000
_FROZEN_ITER = 1000
# The paper's warm-up is 600 of 2,000 iterations; other budgets keep the share.
_WARMUP_SHARE = 0.3
# Iterations that pseudo-labels must stand still before training ends early.
_PATIENCE = 100
# The neighbours' weight over log k, which is the cost of a prediction that says nothing.
_NEIGHBOUR_PULL = 4.5
_WORD_WEIGHT = 0.5
_PATIENCE_FROZEN = 150  # cheap iterations: no hurry
# How well masses fit in the joint consistent transport: no label hangs on more digits.
_INNER_TOL = 1e-6


def usual_iterations(n_samples: int, *, frozen: bool) -> int:
    """Return how many iterations a method has: 1,000, or 200 to 400 if layers learn.

    These are costly, and more of them gained nothing where every sample came twice.
    """
    return _FROZEN_ITER if frozen else min(400, max(200, n_samples // 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationSettings:
    """What turns texts into something to learn from; every method has these settings.

    The names, meanings and defaults are those of the parameters of :class:`~caot.CAOT`. A method
    with more settings inherits from this class and adds its own.
    """

    encoder: EncoderSpec = "auto"
    finetune: FineTune = "auto"
    augmenter: AugmenterSpec = "auto"
    mode: Mode = "default"
    batch_size: int = 200
    max_length: int | None = None
    max_chunks: int | None = None
    on_empty: OnEmpty = "error"
    time_budget: float | str | None = None
    cache_memory: float | str = "2GB"
    device: str | None = None
    random_state: int = 0
    verbose: int = 0

    def __post_init__(self) -> None:
        check_seed(self.random_state)
        for name, least in (("batch_size", 2), ("verbose", 0)):
            require_integer(name, getattr(self, name), least)
        for name in ("max_length", "max_chunks"):
            if getattr(self, name) is not None:
                require_integer(name, getattr(self, name), 1)
        require_choice("mode", self.mode, ("default", "faithful"))
        require_choice("on_empty", self.on_empty, ("error", EMPTY_OWN))
        check_augmenter(self.augmenter)
        check_device(self.device)
        check_finetune(self.finetune)
        seconds(self.time_budget)
        n_bytes(self.cache_memory)

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the settings among the parameters of an estimator; others are left aside."""
        return cls(**{field.name: parameters[field.name] for field in fields(cls)})

    @property
    def is_faithful(self) -> bool:
        """Whether everything is done as printed in the paper."""
        return self.mode == "faithful"

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; objects are written as their names."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings(PreparationSettings):
    """All that :class:`~caot.CAOT` is told but the number of clusters, which a run may leave open.

    What a setting of None means depends on mode, data and trained layers; the methods, which return
    the settings of the trainer's parts, know.
    """

    imbalance: ImbalanceSpec = "auto"
    max_iter: int | None = None
    warmup_iter: int | None = None
    patience: int | None = None
    epsilon: float = 1.0
    consistency: float = 25.0
    contrast_weight: float = 5.0
    temperature_instance: float = 1.0
    temperature_attention: float = 1.0
    learning_rate: float = 5e-4
    learning_rate_encoder: float | None = None
    variant: Variant | None = None

    def __post_init__(self) -> None:
        PreparationSettings.__post_init__(self)  # super() does not know a class with slots
        for name, least in (("max_iter", 1), ("warmup_iter", 0), ("patience", 0)):
            if getattr(self, name) is not None:
                require_integer(name, getattr(self, name), least)
        if self.variant is not None and not isinstance(self.variant, Variant):
            msg = f"variant must be a caot.Variant, got {type(self.variant).__name__}"
            raise TypeError(msg)
        check_imbalance(self.imbalance)
        # The parts check their settings themselves, whatever layers and penalty there will be.
        self.objective("all")
        self.transport(uniformity=1.0)
        if self.max_iter is not None:
            self.schedule(frozen=True, n_samples=1)

    @property
    def open_choices(self) -> Variant:
        """The variant, with its defaults if none was given."""
        return self.variant or Variant()

    @property
    def start(self) -> StartSettings:
        """How the first clusters are found."""
        choices = self.open_choices
        kind: StartKind = "kmeans" if self.is_faithful else "neighbours"
        return StartSettings(choices.start or kind, choices.kmeans_restarts)

    @property
    def word_weight(self) -> float:
        """How much the words of the texts count beside their embeddings (Eq. 36)."""
        return self._unless_faithful(self.open_choices.word_weight, _WORD_WEIGHT)

    @property
    def asks_whether_words_help(self) -> bool:
        """Whether words count, emphasised or not, only if the first clusters are better so."""
        return self.open_choices.word_weight is None and self.start.kind == "neighbours"

    @property
    def penalty(self) -> PenaltyKind:
        """Which rule finds the penalty weight ε2 (Eqs. 15 and 37)."""
        return self.open_choices.penalty or ("printed" if self.is_faithful else "gentle")

    def neighbour_weight(self, n_clusters: int) -> float:
        """Return how much the neighbours' pseudo-labels count in the transport (Eq. 35)."""
        usual = _NEIGHBOUR_PULL * math.log(n_clusters)
        return self._unless_faithful(self.open_choices.neighbour_weight, usual)

    def _unless_faithful(self, given: float | None, usual: float) -> float:
        """Return a weight as it was given, or else 0 in faithful mode and the usual one."""
        if given is not None:
            return given
        return 0.0 if self.is_faithful else usual

    def iterations(self, *, frozen: bool, n_samples: int) -> int:
        """Return how many iterations a run has.

        Without ``max_iter`` these are the paper's 2,000 in faithful mode, or else as many as
        `usual_iterations` says.
        """
        if self.max_iter is not None:
            return self.max_iter
        if self.is_faithful:
            return _FAITHFUL_ITER
        return usual_iterations(n_samples, frozen=frozen)

    def schedule(self, *, frozen: bool, n_samples: int, n_iter: int | None = None) -> Schedule:
        """Return the schedule of a run.

        Parameters
        ----------
        frozen
            Whether the encoder stays as it is.
        n_samples
            The number of samples to learn from.
        n_iter
            The number of iterations where it is decided already, for lack of time.
        """
        max_iter = n_iter or self.iterations(frozen=frozen, n_samples=n_samples)
        warmup_iter = self.warmup_iter
        if warmup_iter is None:
            # The default mode's first clusters know words: contrast alone does not better them.
            has_warmup = self.is_faithful or frozen
            warmup_iter = round(_WARMUP_SHARE * max_iter) if has_warmup else 0
        elif self.max_iter is None:  # what the user could not know must not be an error
            warmup_iter = min(warmup_iter, max_iter)
        return Schedule(max_iter, warmup_iter, self.open_choices.head_iter, self.batch_size)

    def objective(self, layers: Layers) -> Objective:
        """Return the settings of losses and optimiser where these layers of the encoder learn."""
        rate = self.learning_rate_encoder
        if rate is None and self.is_faithful:
            rate = 5e-6
        elif rate is None:
            rate = 2e-5 if layers == "all" else 1e-4
        return Objective(
            contrast_weight=self.contrast_weight,
            temperature_instance=self.temperature_instance,
            temperature_attention=self.temperature_attention,
            learning_rate=self.learning_rate,
            learning_rate_encoder=rate,
        )

    def transport(self, uniformity: float) -> Transport:
        """Return the solver that makes the pseudo-labels, with the penalty weight ε2."""
        variant, epsilon = self.open_choices, self.epsilon
        scheme = variant.scheme or ("alternating" if self.is_faithful else "joint")
        if variant.pseudo_labels == "prediction":
            return Prediction()
        if variant.pseudo_labels == "balanced":
            return BalancedTransport(epsilon, scheme=scheme)
        if variant.pseudo_labels == "adaptive":
            return AdaptiveTransport(epsilon, uniformity, scheme=scheme)
        # As printed, all ten times ten steps are taken.
        if scheme == "alternating":
            return ConsistentTransport(
                epsilon, uniformity, self.consistency, scheme=scheme, outer_tol=0.0, inner_tol=0.0
            )
        return ConsistentTransport(
            epsilon, uniformity, self.consistency, scheme=scheme, inner_tol=_INNER_TOL
        )

    def stopping(self, *, frozen: bool) -> Stopping:
        """Return when training may end before its last iteration."""
        if self.patience is not None:
            return Stopping(self.patience)
        usual = _PATIENCE_FROZEN if frozen else _PATIENCE
        return Stopping(0 if self.is_faithful else usual)

    def config(
        self,
        n_clusters: int,
        schedule: Schedule,
        *,
        layers: Layers,
        uniformity: float,
        embedding_scale: float,
    ) -> TrainingConfig:
        """Return the settings of the trainer.

        Parameters
        ----------
        n_clusters, schedule
            The number of clusters, and what :meth:`schedule` returned.
        layers
            Which layers of the encoder learn.
        uniformity
            The penalty weight ε2.
        embedding_scale
            Gives embeddings a mean square of one; faithful mode takes them as they are.
        """
        variant, frozen = self.open_choices, layers == "none"
        in_evaluation = variant.predict_in_evaluation
        return TrainingConfig(
            n_clusters=int(n_clusters),
            schedule=schedule,
            objective=self.objective(layers),
            similarity=variant.similarity_settings,
            transport=self.transport(uniformity),
            stopping=self.stopping(frozen=frozen),
            attention=variant.attention,
            predict_in_evaluation=not self.is_faithful if in_evaluation is None else in_evaluation,
            start=self.start,
            neighbour_weight=self.neighbour_weight(int(n_clusters)),
            embedding_scale=1.0 if self.is_faithful else embedding_scale,
            head_on_originals=not self.is_faithful and not frozen,
            random_state=int(self.random_state),
        )
