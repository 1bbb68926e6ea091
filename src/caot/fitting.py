"""The plan of a run of Algorithm 1, and the run: what lies between estimator and trainer."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caot.imbalance import Imbalance, resolve_imbalance
from caot.inputs import Inputs, check_views, require_distinct
from caot.preparation import Embeddings, Preparation, choose_layers, load, prepare
from caot.progress import ProgressBar
from caot.settings import FitSettings
from caot.start import Beginning, begin
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
from caot.words import Words, beside

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
    """A run that is ready: inputs prepared, first clusters found, settings made.

    ``words`` are those of the texts, if they count; ``vectors`` is V(0) before training.
    """

    prepared: Preparation
    config: TrainingConfig
    imbalance: Imbalance
    words: Words | None
    data: TrainingData
    vectors: Embeddings
    beginning: Beginning
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
        words = _words(settings, inputs)
        said = None if words is None else _words_of_views(words, prepared)
        vectors = beside(prepared.vectors, None if said is None else said[0])
        beginning = _begin(settings, n_clusters, vectors)
        if said is not None and settings.asks_whether_words_help:
            without = _begin(settings, n_clusters, prepared.vectors)
            helps = beginning.is_clearly_better_than(without)
            told = "words %s beside the embeddings (modularity %.3f with them, %.3f without)"
            verb = "count" if helps else "do not count"
            logger.info(told, verb, beginning.modularity, without.modularity)
            if not helps:
                words, said, vectors, beginning = None, None, prepared.vectors, without
        data = replace(prepared.data, words=said)
        imbalance = _look_at_sizes(settings, n_clusters, beginning.clusters)
        config = settings.config(
            n_clusters,
            schedule,
            layers=choice.layers,
            uniformity=imbalance.uniformity,
            embedding_scale=_unit_scale(vectors),
        )
        verbose = settings.verbose
        return cls(prepared, config, imbalance, words, data, vectors, beginning, verbose)

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
            beginning=self.beginning,
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
        data, parameters = self.data, self.prepared.parameters
        for part in (data.original, data.first, data.second):
            content.update(b"-" if part is None else part.digest().encode())
        words = "" if self.words is None else self.words.digest()
        how = f"{data.noise} {data.mixed_precision} {len(parameters)} {words}"
        content.update(f"{how} {self.prepared.encoder.fingerprint}".encode())
        return content.hexdigest()


def _begin(settings: FitSettings, n_clusters: int, vectors: Embeddings) -> Beginning:
    """Return first clusters and neighbours as the settings want them."""
    return begin(
        vectors,
        n_clusters,
        settings.start,
        with_neighbours=settings.neighbour_weight > 0,
        random_state=int(settings.random_state),
    )


def _words(settings: FitSettings, inputs: Inputs) -> Words | None:
    """Return the words of the texts, if they count."""
    if inputs.is_vectors or settings.word_weight == 0:
        return None
    texts = [inputs.values[row] for row in inputs.filled]
    return Words.of(texts, settings.word_weight, random_state=int(settings.random_state))


def _words_of_views(words: Words, prepared: Preparation) -> tuple[Embeddings, ...]:
    """Return the vectors of the words of the inputs that are not empty, and of their views."""
    inputs = prepared.inputs
    parts = (inputs.values, *(prepared.views or ()))
    return tuple(words.vectors([part[row] for row in inputs.filled]) for part in parts)


def _look_at_sizes(settings: FitSettings, n_clusters: int, start: NDArray[np.int64]) -> Imbalance:
    """Return what the sizes of the first clusters say about imbalance."""
    imbalance = resolve_imbalance(
        settings.imbalance,
        start=start,
        n_clusters=n_clusters,
        epsilon=settings.epsilon,
        consistency=settings.consistency,
        use_floor=not settings.is_faithful,
        scale=settings.open_choices.uniformity_scale,
    )
    logger.info("%s", imbalance.sentence)
    return imbalance


def _unit_scale(embeddings: Embeddings) -> float:
    """Return the factor that gives the embeddings a mean square of one."""
    sample = embeddings[:: max(1, len(embeddings) // 10_000)]
    mean_square = float(np.mean(np.square(sample, dtype=np.float64)))
    return 1.0 / math.sqrt(mean_square) if mean_square > 0 else 1.0
