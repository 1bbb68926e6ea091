"""What the trained methods share: from inputs to a prepared encoder, the loop, the head."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch

from caot.baselines.base import Baseline, Vectors, Views
from caot.baselines.heads import Centroids, Head
from caot.baselines.representation import AdaptedEncoder, Representation
from caot.baselines.training import Loop, Objective, Outcome, seeded
from caot.inputs import Inputs
from caot.kmeans import kmeans
from caot.preparation import Preparation, choose_layers, load, prepare
from caot.progress import ProgressBar
from caot.quantities import seconds
from caot.settings import AugmenterSpec, EncoderSpec, FineTune, PreparationSettings
from caot.training import Callback, EndReason, History

logger = logging.getLogger("caot")

_RATE_ALL = 2e-5
_RATE_TOP = 1e-4


@dataclass(eq=False, repr=False, kw_only=True)
class TrainedMethod(Baseline):
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
    batch_size
        Samples an iteration.
    max_length
        The most tokens of a text that are read; None is the encoder's own.
    learning_rate, learning_rate_encoder
        Adam's step sizes of the networks and of the encoder; None for the encoder's is 1e-4 for
        top layers and 2e-5 for all.
    n_init
        Starts of K-means.
    time_budget
        Training ends after this time, as seconds or "10min".
    cache_memory
        How much of what frozen layers give is kept in memory when top layers learn.
    device
        "cpu", "cuda", ...; None takes the best at hand.

    Attributes
    ----------
    history_ : History
        The record of the training.
    n_iter_ : int
        Iterations done.
    end_reason_ : EndReason
        Why training ended.
    n_parameters_ : int
        Parameters that were trained on top of the encoder.
    """

    encoder: EncoderSpec = "auto"
    finetune: FineTune = "auto"
    augmenter: AugmenterSpec = "auto"
    max_iter: int | None = None
    batch_size: int = 200
    max_length: int | None = None
    learning_rate: float = 5e-4
    learning_rate_encoder: float | None = None
    n_init: int = 10
    time_budget: float | str | None = None
    cache_memory: float | str = "2GB"
    device: str | None = None

    _least: ClassVar[dict[str, int]] = {**Baseline._least, "batch_size": 2, "n_init": 1}
    _always_adapts: ClassVar[bool] = False

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        """Return what is minimised, with its networks on the source's device."""
        raise NotImplementedError

    def _head(self, objective: Objective, vectors: Vectors) -> Head:
        """Return what gives the clusters in the end: by default K-means."""
        found = kmeans(vectors, self.n_clusters, n_init=self.n_init, random_state=self.random_state)
        return Centroids.of(vectors, found.centers)

    def _views_for(self, inputs: Inputs, views: Views | None) -> tuple[Any, Any] | None:
        """Return the views to use; None lets the augmenter make them."""
        return views

    def _augmenter_for(self, inputs: Inputs, *, frozen: bool) -> AugmenterSpec:
        """Return the augmenter to use."""
        return self.augmenter

    def _usual_iterations(self, n_samples: int, *, frozen: bool) -> int:
        """Return how many iterations there are where the user set no number."""
        return 1000 if frozen else min(400, max(200, n_samples // 25))

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        deadline = time.monotonic() + seconds(self.time_budget)
        prepared, n_iter = self._prepare(inputs, views)
        with seeded(self.random_state):
            source = Representation(prepared, self.random_state, always_adapt=self._always_adapts)
            objective = self._objective(source, n_iter)
            loop = Loop(n_iter, self.batch_size, self.random_state, deadline, self.n_clusters)
            outcome = self._train(loop, objective, source, callbacks)
            encoder, vectors = source.final()
            head = self._head(objective, vectors)
        self._take(outcome)
        on_top = [objective.networks, *([] if source.adapter is None else [source.adapter])]
        self.n_parameters_ = sum(p.numel() for part in on_top for p in part.parameters())
        self.encoder_, self.networks_ = encoder, head.eval().to(source.device)
        return vectors

    def _train(
        self,
        loop: Loop,
        objective: Objective,
        source: Representation,
        callbacks: Sequence[Callback],
    ) -> Outcome:
        groups: list[dict[str, Any]] = []
        networks = [p for p in objective.networks.parameters() if p.requires_grad]
        if source.adapter is not None:
            networks += list(source.adapter.parameters())
        if networks:
            groups.append({"params": networks, "lr": self.learning_rate})
        if source.prepared.parameters:
            rate = self.learning_rate_encoder
            if rate is None:
                rate = _RATE_ALL if source.prepared.layers == "all" else _RATE_TOP
            groups.append({"params": source.prepared.parameters, "lr": rate})
        bar = ProgressBar()
        observers: list[Callback] = [*callbacks]
        if self.verbose > 0:
            observers.append(bar)
        try:
            return loop.run(objective, torch.optim.Adam(groups), len(source), observers)
        finally:
            bar.close()

    def _prepare(self, inputs: Inputs, views: Views | None) -> tuple[Preparation, int]:
        """Return the prepared inputs and the number of iterations."""
        settings = PreparationSettings.of({**self.get_params(deep=False), "mode": "default"})
        given = self._views_for(inputs, views)
        loaded = load(settings, inputs)
        usual = self.max_iter or self._usual_iterations(len(inputs), frozen=False)
        choice = choose_layers(settings, loaded, usual)
        frozen = choice.layers == "none"
        n_iter = choice.n_iter or self.max_iter
        n_iter = n_iter or self._usual_iterations(len(inputs), frozen=frozen)
        settings = replace(settings, augmenter=self._augmenter_for(inputs, frozen=frozen))
        return prepare(settings, loaded, choice.layers, given, n_iter=n_iter), n_iter

    def _take(self, outcome: Outcome) -> None:
        self.history_: History = outcome.history
        self.n_iter_ = outcome.n_iter
        self.end_reason_: EndReason = outcome.reason
        if outcome.reason is EndReason.DIVERGED:
            msg = f"training stopped after {self.n_iter_} iterations because a loss was not "
            msg += "finite: use lower learning rates, or check the inputs for extreme values"
            warnings.warn(msg, RuntimeWarning, stacklevel=4)
        elif outcome.reason is EndReason.TIME:
            logger.info("training stopped after %d iterations: %s", self.n_iter_, "time")

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> Any:  # noqa: ANN401
        return AdaptedEncoder.load(folder, device)
