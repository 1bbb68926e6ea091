"""From inputs and settings to a fitted model: what lies between estimator and trainer."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import math
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeGuard, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from caot.augment import Augmenter, Contextual, FeatureNoise, Views, resolve_augmenter
from caot.effort import Choice, Workload, choose
from caot.encoders import (
    Batchable,
    Deferred,
    EmbeddingCache,
    Encoder,
    Features,
    LayeredEncoder,
    Tokens,
    keep_lower,
    load_encoder,
)
from caot.encoders.cache import default_folder
from caot.encoders.device import device_of
from caot.imbalance import Imbalance, ImbalanceSpec, resolve_imbalance
from caot.inputs import Inputs, Values, check_views, require_distinct
from caot.kmeans import kmeans
from caot.progress import ProgressBar
from caot.settings import (
    FineTune,
    Mode,
    Variant,
    check_layers,
    encoder_rate,
    make_config,
    make_schedule,
    make_transport,
    n_bytes,
    seconds,
)
from caot.training import (
    Callback,
    EndReason,
    History,
    Networks,
    Objective,
    Snapshot,
    Trainer,
    TrainingConfig,
    TrainingData,
)

logger = logging.getLogger("caot")

Embeddings = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class FitRequest:
    """What the estimator was told, by the names of its parameters."""

    n_clusters: int
    encoder: str | os.PathLike[str] | Encoder
    finetune: FineTune
    augmenter: str | Augmenter | Callable[[list[str]], object]
    imbalance: ImbalanceSpec
    mode: Mode
    max_iter: int | None
    warmup_iter: int | None
    patience: int | None
    batch_size: int
    max_length: int | None
    epsilon: float
    consistency: float
    contrast_weight: float
    temperature_instance: float
    temperature_attention: float
    learning_rate: float
    learning_rate_encoder: float | None
    time_budget: float | str | None
    cache_memory: float | str
    device: str | None
    random_state: int
    verbose: int
    variant: Variant

    def config(
        self,
        choice: Choice,
        *,
        n_samples: int,
        uniformity: float = 1.0,
        scale: float = 1.0,
        on_gpu: bool = False,
    ) -> TrainingConfig:
        """Return the settings of the trainer."""
        frozen = choice.layers == "none"
        rate = self.learning_rate_encoder
        if rate is None:
            rate = encoder_rate(self.mode, choice.layers)
        return make_config(
            mode=self.mode,
            variant=self.variant,
            n_clusters=int(self.n_clusters),
            schedule=make_schedule(
                self.mode,
                frozen=frozen,
                n_samples=n_samples,
                max_iter=choice.n_iter or self.max_iter,
                warmup_iter=self.warmup_iter,
                batch_size=self.batch_size,
                head_iter=self.variant.head_iter,
            ),
            objective=Objective(
                contrast_weight=self.contrast_weight,
                temperature_instance=self.temperature_instance,
                temperature_attention=self.temperature_attention,
                learning_rate=self.learning_rate,
                learning_rate_encoder=rate,
            ),
            transport=make_transport(
                self.mode,
                self.variant,
                epsilon=self.epsilon,
                uniformity=uniformity,
                consistency=self.consistency,
            ),
            embedding_scale=scale,
            frozen=frozen,
            on_gpu=on_gpu,
            patience=self.patience,
            random_state=int(self.random_state),
        )


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
    """A run that is ready: encoder loaded, inputs embedded, K-means done, settings made."""

    encoder: Encoder
    inputs: Inputs
    embeddings: Embeddings | None
    frozen: bool
    parameters: list[nn.Parameter]
    data: TrainingData
    config: TrainingConfig
    imbalance: Imbalance
    kmeans_labels: NDArray[np.int64]
    verbose: int

    @classmethod
    def make(
        cls,
        request: FitRequest,
        inputs: Inputs,
        views: tuple[Iterable[str] | ArrayLike, Iterable[str] | ArrayLike] | None,
    ) -> Self:
        """Do everything that comes before training, the cheap checks first."""
        # Settings that cannot be are refused now, whatever the data will say.
        request.config(Choice("all", None, "a first look"), n_samples=len(inputs))
        given = None if views is None else check_views(views, inputs)
        require_distinct(inputs, request.n_clusters)
        encoder = _load(request, inputs)
        prepared = encoder.prepare(inputs.values)
        choice = _choose_layers(request, encoder, prepared)
        logger.info("finetune=%r: %s", choice.layers, choice.why)
        frozen = choice.layers == "none"
        parameters = encoder.set_trainable(choice.layers)
        noise: FeatureNoise | None = None
        if given is None:
            given, noise = _augment(request, encoder, inputs, frozen=frozen)
        embeddings: Embeddings | None = None
        if frozen:
            embeddings = _embed(encoder, prepared, progress=request.verbose > 0)
            data = _embedded_data(encoder, inputs, embeddings, given, noise)
            # A memory-mapped array is copied only if it must be.
            sample = embeddings[inputs.filled] if inputs.empty.any() else embeddings
        else:
            parts = [part.take(inputs.filled) for part in (prepared, *_prepare(encoder, given))]
            data = _learning_data(request, choice, encoder, parts, noise)
            sample = _embed(encoder, data.original, progress=request.verbose > 0)
        labels, imbalance = _look_at_sizes(request, sample)
        config = request.config(
            choice,
            n_samples=len(data),
            uniformity=imbalance.uniformity,
            scale=_unit_scale(sample),
            on_gpu=device_of(encoder).type == "cuda",
        )
        return cls(
            encoder=encoder,
            inputs=inputs,
            embeddings=embeddings,
            frozen=frozen,
            parameters=parameters,
            data=data,
            config=config,
            imbalance=imbalance,
            kmeans_labels=labels,
            verbose=request.verbose,
        )

    def run(
        self,
        *,
        deadline: float,
        callbacks: Sequence[Callback],
        checkpoint: Path | None,
        checkpoint_every: int,
    ) -> FitOutcome:
        """Train, from the checkpoint if there is one, and keep it up to date."""
        encoder = self.encoder
        if self.frozen:
            encoder = Features(encoder.width, device=device_of(encoder))
        bar = ProgressBar()
        observers: list[Callback] = [*callbacks]
        if self.verbose > 0:
            observers.append(bar)
        trainer = Trainer(
            encoder,
            self.data,
            self.config,
            self.parameters,
            observers,
            kmeans_labels=self.kmeans_labels,
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

    def final_embeddings(self) -> Embeddings:
        """Return the embeddings of all inputs by the encoder as it is now, (n, width)."""
        if self.embeddings is not None:  # a frozen encoder's
            return self.embeddings
        return self.encoder.encode(self.inputs.values)

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
        parts = [self.data.original, self.data.first, self.data.second]
        for part in parts:
            content.update(b"-" if part is None else part.digest().encode())
        content.update(
            f"{self.data.noise} {len(self.parameters)} {self.encoder.fingerprint}".encode()
        )
        return content.hexdigest()


def _look_at_sizes(
    request: FitRequest, embeddings: Embeddings
) -> tuple[NDArray[np.int64], Imbalance]:
    """Return K-means labels and what their sizes say about imbalance."""
    labels = kmeans(
        embeddings,
        request.n_clusters,
        n_init=request.variant.kmeans_restarts,
        random_state=int(request.random_state),
    ).labels
    imbalance = resolve_imbalance(
        request.imbalance,
        kmeans_labels=labels,
        n_clusters=request.n_clusters,
        epsilon=request.epsilon,
        consistency=request.consistency,
        use_floor=request.mode != "faithful",
        scale=request.variant.uniformity_scale,
    )
    logger.info("imbalance: %s", imbalance)
    return labels, imbalance


def _load(request: FitRequest, inputs: Inputs) -> Encoder:
    if inputs.is_vectors:
        if not isinstance(request.encoder, Features) and request.encoder != "auto":
            msg = "X holds vectors, which need no encoder: leave encoder='auto'"
            raise ValueError(msg)
        return Features(device=request.device or "cpu")
    if isinstance(request.encoder, Features):
        msg = "encoder is Features, which takes vectors, but X holds texts"
        raise ValueError(msg)
    if not isinstance(request.encoder, str | os.PathLike):
        if request.mode == "faithful" or request.max_length is not None:
            msg = (
                "encoder is an object, which keeps its own pooling and maximum length: load it as "
                "you want it, with load_encoder(name, mode=..., max_length=...), or give its name"
            )
            logger.warning(msg)
        # A user's own encoder stays as it is: a copy learns.
        return copy.deepcopy(load_encoder(request.encoder))
    return load_encoder(
        request.encoder,
        mode=request.mode,
        max_length=request.max_length,
        device=request.device,
        local_files_only=_is_offline(),
    )


def _unit_scale(embeddings: Embeddings) -> float:
    """Return the factor that gives the embeddings a mean square of one."""
    sample = embeddings[:: max(1, len(embeddings) // 10_000)]
    mean_square = float(np.mean(np.square(sample, dtype=np.float64)))
    return 1.0 / math.sqrt(mean_square) if mean_square > 0 else 1.0


def _choose_layers(request: FitRequest, encoder: Encoder, prepared: Batchable) -> Choice:
    """Return which layers to train: as set, or by mode, device, number of texts and time."""
    check_layers(request.finetune, encoder.n_layers)
    if request.finetune != "auto":
        given = request.finetune
        return Choice(given if isinstance(given, str) else int(given), None, "as set")
    if encoder.n_layers == 0:
        return Choice("none", None, "the inputs are vectors")
    if request.mode == "faithful":
        return Choice("all", None, "the paper trains the whole encoder")
    if not isinstance(encoder, LayeredEncoder) or not isinstance(prepared, Tokens):
        return Choice("none", None, "the encoder's layers are not known")
    on_cpu = device_of(encoder).type == "cpu"
    learning = request.config(Choice(1, None, "to learn"), n_samples=len(prepared))
    usual = learning.schedule.max_iter
    workload = Workload(
        n_texts=len(prepared),
        n_tokens=prepared.values.size,
        n_layers=encoder.n_layers,
        layer_size=encoder.layer_size,
        batch_size=request.batch_size,
        n_cores=torch.get_num_threads() if on_cpu else 0,
        keeps_lower=encoder.can_run_by_parts and usual * request.batch_size > len(prepared),
    )
    return choose(workload, seconds(request.time_budget), usual)


def _cache_folder() -> Path | None:
    """Return the folder that ``CAOT_CACHE`` names, if any."""
    return default_folder() if os.environ.get("CAOT_CACHE") else None


def _embed(encoder: Encoder, values: Values, *, progress: bool = False) -> Embeddings:
    """Encode, through the cache on disk if ``CAOT_CACHE`` names one."""
    if _cache_folder() is not None and not isinstance(values, Deferred):
        return EmbeddingCache().get(encoder, values, progress=progress)
    return encoder.encode(values, progress=progress)


def _is_offline() -> bool:
    """Tell whether the user set HF_HUB_OFFLINE, as huggingface_hub reads it."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _augment(
    request: FitRequest, encoder: Encoder, inputs: Inputs, *, frozen: bool
) -> tuple[tuple[Values, Values] | None, FeatureNoise | None]:
    augmenter = resolve_augmenter(
        request.augmenter,
        encoder=encoder,
        frozen=frozen,
        offline=_is_offline(),
    )
    is_as_printed = inputs.is_vectors or isinstance(augmenter, Contextual | Views)
    if request.mode == "faithful" and not is_as_printed:
        msg = (
            f"faithful mode: the views come from {augmenter.name!r}, not from the paper's "
            "augmenter; download its two models and use augmenter='contextual', or give views"
        )
        warnings.warn(msg, UserWarning, stacklevel=4)
    if isinstance(augmenter, FeatureNoise):
        return None, augmenter
    views = augmenter(
        inputs.values,
        encoder=encoder,
        random_state=int(request.random_state),
        progress=request.verbose > 0,
    )
    return (views.first, views.second), None


