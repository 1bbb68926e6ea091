"""Saved methods: weights and labels in safetensors, settings in JSON, the encoder beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from caot.baselines.heads import (
    Centroids,
    ClusterNetwork,
    Head,
    Prototypes,
    Similarities,
    StudentT,
)
from caot.baselines.registry import method_of
from caot.baselines.remembered import Remembered
from caot.persistence import (
    FORMAT_VERSION,
    ModelFormatError,
    library_versions,
    plain_parameters,
    read_config,
    read_parts,
    replace_folder,
    whole,
    write_parts,
)

if TYPE_CHECKING:
    from caot.baselines.base import Baseline

WEIGHTS_FILE = "caot_method.safetensors"

_HEADS: dict[str, type[Head]] = {
    kind.__name__: kind
    for kind in (Centroids, Similarities, StudentT, ClusterNetwork, Prototypes, Remembered)
}
_PREFIX = "head."

Model = TypeVar("Model", bound="Baseline")


def save(model: Baseline, folder: Path, *, overwrite: bool) -> None:
    """Write ``model`` to ``folder``, all or nothing."""
    replace_folder(folder, lambda fresh: _write(model, fresh), overwrite=overwrite)


def load(kind: type[Model], folder: Path, *, device: str | None) -> Model:
    """Read a saved method; its class must be ``kind`` or derive from it."""
    config = read_config(folder)
    if "method" not in config:
        msg = f"{folder} holds a CAOT: load it with caot.load_model"
        raise ModelFormatError(msg)
    found = _class(config["method"])
    if not issubclass(found, kind):
        msg = f"{folder} holds a {found.__name__}, not a {kind.__name__}: "
        msg += f"load it with {found.__name__}.from_pretrained"
        raise ModelFormatError(msg)
    with whole(folder):
        return _read(found, folder, config, device)


def _read(kind: type[Model], folder: Path, config: dict[str, Any], device: str | None) -> Model:
    saved = config["parameters"].items()
    parameters: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in saved}
    model = kind(**parameters)
    if device is not None and "device" in model.get_params(deep=False):
        model.set_params(device=device)
    weights, arrays = read_parts(folder / WEIGHTS_FILE, _PREFIX)
    head = _HEADS[config["head"]](**config["head_arguments"])
    head.load_state_dict(weights)
    model._keep_encoder(kind._load_encoder(folder, device))
    place = next(getattr(model.encoder_, "module", head).parameters(), torch.empty(0)).device
    model.networks_ = head.eval().to(place)
    for name, array in arrays.items():
        setattr(model, name, array)
    return model


def _write(model: Baseline, folder: Path) -> None:
    write_parts(model, folder, WEIGHTS_FILE, _PREFIX, _config(model))


def _config(model: Baseline) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "versions": library_versions(),
        "method": type(model).__name__,
        "max_chunks": getattr(model.encoder_, "max_chunks", None),
        "parameters": plain_parameters(model),
        "head": type(model.networks_).__name__,
        "head_arguments": model.networks_.arguments(),
    }


def _class(name: str) -> type[Any]:
    try:
        return method_of(name).load()
    except KeyError:
        msg = f"this version of caot knows no method {name!r}: a later one saved it"
        raise ModelFormatError(msg) from None
