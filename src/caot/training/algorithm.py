"""Algorithm 1: warm-up, head start, and the interactive stage of E- and M-steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.encoders import Encoder
from caot.encoders.device import device_of, to_device
from caot.losses import attention_contrast, instance_contrast, pseudo_label_loss
from caot.neighbours import Neighbours
from caot.networks import Attention
from caot.start import Beginning, begin
from caot.training.config import Stage, TrainingConfig
from caot.training.data import Sampler, TrainingData
from caot.training.events import (
    Callback,
    EndReason,
    Event,
    Finished,
    StageStarted,
    StepDone,
)
from caot.training.history import History, Recorder
from caot.training.model import Networks
from caot.training.similarity import batch_similarity
from caot.training.state import Snapshot
from caot.training.targets import targets_made
from caot.training.updating import Losses, StepNumbers, Updater
from caot.transport import Queued, Status, TransportResult, arrays

# How often the state is kept in memory to fall back on when a loss is not finite.
_KEEP_EVERY = 50
# Rows that are projected together when an observer asks for all of them.
_CHUNK_ROWS = 8192


class Step(NamedTuple):
    """What an iteration learns from: its losses, and the transport behind them, if any."""

    losses: Losses
    transport: Queued | None = None


class Trainer:
    """Runs Algorithm 1 on an encoder, whose trainable parameters it updates, and three networks.

    Parameters
    ----------
    encoder
        Φ, with its trainable layers already chosen.
    data
        The samples in three views, prepared for the encoder.
    config
        All settings.
    parameters
        The encoder's trainable parameters, as ``set_trainable`` returned them; none when frozen.
    callbacks
        Observers, called with every event.
    beginning
        First clusters and neighbours of the samples, if they are known already.
    """

    def __init__(
        self,
        encoder: Encoder,
        data: TrainingData,
        config: TrainingConfig,
        parameters: Sequence[nn.Parameter] = (),
        callbacks: Sequence[Callback] = (),
        *,
        beginning: Beginning | None = None,
    ) -> None:
        self.encoder, self.data, self.config = encoder, data, config
        self.callbacks = tuple(callbacks)
        self.parameters = list(parameters)
        self.device = device_of(encoder)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.random_state)
            self.networks = Networks(data.width(encoder), config).to(self.device)
            self.rng_state = torch.get_rng_state()
        networks = list(self.networks.parameters())
        self.updater = Updater(networks, self.parameters, config.objective)
        self.noise = torch.Generator(self.device).manual_seed(config.random_state)
        self.sampler = Sampler(len(data), config.schedule.batch_size, config.random_state)
        self.recorder = Recorder(config.n_clusters)
        self.iteration = 0
        unknown = np.full(len(data), -1, dtype=np.int64)
        self.start = unknown
        self.neighbours: Neighbours | None = None
        self._vectors: NDArray[np.float32] | None = None
        if beginning is not None:
            self._take(beginning)
        self.last_labels = unknown.copy()

    @property
    def optimizer(self) -> torch.optim.Adam:
        """Adam, with its moments."""
        return self.updater.optimizer

    @property
    def history(self) -> History:
        """The record so far."""
        return self.recorder.history()

    def run(
        self,
        deadline: float = math.inf,
        keep: Callable[[Snapshot], None] | None = None,
        keep_every: int = _KEEP_EVERY,
    ) -> EndReason:
        """Do the iterations that are left.

        Parameters
        ----------
        deadline
            Stop when ``time.monotonic()`` has passed this.
        keep
            Given the state every ``keep_every`` iterations, at the end, and, as it last was, when
            interrupted.
        """
        schedule, reason = self.config.schedule, EndReason.COMPLETED
        good = Snapshot.take(self)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(self.rng_state)
                while self.iteration < schedule.total and reason is EndReason.COMPLETED:
                    if time.monotonic() > deadline:
                        reason = EndReason.TIME
                    elif self._has_settled():
                        reason = EndReason.SETTLED
                    elif not self._iterate(schedule.stage(self.iteration)):
                        reason = EndReason.DIVERGED
                    else:
                        self.iteration += 1
                        self.rng_state = torch.get_rng_state()
                        is_due = self.iteration % keep_every == 0
                        if (is_due or self.iteration % _KEEP_EVERY == 0) and (
                            self.updater.is_finite()
                        ):
                            good = Snapshot.take(self)
                            _pass_on(good, keep if is_due else None)
        except KeyboardInterrupt:
            _pass_on(good, keep)
            raise
        if reason is EndReason.DIVERGED or not self.updater.is_finite():
            good.restore(self)
            reason = EndReason.DIVERGED
        _pass_on(Snapshot.take(self), keep)
        self._emit(Finished(self.iteration, reason))
        return reason

    def _has_settled(self) -> bool:
        return self.config.stopping.has_settled(self.recorder.change_rate, self.recorder.objective)

    def _iterate(self, stage: Stage) -> bool:
        """Do one iteration; return whether all of it was finite."""
        if self.iteration == self.config.schedule.bounds(stage)[0]:
            self._enter(stage)
        self._set_mode(training=True)
        rows = self.sampler.next()
        step = {
            Stage.WARM_UP: self._warmup_step,
            Stage.HEAD_START: self._head_step,
            Stage.INTERACTIVE: self._interactive_step,
        }[stage](rows)
        return step is not None and self._update(stage, rows, step)

    def _warmup_step(self, rows: NDArray[np.int64]) -> Step:
        v1, v2 = self._encode_views(rows)
        z1, z2 = self.networks.project(v1), self.networks.project(v2)
        attention = self.networks.attention(z1, z2)
        return Step(self._contrast(z1, z2, attention, self._starting_targets(rows)))

    def _head_step(self, rows: NDArray[np.int64]) -> Step:
        if self.config.head_on_originals:
            v1 = v2 = to_device(self._embeddings()[rows], self.device)
        else:
            with torch.no_grad():  # the clustering network alone learns here
                v1, v2 = self._encode_views(rows)
        predict, labels = self.networks.predict, self._starting_targets(rows)
        return Step(Losses(pseudo_label=pseudo_label_loss(predict(v1), predict(v2), labels)))

    def _interactive_step(self, rows: NDArray[np.int64]) -> Step | None:
        v1, v2 = self._encode_views(rows)
        z1, z2 = self.networks.project(v1), self.networks.project(v2)
        attention = self.networks.attention(z1, z2)
        # E-step: what is similar, and which clusters fit, gives the pseudo-labels.
        log_prob = self._heed_neighbours(rows, self._predict_original(rows))
        transport = self._queue_transport(log_prob, attention.similarity.detach())
        if transport is None:
            return None
        labels = transport.labels.clamp(min=0)  # -1 if there is no finite plan, and then no update
        # M-step: the representations, the attention and the clustering network learn from them.
        losses = self._contrast(z1, z2, attention, labels)
        predict = self.networks.predict
        fitted = pseudo_label_loss(predict(v1), predict(v2), labels)
        return Step(losses._replace(pseudo_label=fitted), transport)

    def _encode_views(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return V(1) and V(2) of a batch, both (n, width)."""
        return self.data.encode_views(self.encoder, rows, self.noise)

    def _contrast(self, z1: Tensor, z2: Tensor, attention: Attention, labels: Tensor) -> Losses:
        settings = self.config.objective
        return Losses(
            instance=instance_contrast(z1, z2, settings.temperature_instance),
            attention=attention_contrast(
                attention.hidden, attention.similarity, labels, settings.temperature_attention
            ),
        )

    def _predict_original(self, rows: NDArray[np.int64]) -> Tensor:
        """Return log P(0), (n, k); nothing of it is trained."""
        if self.config.predict_in_evaluation:
            self._set_mode(training=False)
        with torch.no_grad():
            log_prob = self.networks.predict(self.data.encode_original(self.encoder, rows))
        self._set_mode(training=True)
        return log_prob

    def _heed_neighbours(self, rows: NDArray[np.int64], log_prob: Tensor) -> Tensor:
        """Return log P(0) with the pseudo-labels of each sample's neighbours in it (Eq. 35)."""
        weight = self.config.neighbour_weight
        if weight == 0 or self.neighbours is None:
            return log_prob
        labels = np.where(self.last_labels < 0, self.start, self.last_labels)
        votes = self.neighbours.votes(labels, rows, self.config.n_clusters)
        return (log_prob + weight * to_device(votes, self.device)).log_softmax(dim=1)

    def _queue_transport(self, log_prob: Tensor, attention: Tensor) -> Queued | None:
        """Solve Eq. 4 for a batch, or let an accelerator begin; None if it is not finite."""
        settings, solver = self.config.similarity, self.config.transport
        similarity = None
        if solver.uses_similarity and settings.is_used:
            similarity = batch_similarity(log_prob, attention, settings)
        # On an accelerator the solve tells it in its status: nothing has to be read before.
        if not arrays.stays_on(self.device):
            finite = torch.isfinite(log_prob).all() & torch.isfinite(attention).all()
            if not bool(finite):
                return None
        return solver.queue(log_prob, similarity)

    def _note_targets(self, rows: NDArray[np.int64], result: TransportResult) -> None:
        event = targets_made(self.iteration, rows, self.last_labels[rows], result)
        self.last_labels[rows] = event.labels
        self._emit(event)

    def _update(self, stage: Stage, rows: NDArray[np.int64], step: Step) -> bool:
        """Take a step of Adam; return False, without one, if anything in it is not finite."""
        transport = step.transport
        told = self.updater.step(step.losses, None if transport is None else transport.finite)
        # The host waits once. What it knows already need not be told; mps, too, has none of that.
        if transport is not None and len(transport.told) > 0:
            told = torch.cat([told.double(), transport.told])
        if arrays.stays_on(self.device):  # which is busy now: the host need not be idle
            self._look_ahead()
        values, n = arrays.to_host(told), len(StepNumbers._fields)
        numbers = StepNumbers(*values[:n].tolist())
        if transport is not None:
            result = transport.read(values[n:])
            if result.status is Status.NON_FINITE:
                return False
            self._note_targets(rows, result)
        if not numbers.is_finite:
            return False
        self._emit(
            StepDone(
                iteration=self.iteration,
                total_iterations=self.config.schedule.total,
                stage=stage,
                loss=numbers.total,
                instance_loss=numbers.instance,
                attention_loss=numbers.attention,
                pseudo_label_loss=numbers.pseudo_label,
                features=self._features,
            )
        )
        return True

    def _look_ahead(self) -> None:
        """Gather what the next iteration will encode."""
        config, following = self.config, self.iteration + 1
        if following == config.schedule.total:
            return
        stage = config.schedule.stage(following)
        encodes_views = stage is not Stage.HEAD_START or not config.head_on_originals
        self.data.gather(
            self.sampler.peek(), original=stage is Stage.INTERACTIVE, views=encodes_views
        )

    def _features(self, view: int) -> NDArray[np.float32]:
        """Return Z of a view of all samples by the networks as they are now, (n, 128)."""
        vectors = torch.from_numpy(self.data.encode_all(self.encoder, view))
        with torch.no_grad():
            parts = [
                self.networks.project(part.to(self.device)).cpu()
                for part in torch.split(vectors, _CHUNK_ROWS)
            ]
        return torch.cat(parts).numpy()

    def _embeddings(self) -> NDArray[np.float32]:
        """Return V(0) of all samples by the encoder as it is now, (n, width)."""
        if self._vectors is None:
            self._vectors = self.data.encode_all(self.encoder, 0)
        return self._vectors

    def _enter(self, stage: Stage) -> None:
        """Begin a stage: first clusters for the first two, anew when the encoder has learned."""
        self._emit(StageStarted(stage, *self.config.schedule.bounds(stage)))
        has_learned = self.iteration > 0 and bool(self.parameters)
        if has_learned:
            self.forget_embeddings()
        if stage is Stage.INTERACTIVE or (self.start[0] >= 0 and not has_learned):
            return
        config = self.config
        beginning = begin(
            self._embeddings(),
            config.n_clusters,
            config.start,
            with_neighbours=config.neighbour_weight > 0,
            random_state=config.random_state,
        )
        self._take(beginning)

    def _take(self, beginning: Beginning) -> None:
        self.start, self.neighbours = beginning.clusters, beginning.neighbours
        self._vectors = beginning.vectors

    def forget_embeddings(self) -> None:
        """Forget the embeddings of all samples, which the encoder would now give differently."""
        self._vectors = None

    def _starting_targets(self, rows: NDArray[np.int64]) -> Tensor:
        return to_device(self.start[rows], self.device)

    def _set_mode(self, *, training: bool) -> None:
        self.networks.train(training)
        self.encoder.module.train(training)

    def _emit(self, event: Event) -> None:
        self.recorder.observe(event, self.last_labels)
        if not self.callbacks:
            return
        # An observer may draw random numbers; training must not notice.
        with torch.random.fork_rng(devices=[]):
            for callback in self.callbacks:
                callback(event)


def _pass_on(state: Snapshot, keep: Callable[[Snapshot], None] | None) -> None:
    if keep is not None:
        keep(state)
