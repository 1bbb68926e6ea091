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
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from caot.augment import Augmenter, Contextual, FeatureNoise, Views, resolve_augmenter
from caot.encoders import EmbeddingCache, Encoder, Features, load_encoder
from caot.imbalance import Imbalance, ImbalanceSpec, resolve_imbalance
from caot.inputs import Inputs, Values, check_views, require_distinct
from caot.kmeans import kmeans
from caot.progress import ProgressBar
from caot.settings import (
    FineTune,
    Mode,
    Variant,
    encoder_rate,
    make_config,
    make_schedule,
    make_transport,
    resolve_finetune,
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
    batch_size: int
    max_length: int | None
    epsilon: float
    consistency: float
    contrast_weight: float
    temperature_instance: float
    temperature_attention: float
    learning_rate: float
    learning_rate_encoder: float | None
    device: str | None
    random_state: int
    verbose: int
    variant: Variant

    def config(
        self, *, finetune: Literal["all", "none"] | int, uniformity: float, scale: float
    ) -> TrainingConfig:
        """Return the settings of the trainer."""
        rate = self.learning_rate_encoder
        return make_config(
            mode=self.mode,
            variant=self.variant,
            n_clusters=int(self.n_clusters),
            schedule=make_schedule(
                self.mode,
                frozen=finetune == "none",
                max_iter=self.max_iter,
                warmup_iter=self.warmup_iter,
                batch_size=self.batch_size,
                head_iter=self.variant.head_iter,
            ),
            objective=Objective(
                contrast_weight=self.contrast_weight,
                temperature_instance=self.temperature_instance,
                temperature_attention=self.temperature_attention,
                learning_rate=self.learning_rate,
                learning_rate_encoder=encoder_rate(self.mode, finetune) if rate is None else rate,
            ),
            transport=make_transport(
                self.mode,
                self.variant,
                epsilon=self.epsilon,
                uniformity=uniformity,
                consistency=self.consistency,
            ),
            embedding_scale=scale,
            random_state=int(self.random_state),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FitOutcome:
    """What a run leaves behind."""

    networks: Networks
    imbalance: Imbalance
    history: History
    n_iter: int
    reason: EndReason


@dataclass(frozen=True, slots=True, eq=False)
class FitPlan:
    """A run that is ready: encoder loaded, inputs embedded, K-means done, settings made."""

    encoder: Encoder
    inputs: Inputs
    embeddings: Embeddings
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
        request.config(finetune="all", uniformity=1.0, scale=1.0)
        given = None if views is None else check_views(views, inputs)
        require_distinct(inputs, request.n_clusters)
        encoder = _load(request, inputs)
        finetune, why = resolve_finetune(
            request.finetune,
            n_layers=encoder.n_layers,
            on_accelerator=_on_accelerator(encoder),
            mode=request.mode,
        )
        logger.info("finetune=%r: %s", finetune, why)
        frozen = finetune == "none"
        parameters = encoder.set_trainable(finetune)
        noise: FeatureNoise | None = None
        if given is None:
            given, noise = _augment(request, encoder, inputs, frozen=frozen)
        embeddings = _embed(encoder, inputs.values, progress=request.verbose > 0)
        data = _training_data(encoder, inputs, embeddings, given, noise, frozen=frozen)
        labels, imbalance = _look_at_sizes(request, embeddings[inputs.filled])
        config = request.config(
            finetune=finetune, uniformity=imbalance.uniformity, scale=_unit_scale(embeddings)
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
        device = getattr(self.encoder, "device", "cpu")
        encoder = Features(self.encoder.width, device=device) if self.frozen else self.encoder
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
        return FitOutcome(
            trainer.networks, self.imbalance, trainer.history, trainer.iteration, reason
        )

    def final_embeddings(self) -> Embeddings:
        """Return the embeddings of all inputs by the encoder as it is now, (n, width)."""
        return self.embeddings if self.frozen else _embed(self.encoder, self.inputs.values)

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


def _on_accelerator(encoder: Encoder) -> bool:
    parameter = next(encoder.module.parameters(), None)
    return parameter is not None and parameter.device.type != "cpu"


def _embed(encoder: Encoder, values: Values, *, progress: bool = False) -> Embeddings:
    """Encode, through the cache on disk if ``CAOT_CACHE`` names one."""
    if os.environ.get("CAOT_CACHE"):
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


def _training_data(
    encoder: Encoder,
    inputs: Inputs,
    embeddings: Embeddings,
    views: tuple[Values, Values] | None,
    noise: FeatureNoise | None,
    *,
    frozen: bool,
) -> TrainingData:
    """Prepare the three views of the rows that are not empty, embedded already if frozen."""
    if not frozen:
        parts = [encoder.prepare(part) for part in (inputs.values, *(views or ()))]
    else:
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
    original, *both = parts
    first, second = both or (None, None)
    return TrainingData(original, first, second, noise)
