"""From what a user sets to the settings of a run: the two modes and their named variants."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, TypeAlias

import torch

from caot.training import (
    Objective,
    Schedule,
    SimilaritySettings,
    Stopping,
    TrainingConfig,
)
from caot.training.config import AttentionKind
from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    ConsistentTransport,
    Prediction,
    Transport,
)

Mode: TypeAlias = Literal["default", "faithful"]
FineTune: TypeAlias = Literal["auto", "all", "none"] | int

MODES = ("default", "faithful")
# The paper's warm-up is 600 of 2,000 iterations; other budgets keep the share.
_WARMUP_SHARE = 0.3
_HEAD_ITER = 80
# Iterations that pseudo-labels must stand still before training ends early.
_PATIENCE = 100
_PATIENCE_FROZEN = 150  # cheap iterations: no hurry


@dataclass(frozen=True, slots=True)
class Variant:
    """Choices that the paper leaves open, or that its ablations make; None is the mode's own.

    Parameters
    ----------
    pseudo_labels
        Which transport makes the pseudo-labels.
    similarity
        What S is made of: both similarities, one of them, or nothing.
    keep_diagonal
        Whether a sample counts as similar to itself.
    attention
        The attention network as printed, or the transformer layer that the printed sizes imply.
    scheme
        The inner scheme of the transport; faithful mode alternates as printed.
    predict_in_evaluation
        Whether P(0) is computed without dropout; not in faithful mode.
    head_iter
        Iterations of the head start; 0 starts the clustering network at random.
    uniformity_scale
        Multiplies ε2; 0.1 is what the solver of an earlier version of the paper amounts to.
    kmeans_restarts
        Starts of K-means.
    """

    pseudo_labels: Literal["consistent", "adaptive", "balanced", "prediction"] = "consistent"
    similarity: Literal["both", "cosine", "attention", "none"] = "both"
    keep_diagonal: bool = False
    attention: AttentionKind = "matrices"
    scheme: Literal["joint", "alternating"] | None = None
    predict_in_evaluation: bool | None = None
    head_iter: int = _HEAD_ITER
    uniformity_scale: float = 1.0
    kmeans_restarts: int = 10

    def __post_init__(self) -> None:
        _require_choice("pseudo_labels", self.pseudo_labels, _TRANSPORTS)
        _require_choice("similarity", self.similarity, _SIMILARITIES)
        _require_choice("attention", self.attention, ("matrices", "transformer"))
        _require_choice("scheme", self.scheme, (None, "joint", "alternating"))
        for name, least in (("head_iter", 0), ("kmeans_restarts", 1)):
            if getattr(self, name) < least:
                msg = f"{name} must be at least {least}, got {getattr(self, name)}"
                raise ValueError(msg)
        if not 0 < self.uniformity_scale < math.inf:
            msg = f"uniformity_scale must be positive, got {self.uniformity_scale}"
            raise ValueError(msg)


_TRANSPORTS = ("consistent", "adaptive", "balanced", "prediction")
_SIMILARITIES = {
    "both": (1.0, 1.0),
    "cosine": (1.0, 0.0),
    "attention": (0.0, 1.0),
    "none": (0.0, 0.0),
}


def make_schedule(
    mode: Mode,
    *,
    frozen: bool,
    n_samples: int,
    max_iter: int | None,
    warmup_iter: int | None,
    batch_size: int,
    head_iter: int,
) -> Schedule:
    """Return the schedule; None means the usual number of iterations.

    That is the paper's 2,000 in faithful mode; 1,000 for a frozen encoder; and for one that learns
    200 to 400, in proportion to the samples: few samples come often enough all the same.
    """
    if max_iter is None and mode == "faithful":
        max_iter = 2000
    elif max_iter is None:
        max_iter = 1000 if frozen else min(400, max(200, n_samples // 25))
    if warmup_iter is None:
        warmup_iter = round(_WARMUP_SHARE * max_iter)
    return Schedule(max_iter, warmup_iter, head_iter, batch_size)


def encoder_rate(mode: Mode, finetune: Literal["all", "none"] | int) -> float:
    """Return Adam's step size for the encoder where the user gave none."""
    if mode == "faithful":
        return 5e-6
    return 2e-5 if finetune == "all" else 1e-4


