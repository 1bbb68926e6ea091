"""A sha256 of everything that decides an encoder's vectors."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn
    from transformers import PreTrainedTokenizerBase


def weights_mark(module: nn.Module) -> tuple[float, ...]:
    """Return sum and norm of every weight: a cheap mark that changes with training.

    The version counters of tensors would not do: fused optimisers do not raise them.
    """
    weights = [weight.float() for weight in module.state_dict().values()]
    marks = [mark for weight in weights for mark in (weight.sum(), weight.norm())]
    return tuple(torch.stack(marks).tolist()) if marks else ()


def fingerprint(module: nn.Module, used: set[int], settings: Mapping[str, Any]) -> str:
    """Hash the settings as sorted JSON, and the weights by name.

    Parameters whose id is not in `used` are left out: a pooler that nothing reads has random
    weights when the model's file has none for it.
    """
    content = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    idle = {name for name, weight in module.named_parameters() if id(weight) not in used}
    for name, weight in sorted(module.state_dict().items()):
        if name in idle:
            continue
        array = weight.detach().cpu().contiguous().numpy()
        content.update(f"{name} {array.dtype} {array.shape}".encode())
        content.update(array.data)
    return content.hexdigest()


def tokenizer_settings(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return what decides the ids of a text, without state left over from earlier calls."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab()}
    settings: dict[str, Any] = json.loads(backend.to_str())
    # The last call's truncation and padding stay in the backend; the length is hashed apart.
    return {key: value for key, value in settings.items() if key not in ("truncation", "padding")}
