"""From texts to something to learn from: encoder, trained layers, views, tokens or embeddings.

Nothing here knows a method of clustering. An estimator calls, in this order, `load`,
`choose_layers` and `prepare`; what it learns from is then in `Preparation.data`.
"""

from __future__ import annotations

import copy
import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from caot.augment import Augmenter, Contextual, FeatureNoise, Views, resolve_augmenter
from caot.checks import check_layers
from caot.effort import Choice, Layers, Workload, choose
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
    remembering,
)
from caot.encoders.availability import is_offline
from caot.encoders.device import device_of, has_fast_bfloat16
from caot.files import cache_folder
from caot.inputs import Inputs, Values
from caot.quantities import n_bytes, seconds
from caot.settings import PreparationSettings
from caot.training import TrainingData

logger = logging.getLogger("caot")

Embeddings = NDArray[np.float32]

# Users are warned if more than this share of their texts is cut.
_MANY_CUT = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Inputs, the encoder that reads them, and what its `prepare` made of them."""

    inputs: Inputs
    encoder: Encoder
    prepared: Batchable


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """All that a method needs to begin with training.

    Attributes
    ----------
    inputs
        All n inputs, empty texts included.
    encoder
        The encoder, with its trainable layers chosen.
    layers
        Which layers learn; "none" for a frozen encoder.
    parameters
        The encoder's trainable parameters.
    views
        Two views of all inputs, given or made; None where noise makes them from vectors.
    data
        The m inputs that are not empty, in three views, as :attr:`training_encoder` reads them.
    vectors
        (m, width), embeddings of ``data.original`` before training.
    embeddings
        (n, width), those of all inputs by a frozen encoder; None for one that learns.
    """

    inputs: Inputs
    encoder: Encoder
    layers: Layers
    parameters: list[nn.Parameter]
    views: tuple[Values, Values] | None
    data: TrainingData
    vectors: Embeddings
    embeddings: Embeddings | None

    @property
    def frozen(self) -> bool:
        """Whether the encoder stays as it is."""
        return self.layers == "none"

    @property
    def training_encoder(self) -> Encoder:
        """What encodes ``data``: the encoder; embeddings of a frozen one stay as they are."""
        if self.frozen:
            return Features(self.encoder.width, device=device_of(self.encoder))
        return self.encoder

    def final_embeddings(self) -> Embeddings:
        """Return the embeddings of all inputs by the encoder as it is now, (n, width)."""
        if self.embeddings is not None:
            return self.embeddings
        return embed(self.encoder, self.inputs.values)


def load(settings: PreparationSettings, inputs: Inputs) -> Loaded:
    """Load the encoder and let it read the inputs."""
    encoder = _load_encoder(settings, inputs)
    prepared = encoder.prepare(inputs.values)
    # A length that was asked for, as the paper's is in faithful mode, surprises nobody.
    if settings.max_length is None and not settings.is_faithful:
        _tell_of_cut_texts(encoder, prepared)
    return Loaded(inputs, encoder, prepared)


def _tell_of_cut_texts(encoder: Encoder, prepared: Batchable) -> None:
    """Say how many texts are as long as the encoder reads, and so have probably been cut."""
    if encoder.max_length is None or not isinstance(prepared, Tokens):
        return
    n_cut = int(np.count_nonzero(prepared.lengths >= encoder.max_length))
    if n_cut:
        level = logging.WARNING if n_cut > _MANY_CUT * len(prepared) else logging.INFO
        told = (
            "%d of %d texts fill the %d tokens that are read of a text: what comes after is left "
            "out unless max_chunks is set"
        )
        logger.log(level, told, n_cut, len(prepared), encoder.max_length)


def choose_layers(settings: PreparationSettings, loaded: Loaded, n_iter: int) -> Choice:
    """Return which layers to train: as set, or by mode, device, number of texts and time.

    Parameters
    ----------
    n_iter
        Iterations that training has if layers learn; the choice may ask for fewer.
    """
    choice = _choose_layers(settings, loaded, n_iter)
    logger.info("finetune=%r: %s", choice.layers, choice.why)
    return choice


def prepare(
    settings: PreparationSettings,
    loaded: Loaded,
    layers: Layers,
    views: tuple[Values, Values] | None = None,
    *,
    n_iter: int,
    with_views: bool = True,
) -> Preparation:
    """Set which layers learn, make the views, and embed or tokenise them.

    Parameters
    ----------
    loaded, layers
        What `load` returned, and the layers that `choose_layers` chose.
    views
        Two views from `check_views`; None makes them with the augmenter.
    n_iter
        Iterations that training has: what frozen layers give is kept if texts come again.
    with_views
        Whether training asks for views; where it does not, none are made or encoded.
    """
    inputs, encoder, frozen = loaded.inputs, loaded.encoder, layers == "none"
    parameters = encoder.set_trainable(layers)
    augmenter: Augmenter | None = None
    if not with_views:
        views, augmenter = None, FeatureNoise()  # which makes none before it is asked
    elif views is None:
        augmenter = _augmenter(settings, encoder, inputs, frozen=frozen)
    noise = augmenter if isinstance(augmenter, FeatureNoise) else None
    # An augmenter may encode what a frozen encoder is asked for again, and views repeat texts.
    repeats = frozen and noise is None
    with remembering(encoder, n_bytes(settings.cache_memory) if repeats else 0):
        if augmenter is not None and noise is None:
            views = _augment(settings, encoder, inputs, augmenter)
        embeddings: Embeddings | None = None
        if frozen:
            embeddings = embed(encoder, loaded.prepared, progress=settings.verbose > 0)
            data = _embedded_data(encoder, inputs, embeddings, views, noise)
            # A memory-mapped array is copied only if it must be.
            vectors = embeddings[inputs.filled] if inputs.empty.any() else embeddings
        else:
            prepared = (loaded.prepared, *(encoder.prepare(view) for view in views or ()))
            parts = [part.take(inputs.filled) for part in prepared]
            data = _learning_data(settings, encoder, parts, noise, n_iter)
            vectors = embed(encoder, data.original, progress=settings.verbose > 0)
    return Preparation(inputs, encoder, layers, parameters, views, data, vectors, embeddings)


def _load_encoder(settings: PreparationSettings, inputs: Inputs) -> Encoder:
    if inputs.is_vectors:
        if not isinstance(settings.encoder, Features) and settings.encoder != "auto":
            msg = "X holds vectors, which need no encoder: leave encoder='auto'"
            raise ValueError(msg)
        return Features(device=settings.device or "cpu")
    if isinstance(settings.encoder, Features):
        msg = "encoder is Features, which takes vectors, but X holds texts"
        raise ValueError(msg)
    if not isinstance(settings.encoder, str | os.PathLike):
        if settings.is_faithful or settings.max_length is not None:
            msg = (
                "encoder is an object, which keeps its own pooling and maximum length: load it as "
                "you want it, with load_encoder(name, mode=..., max_length=...), or give its name"
            )
            logger.warning(msg)
        # A user's own encoder stays as it is: a copy learns.
        return copy.deepcopy(load_encoder(settings.encoder, max_chunks=settings.max_chunks))
    return load_encoder(
        settings.encoder,
        mode=settings.mode,
        max_length=settings.max_length,
        max_chunks=settings.max_chunks,
        device=settings.device,
        local_files_only=is_offline(),
    )


def _choose_layers(settings: PreparationSettings, loaded: Loaded, n_iter: int) -> Choice:
    encoder, prepared = loaded.encoder, loaded.prepared
    check_layers(settings.finetune, encoder.n_layers)
    if settings.finetune != "auto":
        given = settings.finetune
        return Choice(given if isinstance(given, str) else int(given), None, "as set")
    if encoder.n_layers == 0:
        return Choice("none", None, "the inputs are vectors")
    if settings.is_faithful:
        return Choice("all", None, "the paper trains the whole encoder")
    if not isinstance(encoder, LayeredEncoder) or not isinstance(prepared, Tokens):
        return Choice("none", None, "the encoder's layers are not known")
    on_cpu = device_of(encoder).type == "cpu"
    workload = Workload(
        n_texts=len(prepared),
        n_tokens=prepared.values.size,
        n_layers=encoder.n_layers,
        layer_size=encoder.layer_size,
        batch_size=settings.batch_size,
        n_cores=torch.get_num_threads() if on_cpu else 0,
        mixed_precision=has_fast_bfloat16(device_of(encoder)),
        keeps_lower=encoder.can_run_by_parts and n_iter * settings.batch_size > len(prepared),
    )
    return choose(workload, seconds(settings.time_budget), n_iter)


def _augmenter(
    settings: PreparationSettings, encoder: Encoder, inputs: Inputs, *, frozen: bool
) -> Augmenter:
    """Return what makes the views."""
    augmenter = resolve_augmenter(
        settings.augmenter,
        encoder=encoder,
        frozen=frozen,
        offline=is_offline(),
        changes_texts=settings.is_faithful,
    )
    is_as_printed = inputs.is_vectors or isinstance(augmenter, Contextual | Views)
    if settings.is_faithful and not is_as_printed:
        msg = (
            f"faithful mode: the views come from {augmenter.name!r}, not from the paper's "
            "augmenter; download its two models and use augmenter='contextual', or give views"
        )
        # Told to whom calls fit, which makes a plan, which prepares.
        warnings.warn(msg, UserWarning, stacklevel=5)
    return augmenter


def _augment(
    settings: PreparationSettings, encoder: Encoder, inputs: Inputs, augmenter: Augmenter
) -> tuple[Values, Values]:
    """Return two views of all inputs."""
    views = augmenter(
        inputs.values,
        encoder=encoder,
        random_state=int(settings.random_state),
        progress=settings.verbose > 0,
    )
    return views.first, views.second


def _cache_folder() -> Path | None:
    """Return the folder that ``CAOT_CACHE`` names, if any."""
    return cache_folder() if os.environ.get("CAOT_CACHE") else None


def embed(encoder: Encoder, values: Values | Batchable, *, progress: bool = False) -> Embeddings:
    """Encode, through the cache on disk if ``CAOT_CACHE`` names one."""
    if _cache_folder() is not None and not isinstance(values, Deferred):
        return EmbeddingCache().get(encoder, values, progress=progress)
    return encoder.encode(values, progress=progress)


def _embedded_data(
    encoder: Encoder,
    inputs: Inputs,
    embeddings: Embeddings,
    views: tuple[Values, Values] | None,
    noise: FeatureNoise | None,
) -> TrainingData:
    """Return the embeddings of the three views: a frozen encoder runs once per text."""
    vectors = Features(encoder.width)
    embedded = [embed(encoder, view) for view in views or ()]
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
    settings: PreparationSettings,
    encoder: Encoder,
    parts: Sequence[Batchable],
    noise: FeatureNoise | None,
    n_iter: int,
) -> TrainingData:
    """Return the three views as tokens, or as what frozen lower layers make of them."""
    mixed = has_fast_bfloat16(device_of(encoder))
    if not _has_frozen_layers(encoder):
        # As printed all layers learn, in float32. Fewer are a smaller effort: it saves what it can.
        return _three_views(parts, noise, mixed_precision=mixed and not settings.is_faithful)
    tokens = [cast("Tokens", part) for part in parts]  # what layered encoders prepare
    if n_iter * settings.batch_size <= len(parts[0]):  # no text comes twice
        deferred = [Deferred(encoder, part) for part in tokens]
        return _three_views(deferred, noise, mixed_precision=mixed)
    kept = [
        keep_lower(
            encoder,
            part,
            memory=n_bytes(settings.cache_memory) / len(parts),
            folder=_cache_folder(),
            mixed_precision=mixed,
            progress=settings.verbose > 0,
        )
        for part in tokens
    ]
    return _three_views(kept, noise, mixed_precision=mixed)


def _has_frozen_layers(encoder: Encoder) -> TypeGuard[LayeredEncoder]:
    if not isinstance(encoder, LayeredEncoder):
        return False
    return encoder.n_frozen > 0 and encoder.can_run_by_parts


def _three_views(
    parts: Sequence[Batchable], noise: FeatureNoise | None, *, mixed_precision: bool = False
) -> TrainingData:
    original, *both = parts
    first, second = both or (None, None)
    return TrainingData(original, first, second, noise, mixed_precision)
