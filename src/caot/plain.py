"""Settings as JSON holds them, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from caot.augment import Augmenter
from caot.encoders import Encoder
from caot.nearest import nearest_name
from caot.variant import Variant


def plain(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a setting as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return _plain_one(value)


def from_plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as an estimator takes them, from what `plain` made of them."""
    variant = parameters.get("variant")
    if not isinstance(variant, Mapping):
        return dict(parameters)
    known = [field.name for field in fields(Variant)]
    unknown = [name for name in variant if name not in known]
    if unknown:
        msg = f"variant has no choice {unknown[0]!r}: {nearest_name(unknown[0], known)}"
        raise ValueError(msg)
    return {**parameters, "variant": Variant(**variant)}


def _plain_one(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Encoder | Augmenter):  # which may hold all texts
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return getattr(value, "__qualname__", type(value).__name__)  # a function
