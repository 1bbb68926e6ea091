"""Bring in the transformer libraries only when a model is loaded: importing them takes seconds."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from caot.encoders.transformer import TransformerEncoder


def transformer_encoder() -> type[TransformerEncoder]:
    """Return the class `TransformerEncoder`."""
    module = import_module("caot.encoders.transformer")
    return cast("type[TransformerEncoder]", module.TransformerEncoder)