def make_transport(
    mode: Mode, variant: Variant, *, epsilon: float, uniformity: float, consistency: float
) -> Transport:
    """Return the solver of a run."""
    faithful = mode == "faithful"
    scheme = variant.scheme or ("alternating" if faithful else "joint")
    if variant.pseudo_labels == "prediction":
        return Prediction()
    if variant.pseudo_labels == "balanced":
        return BalancedTransport(epsilon, scheme=scheme)
    if variant.pseudo_labels == "adaptive":
        return AdaptiveTransport(epsilon, uniformity, scheme=scheme)
    # As printed, all ten times ten steps are taken.
    if scheme == "alternating":
        return ConsistentTransport(
            epsilon, uniformity, consistency, scheme=scheme, outer_tol=0.0, inner_tol=0.0
        )
    return ConsistentTransport(epsilon, uniformity, consistency, scheme=scheme)


def make_config(
    *,
    mode: Mode,
    variant: Variant,
    n_clusters: int,
    schedule: Schedule,
    objective: Objective,
    transport: Transport,
    embedding_scale: float,
    frozen: bool,
    on_gpu: bool,
    patience: int | None,
    random_state: int,
) -> TrainingConfig:
    """Put the settings of a run together."""
    in_evaluation = variant.predict_in_evaluation
    if patience is None:
        usual = _PATIENCE_FROZEN if frozen else _PATIENCE
        patience = 0 if mode == "faithful" else usual
    cosine, attention = _SIMILARITIES[variant.similarity]
    return TrainingConfig(
        n_clusters=n_clusters,
        schedule=schedule,
        objective=objective,
        similarity=SimilaritySettings(cosine, attention, variant.keep_diagonal),
        transport=transport,
        stopping=Stopping(patience),
        attention=variant.attention,
        predict_in_evaluation=mode == "default" if in_evaluation is None else in_evaluation,
        kmeans_restarts=variant.kmeans_restarts,
        embedding_scale=1.0 if mode == "faithful" else embedding_scale,
        head_on_originals=mode == "default" and not frozen,
        mixed_precision=mode == "default" and on_gpu and not frozen,
        random_state=random_state,
    )


_UNITS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(budget: float | str | None) -> float:
    """Return a time budget in seconds: a number, "90s", "10min" or "2h"; infinity for None."""
    if budget is None:
        return math.inf
    if isinstance(budget, Real) and not isinstance(budget, bool) and float(budget) > 0:
        return float(budget)
    match = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", budget)
        if isinstance(budget, str)
        else None
    )
    if match is None or match[2] not in _UNITS or float(match[1]) == 0:
        msg = (
            f"time_budget must be seconds or a text such as '10min', '90s' or '2h', got {budget!r}"
        )
        raise ValueError(msg)
    return float(match[1]) * _UNITS[match[2]]


_SIZES = {"MB": 1e6, "GB": 1e9, "TB": 1e12}


def n_bytes(size: float | str) -> float:
    """Return a size in bytes: a number, or a text such as "500MB" or "2GB"."""
    if isinstance(size, Real) and not isinstance(size, bool) and float(size) >= 0:
        return float(size)
    match = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", size)
        if isinstance(size, str)
        else None
    )
    if match is None or match[2].upper() not in _SIZES:
        msg = f"cache_memory must be bytes or a text such as '500MB' or '2GB', got {size!r}"
        raise ValueError(msg)
    return float(match[1]) * _SIZES[match[2].upper()]


def check_device(spec: object) -> None:
    """Raise unless ``spec`` is None or the name of a kind of device."""
    if spec is None:
        return
    try:
        torch.device(spec)  # type: ignore[call-overload]
    except (RuntimeError, TypeError) as error:
        msg = f"device must be None or a name such as 'cpu' or 'cuda', got {spec!r}"
        raise ValueError(msg) from error


def check_finetune(spec: object) -> None:
    """Raise unless ``spec`` is "auto", "all", "none" or a number of layers."""
    is_count = isinstance(spec, Integral) and not isinstance(spec, bool) and int(spec) >= 1
    if not is_count and spec not in ("auto", "all", "none"):
        msg = f"finetune must be 'auto', 'all', 'none' or a number of top layers, got {spec!r}"
        raise ValueError(msg)


def check_layers(spec: FineTune, n_layers: int) -> None:
    """Raise if an encoder with so many layers cannot be trained as ``spec`` says."""
    if n_layers == 0 and spec not in ("auto", "none"):
        msg = f"finetune={spec!r} needs an encoder with layers; vectors have none: use 'none'"
        raise ValueError(msg)
    if isinstance(spec, Integral) and spec > n_layers:
        msg = f"finetune={spec} is more than the encoder's {n_layers} layers: use 'all'"
        raise ValueError(msg)


def _require_choice(name: str, value: object, choices: object) -> None:
    if value not in choices:  # type: ignore[operator]
        options = ", ".join(map(repr, choices))  # type: ignore[call-overload]
        msg = f"{name} must be one of {options}, got {value!r}"
        raise ValueError(msg)
