"""The plan of a run of Algorithm 1, and the run: what lies between estimator and trainer."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caot.imbalance import Imbalance, resolve_imbalance
from caot.inputs import Inputs, check_views, require_distinct
from caot.preparation import Preparation, choose_layers, load, prepare
from caot.progress import ProgressBar
from caot.reading import Reading, read
from caot.settings import FitSettings
from caot.training import (
    Callback,
    EndReason,
    History,
    Networks,
    Snapshot,
    Trainer,
    TrainingConfig,
    TrainingData,
)
from caot.vectors import unit_scale

logger = logging.getLogger("caot")


@dataclass(frozen=True, slots=True, eq=False)
class FitOutcome:
    """What a run leaves behind."""

    networks: Networks
    imbalance: Imbalance
    history: History
    n_iter: int
    n_saved: int
    reason: EndReason


@dataclass(frozen=True, slots=True, eq=False)
class FitPlan:
    """A run that is ready: inputs prepared and read, first clusters found, settings made."""

    prepared: Preparation
    config: TrainingConfig
    imbalance: Imbalance
    reading: Reading
    verbose: int

    @classmethod
    def make(
        cls,
        settings: FitSettings,
        n_clusters: int,
        inputs: Inputs,
        views: tuple[Iterable[str] | ArrayLike, Iterable[str] | ArrayLike] | None,
    ) -> Self:
        """Do everything that comes before training, the cheap checks first."""
        usual = settings.iterations(frozen=False, n_samples=len(inputs))
        given = None if views is None else check_views(views, inputs)
        require_distinct(inputs, n_clusters)
        loaded = load(settings, inputs)
        choice = choose_layers(settings, loaded, usual)
        schedule = settings.schedule(
            frozen=choice.layers == "none", n_samples=len(inputs.filled), n_iter=choice.n_iter
        )
        prepared = prepare(settings, loaded, choice.layers, given, n_iter=schedule.max_iter)
        reading = read(settings, prepared, n_clusters)
        imbalance = _look_at_sizes(settings, n_clusters, reading.beginning.clusters)
        config = settings.config(
            n_clusters,
            schedule,
            layers=choice.layers,
            uniformity=imbalance.uniformity,
            embedding_scale=unit_scale(reading.vectors),
        )
        return cls(prepared, config, imbalance, reading, settings.verbose)

    @property
    def data(self) -> TrainingData:
        """What is learned from: the inputs and their views, with their words where those count."""
        return replace(self.prepared.data, words=self.reading.words_of_views)

    def run(
        self,
        *,
        deadline: float,
        callbacks: Sequence[Callback],
        checkpoint: Path | None,
        checkpoint_every: int,
    ) -> FitOutcome:
        """Train, from the checkpoint if there is one, and keep it up to date."""
        bar = ProgressBar()
        observers: list[Callback] = [*callbacks]
        if self.verbose > 0:
            observers.append(bar)
        trainer = Trainer(
            self.prepared.training_encoder,
            self.data,
            self.config,
            self.prepared.parameters,
            observers,
            beginning=self.reading.beginning,
        )
        try:
            if checkpoint is None:
                reason = trainer.run(deadline)
            else:
                reason = self._run_with_checkpoint(trainer, deadline, checkpoint, checkpoint_every)
        finally:
            bar.close()
        left = self.config.schedule.total - trainer.iteration
        return FitOutcome(
            networks=trainer.networks,
            imbalance=self.imbalance,
            history=trainer.history,
            n_iter=trainer.iteration,
            n_saved=left if reason is EndReason.SETTLED else 0,
            reason=reason,
        )

    def _run_with_checkpoint(
        self, trainer: Trainer, deadline: float, path: Path, every: int
    ) -> EndReason:
        run = self._identity()
        if path.exists():
            Snapshot.load(path, run).restore(trainer)
            logger.info("resuming %s at iteration %d", path, trainer.iteration)
        try:
            return trainer.run(deadline, lambda state: state.save(path, run), every)
        except KeyboardInterrupt:
            logger.warning("interrupted; fit again with checkpoint=%r to go on", str(path))
            raise

    def _identity(self) -> str:
        """Return a hash of all that decides the result."""
        content = hashlib.sha256(json.dumps(self.config.as_dict(), sort_keys=True).encode())
        data, parameters, words = self.data, self.prepared.parameters, self.reading.words
        for part in (data.original, data.first, data.second):
            content.update(b"-" if part is None else part.digest().encode())
        said = "" if words is None else words.digest()
        how = f"{data.noise} {data.mixed_precision} {len(parameters)} {said}"
        content.update(f"{how} {self.prepared.encoder.fingerprint}".encode())
        return content.hexdigest()


def _look_at_sizes(settings: FitSettings, n_clusters: int, start: NDArray[np.int64]) -> Imbalance:
    """Return what the sizes of the first clusters say about imbalance."""
    imbalance = resolve_imbalance(
        settings.imbalance,
        start=start,
        n_clusters=n_clusters,
        epsilon=settings.epsilon,
        consistency=settings.consistency,
        penalty=settings.penalty,
        use_floor=not settings.is_faithful,
        scale=settings.open_choices.uniformity_scale,
    )
    logger.info("%s", imbalance.sentence)
    return imbalance