def _embedded_data(
    encoder: Encoder,
    inputs: Inputs,
    embeddings: Embeddings,
    views: tuple[Values, Values] | None,
    noise: FeatureNoise | None,
) -> TrainingData:
    """Return the embeddings of the three views: a frozen encoder runs once per text."""
    vectors = Features(encoder.width)
    embedded = [_embed(encoder, view) for view in views or ()]
    if embedded and np.array_equal(embedded[0], embedded[1]):
        msg = (
            "the two views are equal, and a frozen encoder leaves them so: there is nothing to "
            "learn from. Give views that differ, use augmenter='auto', or train the encoder"
        )
        raise ValueError(msg)
    parts = [vectors.prepare(part) for part in (embeddings, *embedded)]
    if inputs.empty.any():
        parts = [part.take(inputs.filled) for part in parts]
    return _three_views(parts, noise)


def _learning_data(
    request: FitRequest,
    choice: Choice,
    encoder: Encoder,
    parts: Sequence[Batchable],
    noise: FeatureNoise | None,
) -> TrainingData:
    """Return the three views as tokens, or as what frozen lower layers make of them."""
    # As printed, the dropout of frozen layers is part of the method: nothing of it can be kept.
    if request.mode == "faithful" or not _has_frozen_layers(encoder):
        return _three_views(parts, noise)
    tokens = [cast("Tokens", part) for part in parts]  # what layered encoders prepare
    schedule = request.config(choice, n_samples=len(parts[0])).schedule
    if schedule.max_iter * schedule.batch_size <= len(parts[0]):  # no text comes twice
        return _three_views([Deferred(encoder, part) for part in tokens], noise)
    kept = [
        keep_lower(
            encoder,
            part,
            memory=n_bytes(request.cache_memory) / len(parts),
            folder=_cache_folder(),
            progress=request.verbose > 0,
        )
        for part in tokens
    ]
    return _three_views(kept, noise)


def _has_frozen_layers(encoder: Encoder) -> TypeGuard[LayeredEncoder]:
    if not isinstance(encoder, LayeredEncoder):
        return False
    return encoder.n_frozen > 0 and encoder.can_run_by_parts


def _three_views(parts: Sequence[Batchable], noise: FeatureNoise | None) -> TrainingData:
    original, *both = parts
    first, second = both or (None, None)
    return TrainingData(original, first, second, noise)


def _prepare(encoder: Encoder, views: tuple[Values, Values] | None) -> list[Batchable]:
    return [encoder.prepare(view) for view in views or ()]
