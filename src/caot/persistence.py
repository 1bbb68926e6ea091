"""Saved models: a sentence-transformers folder, networks and words beside it, no pickle."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

import caot
from caot.encoders import ChunkedEncoder, Encoder, Features
from caot.encoders.device import device_of
from caot.files import sync
from caot.imbalance import Imbalance
from caot.model_card import model_card
from caot.plain import plain
from caot.training import Networks, TrainingConfig
from caot.variant import Variant
from caot.words import WORDS_FILES, Words

if TYPE_CHECKING:
    from caot.clusterer import TextClusterer
    from caot.estimator import CAOT

FORMAT_VERSION = 2  # 2: words beside the embeddings
CONFIG_FILE = "config_caot.json"
NETWORKS_FILE = "caot_networks.safetensors"
FEATURES_FILE = "features.json"

# Settings that belong to the machine or the moment of fitting; the variant has its own place.
_NOT_SAVED = ("device", "verbose", "variant")
_PREFIX = "networks."
FITTED_ARRAYS = ("labels_", "cluster_centers_", "cluster_sizes_")

Model = TypeVar("Model", bound="CAOT")


class ModelFormatError(ValueError):
    """A folder that is not a saved model, or one of a newer version."""


def save(model: CAOT, folder: Path, *, overwrite: bool) -> None:
    """Write ``model`` to ``folder``, all or nothing."""
    replace_folder(folder, lambda fresh: _write(model, fresh), overwrite=overwrite)


def replace_folder(folder: Path, write: Callable[[Path], None], *, overwrite: bool) -> None:
    """Let ``write`` fill a new folder, then put it in the place of ``folder``, all or nothing."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not overwrite:
            msg = f"{folder} exists and is not empty: choose another folder, or pass overwrite=True"
            raise FileExistsError(msg)
        if not (folder / CONFIG_FILE).is_file():
            msg = f"{folder} is not a saved model and is not overwritten: choose another folder"
            raise FileExistsError(msg)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        write(fresh)
        for path in fresh.rglob("*"):
            if path.is_file():
                path.chmod(0o644)  # safetensors writes private files
                sync(path)
        fresh.chmod(0o755)
        _swap(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def locate(
    name_or_folder: str | os.PathLike[str],
    *,
    revision: str | None,
    token: str | bool | None,
    cache_dir: str | os.PathLike[str] | None,
    local_files_only: bool,
) -> Path:
    """Return the folder of a saved model, fetched from the hub if it is not a folder."""
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or len(folder.parts) != 2 or str(name_or_folder).startswith("."):
        msg = f"there is no folder {name_or_folder}, and it is not a hub id such as 'name/model'"
        raise FileNotFoundError(msg)
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only for models of the hub

    try:
        fetched = snapshot_download(
            str(name_or_folder),
            revision=revision,
            token=token,
            cache_dir=None if cache_dir is None else Path(cache_dir),
            local_files_only=local_files_only,
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        msg = f"there is no folder {name_or_folder}, and the hub gives no such model ({reason})"
        raise FileNotFoundError(msg) from error
    return Path(fetched)


def load(kind: type[Model], folder: Path, *, device: str | None) -> Model:
    """Read a saved model."""
    config = read_config(folder)
    if "method" in config:
        msg = f"{folder} holds a {config['method']}, not a CAOT: load it with caot.load_model"
        raise ModelFormatError(msg)
    with whole(folder):
        return _read(kind, folder, config, device)


def _read(kind: type[Model], folder: Path, config: dict[str, Any], device: str | None) -> Model:
    variant = Variant(**config["variant"])
    model = kind(**config["parameters"], variant=variant, device=device)
    encoder = load_saved_encoder(folder, device)
    weights, arrays = read_parts(folder / NETWORKS_FILE, _PREFIX)
    shape = TrainingConfig(n_clusters=config["n_clusters"], attention=config["attention"])
    words = Words.load(folder)
    if words is None and config.get("words", False):
        msg = f"{folder} is not complete: {' and '.join(WORDS_FILES)} belong to it"
        raise ModelFormatError(msg)
    networks = Networks(config["width"] + (0 if words is None else words.width), shape)
    networks.load_state_dict(weights)
    imbalance = Imbalance(**config["imbalance"])
    model._take(encoder, words, networks.to(device_of(encoder)), imbalance)
    absent = {"history_": None, "end_reason_": None, "sample_ids_": None}
    own = config["has_own_cluster"]
    # Models of earlier versions gave probabilities as the network does.
    numbers = {
        "n_iter_": config["n_iter"],
        "n_iter_saved_": config.get("n_iter_saved", 0),
        "temperature_": config.get("temperature", 1.0),
    }
    model._restore({**arrays, **absent, **numbers, "has_own_cluster_": own})
    return model


def push(model: CAOT, repo_id: str, *, token: str | None, private: bool) -> str:
    """Upload a model; return its address."""
    from huggingface_hub import HfApi  # noqa: PLC0415 - only when uploading

    api = HfApi(token=token)
    api.create_repo(repo_id, private=private, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _write(model, Path(folder))
        # What an earlier model left there, and this one has not, would be read as a part of it.
        stale = [FEATURES_FILE, *WORDS_FILES]
        uploaded = api.upload_folder(folder_path=folder, repo_id=repo_id, delete_patterns=stale)
        return str(uploaded)


def _write(model: CAOT, folder: Path) -> None:
    write_parts(model, folder, NETWORKS_FILE, _PREFIX, _config(model))
    if model.words_ is not None:
        model.words_.save(folder)
    (folder / "README.md").write_text(model_card(model), encoding="utf-8")


def write_parts(
    model: TextClusterer, folder: Path, file: str, prefix: str, config: dict[str, Any]
) -> None:
    """Write what a saved model of any method has: encoder, networks and labels, configuration."""
    model.encoder_.save(folder)
    state = model.networks_.state_dict()
    tensors = {prefix + name: tensor.contiguous() for name, tensor in state.items()}
    for name in FITTED_ARRAYS:
        tensors[name] = torch.from_numpy(np.ascontiguousarray(getattr(model, name)))
    save_file(tensors, folder / file)
    text = json.dumps(config, indent=2, sort_keys=True)
    (folder / CONFIG_FILE).write_text(text + "\n", encoding="utf-8")


def read_parts(path: Path, prefix: str) -> tuple[dict[str, Tensor], dict[str, NDArray[Any]]]:
    """Return the weights of the networks, and the arrays of the fit, that `write_parts` wrote."""
    tensors = load_file(path)
    weights = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    return weights, {name: tensors[name].numpy() for name in FITTED_ARRAYS}


def _config(model: CAOT) -> dict[str, Any]:
    encoder: Encoder = model.encoder_
    return {
        "format_version": FORMAT_VERSION,
        "versions": library_versions(),
        "encoder": encoder.name,
        "max_chunks": getattr(encoder, "max_chunks", None),
        "n_clusters": model.networks_.n_clusters,
        "attention": model.networks_.attention_kind,
        "has_own_cluster": model.has_own_cluster_,
        "n_iter": int(model.n_iter_),
        "n_iter_saved": int(model.n_iter_saved_),
        "temperature": float(model.temperature_),
        "width": int(encoder.width),
        "words": model.words_ is not None,
        "imbalance": asdict(model.imbalance_),
        "variant": asdict(model.variant or Variant()),
        "parameters": plain_parameters(model),
    }


def plain_parameters(model: Any) -> dict[str, Any]:  # noqa: ANN401 - any estimator
    """Return the parameters that JSON can hold; an encoder or augmenter object is left out."""
    given = {n: v for n, v in model.get_params(deep=False).items() if n not in _NOT_SAVED}
    return {name: plain(value) for name, value in given.items() if _is_plain(value)}


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool | None | np.generic)


def library_versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    from importlib.metadata import version  # noqa: PLC0415

    names = ("numpy", "scikit-learn", "torch", "transformers", "sentence-transformers")
    return {"caot": caot.__version__, **{name: version(name) for name in names}}


@contextmanager
def whole(folder: Path) -> Iterator[None]:
    """Raise a `ModelFormatError` for what damaged files of a saved model raise."""
    try:
        yield
    except (
        SafetensorError,
        json.JSONDecodeError,
        UnicodeDecodeError,
        KeyError,
        TypeError,
    ) as error:
        msg = f"the model in {folder} is damaged ({type(error).__name__}: {error}): restore it, or "
        raise ModelFormatError(msg + "fit and save it again") from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return what a saved model says about itself, after a check of its format."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        msg = f"{folder} is not a saved model: it has no {CONFIG_FILE}"
        raise ModelFormatError(msg)
    with whole(folder):
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(config, dict) or not isinstance(config.get("format_version"), int):
        msg = f"{path} does not say which format it has: it was not written by caot"
        raise ModelFormatError(msg)
    if config["format_version"] > FORMAT_VERSION:
        written = config.get("versions", {}).get("caot", "of a later version")
        msg = (
            f"{folder} was saved by caot {written} in a newer format ({config['format_version']}, "
            f"this version reads up to {FORMAT_VERSION}): use that version, or a later one"
        )
        raise ModelFormatError(msg)
    return config


def load_saved_encoder(folder: Path, device: str | None) -> Encoder:
    """Return the encoder of a saved model, which reads long texts as the fitted one did."""
    if (folder / FEATURES_FILE).is_file():
        return Features.load(folder, device=device or "cpu")
    from caot.encoders import TransformerEncoder  # noqa: PLC0415 - brings in transformers

    config = read_config(folder)
    encoder = TransformerEncoder.load(folder, device=device, name=config.get("encoder"))
    max_chunks = config.get("max_chunks")
    return encoder if max_chunks is None else ChunkedEncoder(encoder, max_chunks=max_chunks)


def _swap(fresh: Path, folder: Path) -> None:
    """Put ``fresh`` in the place of ``folder``."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-old-"))
        folder.replace(old / "model")
        try:
            fresh.replace(folder)
        except BaseException:  # an interruption, too, must not cost the old model
            (old / "model").replace(folder)
            old.rmdir()
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        fresh.replace(folder)
    sync(folder.parent)
