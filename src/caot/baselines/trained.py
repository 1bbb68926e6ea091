"""What the trained methods share: from inputs to a prepared encoder, the loop, the head."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from caot.baselines.base import Vectors, Views
from caot.baselines.heads import Centroids, Head
from caot.baselines.learned import LearnedMethod
from caot.baselines.representation import AdaptedEncoder, Representation
from caot.baselines.training import Loop, Objective, seeded
from caot.inputs import Inputs
from caot.preparation import Preparation, choose_layers, load, prepare
from caot.quantities import seconds
from caot.settings import (
    AugmenterSpec,
    EncoderSpec,
    FineTune,
    PreparationSettings,
    usual_iterations,
)
from caot.training import Callback

_RATE_ALL = 2e-5
_RATE_TOP = 1e-4


@dataclass(eq=False, repr=False, kw_only=True)
class TrainedMethod(LearnedMethod):
    """Fine-tunes an encoder, or a linear map on top of a frozen one, by the method's objective.

    A method implements ``_objective`` and, where K-means does not end it, ``_head``.

    Parameters
    ----------
    encoder
        "auto" (the embedded all-MiniLM-L6-v2), a hub id, a folder, or an
        :class:`~caot.encoders.Encoder`. A matrix of numbers as X needs none.
    finetune
        Which encoder layers learn: "all", a number of top layers, "none", or "auto". With "none"
        a linear map that starts as the identity learns in their place.
    augmenter
        How the two views of a text are made, as in :class:`~caot.CAOT`; ``fit(views=...)`` takes
        precedence.
    max_iter
        Iterations; None is 1,000 for a frozen encoder, 200 to 400 for one that learns.
    max_length
        The most tokens of a text that are read; None is the encoder's own.
    max_chunks
        Texts of more tokens are read in up to so many chunks, whose mean is their vector; None
        cuts them.
    learning_rate_encoder
        Adam's step size of the encoder, and of the map; None is 1e-4, and 2e-5 if all layers learn.
    time_budget
        Training ends after this time, as seconds or "10min".
    cache_memory
        How much of what frozen layers give is kept in memory when top layers learn.
    device
        "cpu", "cuda", ...; None takes the best at hand.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.learned.LearnedMethod`.

    Attributes
    ----------
    n_parameters_ : int
        Parameters that were trained on top of the encoder.
    """

    encoder: EncoderSpec = "auto"
    finetune: FineTune = "auto"
    augmenter: AugmenterSpec = "auto"
    max_iter: int | None = None
    max_length: int | None = None
    max_chunks: int | None = None
    learning_rate_encoder: float | None = None
    time_budget: float | str | None = None
    cache_memory: float | str = "2GB"
    device: str | None = None

    _may_be_none: ClassVar[tuple[str, ...]] = ("max_iter", "max_length", "max_chunks")
    _least: ClassVar[dict[str, int]] = {**LearnedMethod._least, **dict.fromkeys(_may_be_none, 1)}
    _always_adapts: ClassVar[bool] = False

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        """Return what is minimised, with its networks on the source's device."""
        raise NotImplementedError

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        """Return what gives the clusters in the end: by default K-means."""
        return Centroids.of(vectors, self._kmeans(vectors).centers)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._settings()

    def _settings(self) -> PreparationSettings:
        """Return what preparation is told, after checks of it."""
        return PreparationSettings.of({**self.get_params(deep=False), "mode": "default"})

    def _needs_views(self) -> bool:
        """Return whether the objective asks for views; none are made otherwise."""
        return True

    def _views_for(self, inputs: Inputs, views: Views | None) -> tuple[Any, Any] | None:
        """Return the views to use; None lets the augmenter make them."""
        return views

    def _augmenter_for(self, inputs: Inputs, *, frozen: bool) -> AugmenterSpec:
        """Return the augmenter to use."""
        return self.augmenter

    def _usual_iterations(self, n_samples: int, *, frozen: bool) -> int:
        """Return how many iterations there are where the user set no number."""
        return usual_iterations(n_samples, frozen=frozen)

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        deadline = time.monotonic() + seconds(self.time_budget)
        prepared, n_iter = self._prepare(inputs, views)
        with seeded(self.random_state):
            source = Representation(prepared, self.random_state, always_adapt=self._always_adapts)
            objective = self._objective(source, n_iter)
            loop = Loop(n_iter, self.batch_size, self.random_state, deadline, self.n_clusters)
            self._run(loop, objective, len(source), callbacks, more=self._extra_groups(source))
            encoder, vectors = source.final()
            head = self._head(objective, vectors)
        on_top = [objective.networks, *([] if source.adapter is None else [source.adapter])]
        self.n_parameters_ = sum(p.numel() for part in on_top for p in part.parameters())
        self.encoder_, self.networks_ = encoder, head.eval().to(source.device)
        return vectors

    def _extra_groups(self, source: Representation) -> list[dict[str, Any]]:
        """Return what learns besides the networks: the map, and layers of the encoder."""
        rate = self.learning_rate_encoder
        if rate is None:
            rate = _RATE_ALL if source.prepared.layers == "all" else _RATE_TOP
        return [{"params": source.learning(), "lr": rate}]

    def _prepare(self, inputs: Inputs, views: Views | None) -> tuple[Preparation, int]:
        """Return the prepared inputs and the number of iterations."""
        settings = self._settings()
        given = self._views_for(inputs, views)
        loaded = load(settings, inputs)
        usual = self.max_iter or self._usual_iterations(len(inputs), frozen=False)
        choice = choose_layers(settings, loaded, usual)
        frozen = choice.layers == "none"
        n_iter = choice.n_iter or self.max_iter
        n_iter = n_iter or self._usual_iterations(len(inputs), frozen=frozen)
        settings = replace(settings, augmenter=self._augmenter_for(inputs, frozen=frozen))
        with_views = self._needs_views()
        prepared = prepare(
            settings, loaded, choice.layers, given, n_iter=n_iter, with_views=with_views
        )
        return prepared, n_iter

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> Any:  # noqa: ANN401
        return AdaptedEncoder.load(folder, device)
