"""From what a user writes as `encoder=` to an encoder."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Literal

from caot.checks import require_choice
from caot.encoders.availability import require_there
from caot.encoders.chunked import ChunkedEncoder
from caot.encoders.embedded import load_embedded
from caot.encoders.lazy import transformer_encoder

if TYPE_CHECKING:
    import torch

    from caot.encoders.protocol import Encoder

PAPER_MODEL = "sentence-transformers/distilbert-base-nli-stsb-mean-tokens"

# The paper reads at most 32 tokens of a text.
PAPER_MAX_LENGTH = 32

_MEMBERS = (
    "name",
    "fingerprint",
    "width",
    "n_layers",
    "max_length",
    "module",
    "prepare",
    "forward",
    "encode",
    "set_trainable",
    "save",
)


def load_encoder(
    spec: str | os.PathLike[str] | Encoder,
    *,
    mode: Literal["default", "faithful"] = "default",
    max_length: int | None = None,
    max_chunks: int | None = None,
    prompt_name: str | None = None,
    device: str | torch.device | None = None,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    local_files_only: bool = False,
) -> Encoder:
    """Return the encoder that a user asked for.

    Parameters
    ----------
    spec : str, path or Encoder
        "auto" is the embedded all-MiniLM-L6-v2; "paper" is the paper's DistilBERT; otherwise a hub
        id, a local folder, or an encoder, which is returned as it is.
    mode : "default" or "faithful"
        "faithful" reads a model as the paper does: mean pooling without normalisation or prompt,
        at most 32 tokens.
    max_length : int, optional
        Texts are cut after this many tokens; None means the model's own maximum, or 32 in
        faithful mode.
    max_chunks : int, optional
        Texts longer than the maximum are read in up to so many chunks, whose mean is the text's
        vector (`ChunkedEncoder`); None cuts them. It can be given with an encoder, too.
    prompt_name : str, optional
        Which of the model's prompts goes before every text; not in faithful mode.
    device : str or torch.device, optional
        None means cuda where available, else mps, else cpu.
    revision, token, cache_dir, local_files_only
        For hub ids, as in sentence-transformers.

    Raises
    ------
    EncoderNotAvailable
        When the model is not there and cannot be fetched; the message says how to get it.
    """
    require_choice("mode", mode, ("default", "faithful"))
    if not isinstance(spec, str | os.PathLike):
        return _in_chunks(_as_encoder(spec), max_chunks)
    pooling: Literal["own", "mean"] = "own"
    if mode == "faithful":
        pooling, max_length = "mean", _faithful_length(max_length, prompt_name)
    if spec == "auto":
        embedded = load_embedded(max_length=max_length, pooling=pooling, device=device)
        return _in_chunks(embedded, max_chunks)
    encoder = transformer_encoder().load(
        PAPER_MODEL if spec == "paper" else spec,
        max_length=max_length,
        pooling=pooling,
        prompt_name=prompt_name,
        device=device,
        revision=revision,
        token=token,
        cache_dir=cache_dir,
        local_files_only=local_files_only,
    )
    return _in_chunks(encoder, max_chunks)


def check_encoder(spec: str | os.PathLike[str], *, local_files_only: bool = False) -> None:
    """Raise if `load_encoder` would certainly not find what a user asked for.

    Nothing is loaded and no network is asked, so that a slip is told before any long work.

    Raises
    ------
    EncoderNotAvailable
        With the same message as that of `load_encoder`.
    """
    if spec != "auto":  # its package is verified as it is loaded
        require_there(PAPER_MODEL if spec == "paper" else spec, local_files_only=local_files_only)


def _faithful_length(max_length: int | None, prompt_name: str | None) -> int:
    """Return how many tokens the paper reads, unless told otherwise; it knows no prompts."""
    if prompt_name is not None:
        msg = "faithful mode uses no prompt: leave prompt_name out, or choose the default mode"
        raise ValueError(msg)
    return PAPER_MAX_LENGTH if max_length is None else max_length


def _in_chunks(encoder: Encoder, max_chunks: int | None) -> Encoder:
    if max_chunks is None:
        return encoder
    if isinstance(encoder, ChunkedEncoder):  # which may have been given another number
        encoder = encoder.encoder
    if not isinstance(encoder, transformer_encoder()):
        msg = f"only a TransformerEncoder reads in chunks, not a {type(encoder).__name__}"
        raise TypeError(msg)
    return ChunkedEncoder(encoder, max_chunks=max_chunks)


def _as_encoder(candidate: Encoder) -> Encoder:
    """Check by name alone: isinstance() would compute the fingerprint on Python 3.11."""
    absent = object()
    missing = [m for m in _MEMBERS if inspect.getattr_static(candidate, m, absent) is absent]
    if missing:
        msg = (
            'encoder must be "auto", "paper", a hub id, a folder or an Encoder; '
            f"got a {type(candidate).__name__} without {', '.join(missing)}"
        )
        raise TypeError(msg)
    return candidate
