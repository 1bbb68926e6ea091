"""Masked language models: where they are, which weights they have, how to load them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError

from caot.augment.masked_model import MaskedModel
from caot.augment.vocabulary import whole_words
from caot.augment.words import fold, is_unspaced
from caot.encoders.device import resolve_device

# Short names moved to their makers' accounts; a local copy may carry either name.
_MOVED = {
    "roberta-base": "FacebookAI/roberta-base",
    "bert-base-uncased": "google-bert/bert-base-uncased",
}
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def load_masked_model(
    name: str, *, device: str | None = None, local_files_only: bool = False
) -> MaskedModel:
    """Load a masked language model by hub id or folder.

    Raises
    ------
    OSError
        The model is neither here nor can be fetched.
    ValueError
        The checkpoint is no masked language model.
    """
    from transformers import AutoModelForMaskedLM, AutoTokenizer  # noqa: PLC0415 - heavy import

    source = _located(name)
    try:
        model, info = AutoModelForMaskedLM.from_pretrained(
            source,
            local_files_only=local_files_only,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_files_only)
    except (OSError, SafetensorError) as error:
        raise not_available(name, error) from error
    except ValueError as error:
        raise ValueError(
            f"{name!r} could not be loaded as a masked language model "
            f"({_first_line(error)}). Choose one such as 'roberta-base'."
        ) from error
    _check_complete(name, model, info["missing_keys"])
    if not tokenizer.is_fast or tokenizer.mask_token_id is None:
        raise ValueError(
            f"The tokenizer of {name!r} has no mask token or no fast version, which filling in "
            "words needs; choose another masked language model, such as 'roberta-base'."
        )
    chosen = resolve_device(device)
    found = whole_words(tokenizer)
    columns: dict[str, list[int]] = {}
    for column, word in enumerate(found.words):
        columns.setdefault(fold(word), []).append(column)
    unspaced = [is_unspaced(word) for word in found.words]
    return MaskedModel(
        model=model.eval().to(chosen),
        tokenizer=tokenizer,
        ids=torch.tensor(found.ids, dtype=torch.long, device=chosen),
        words=found.words,
        columns=columns,
        unspaced=torch.tensor(unspaced, dtype=torch.bool, device=chosen),
        n_unspaced=sum(unspaced),
    )


def is_available(name: str) -> bool:
    """Whether a model can be loaded without a network: a folder, or in the local hub cache."""
    source = _located(name)
    folder = Path(source) if Path(source).is_dir() else None

    def is_here(file: str) -> bool:
        return (folder / file).is_file() if folder else _cached_file(source, file) is not None

    return is_here("config.json") and any(map(is_here, _WEIGHTS))


def revision_of(name: str) -> str | None:
    """Return what identifies a model's exact weights, without loading it.

    A commit for models of the hub; names, sizes and times of its files for a folder; None for
    a model that is not here yet.
    """
    source = _located(name)
    folder = Path(source)
    if folder.is_dir():
        files = sorted(folder.glob("*.json")) + sorted(folder.glob("*.safetensors"))
        stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return f"{folder.resolve()} {stats}"
    config = _cached_file(source, "config.json")
    return None if config is None else config.parent.name


def _located(name: str) -> str:
    moved = _MOVED.get(name)
    if moved is None or Path(name).is_dir() or _cached_file(name, "config.json"):
        return name
    return moved if _cached_file(moved, "config.json") else name


def _cached_file(name: str, file: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - needed by few
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415

    try:
        path = try_to_load_from_cache(name, file)
    except HFValidationError:  # a path that does not exist is no hub id
        return None
    return Path(path) if isinstance(path, str) else None


def not_available(name: str, error: Exception | None = None) -> OSError:
    """Explain a model that is not here, with the ways to get it or to do without."""
    reason = "" if error is None else f" ({_first_line(error)})"
    return OSError(
        f"The masked language model {name!r} is not available{reason}. Download it once with "
        f"network access: `hf download {name}`; or name a folder that holds one with safetensors "
        "weights: Contextual(models='path/to/model'); or choose an augmenter that needs no "
        "further model: augmenter='substitute' or 'word-dropout'."
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.') if lines else 'no details'}"


def _check_complete(name: str, model: torch.nn.Module, missing: Sequence[str]) -> None:
    """Raise if weights are absent: transformers would leave them random and only log it."""
    names: dict[int, list[str]] = {}
    for key, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(key)
    absent = [keys[0] for keys in names.values() if all(key in missing for key in keys)]
    if absent:
        raise ValueError(
            f"{name!r} is no masked language model: it has no weights for {', '.join(absent[:3])}. "
            "Choose one that was trained to fill in words, such as 'roberta-base'."
        )
