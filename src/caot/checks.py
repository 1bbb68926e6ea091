"""Checks of single settings; each message names the setting and what it may be."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral

import torch

LARGEST_SEED = 2**32 - 1


def require_integer(name: str, value: object, least: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``least``."""
    if not isinstance(value, Integral) or value < least:
        msg = f"{name} must be an integer of at least {least}, got {value!r}"
        raise ValueError(msg)


def check_seed(random_state: object) -> None:
    """Raise unless ``random_state`` is a seed that all libraries take."""
    if not isinstance(random_state, Integral) or not 0 <= int(random_state) <= LARGEST_SEED:
        msg = f"random_state must be an integer from 0 to {LARGEST_SEED}, got {random_state!r}"
        raise ValueError(msg)


def require_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if value not in choices:
        msg = f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}"
        raise ValueError(msg)


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


def check_layers(spec: object, n_layers: int) -> None:
    """Raise if an encoder with so many layers cannot be trained as ``finetune=spec`` says."""
    if n_layers == 0 and spec not in ("auto", "none"):
        msg = f"finetune={spec!r} needs an encoder with layers; vectors have none: use 'none'"
        raise ValueError(msg)
    if isinstance(spec, Integral) and int(spec) > n_layers:
        msg = f"finetune={spec} is more than the encoder's {n_layers} layers: use 'all'"
        raise ValueError(msg)
