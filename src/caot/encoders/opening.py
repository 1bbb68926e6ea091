"""Open a model with sentence-transformers and settle its pooling, prompt, padding and length."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers.utils import logging as transformers_logging

from caot.encoders.availability import locate, not_available, unreadable_folder
from caot.encoders.layers import position_limit

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

logger = logging.getLogger("caot.encoders")

# Tokenizers without a maximum length say so by a number beyond this one.
_NO_LIMIT = 10**9


def open_model(
    name_or_path: str | os.PathLike[str],
    *,
    device: str,
    revision: str | None,
    token: str | bool | None,
    cache_dir: str | None,
    local_files_only: bool,
) -> SentenceTransformer:
    """Load the modules in float32 from safetensors; never runs code from a repository."""
    source, is_folder = locate(name_or_path)
    try:
        with without_progress_bars():
            return SentenceTransformer(
                source,
                device=device,
                revision=revision,
                token=token,
                cache_folder=cache_dir,
                local_files_only=local_files_only,
                trust_remote_code=False,
                # Small steps vanish in half precision, and a pickle can run code.
                model_kwargs={"dtype": torch.float32, "use_safetensors": True},
            )
    except (OSError, ValueError, LookupError, ImportError, SafetensorError) as error:
        if is_folder:
            raise unreadable_folder(source, error) from error
        raise not_available(source, error, revision=revision, cache_dir=cache_dir) from error


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Keep the library from drawing a bar for something that takes a moment."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def transformer_of(model: SentenceTransformer) -> Transformer:
    """Return the transformer that reads the texts."""
    first = next(model.children(), None)
    if not isinstance(first, Transformer) or first.tokenizer is None:
        msg = (
            f"The model starts with {type(first).__name__}, but only text transformers can be used "
            "here; encode with that model yourself and pass the vectors with encoder=Features()."
        )
        raise ValueError(msg)
    transformer: Transformer = first
    return transformer


def is_plain(model: SentenceTransformer) -> bool:
    """Tell a plain Hugging Face model, which states no modules of its own."""
    return not model.module_kwargs


def mean_pooled(model: SentenceTransformer) -> SentenceTransformer:
    """Keep the transformer alone, followed by the masked mean over its tokens (Eq. 16)."""
    transformer = transformer_of(model)
    if transformer.module_output_name != "token_embeddings":
        msg = f"The model gives {transformer.module_output_name}, not one vector per token."
        raise ValueError(msg)
    # A chat template would put its own words around every text.
    transformer.modality_config = {
        "text": {"method": "forward", "method_output_name": "last_hidden_state"}
    }
    transformer.input_formatter.supported_modalities = ["text"]
    pooling = Pooling(transformer.get_embedding_dimension(), "mean")
    return SentenceTransformer(modules=[transformer, pooling], device=str(model.device))


def takes_mean(module: object) -> bool:
    """Tell whether a module is the plain mean over all tokens of a text."""
    if not isinstance(module, Pooling) or not module.include_prompt:
        return False
    return module.pooling_mode in ("mean", ["mean"], ("mean",))


def gives_unit_vectors(model: SentenceTransformer) -> bool:
    """Tell whether a model ends in a normalisation and keeps all numbers of a vector."""
    *_, last = model.children()
    return isinstance(last, Normalize) and model.truncate_dim is None


def set_prompt(model: SentenceTransformer, prompt_name: str | None) -> None:
    """Make a prompt the model's default, so that the saved model applies it too."""
    if prompt_name is None:
        return
    if prompt_name not in model.prompts:
        msg = f"The model has no prompt {prompt_name!r}; it has {sorted(model.prompts)}."
        raise ValueError(msg)
    model.default_prompt_name = prompt_name


def default_prompt(model: SentenceTransformer) -> str | None:
    """Return the words that go before every text, if any."""
    if model.default_prompt_name is None:
        return None
    return model.prompts.get(model.default_prompt_name) or None


def set_padding(model: SentenceTransformer) -> None:
    """Give the tokenizer a padding token if it has none; masked, it never matters which."""
    tokenizer = model.tokenizer
    if tokenizer.pad_token_id is not None:
        return
    if tokenizer.eos_token is None:
        msg = "The tokenizer has neither a padding nor an end token: add a padding token to it."
        raise ValueError(msg)
    tokenizer.pad_token = tokenizer.eos_token
    logger.info("the tokenizer has no padding token; %r is used", tokenizer.eos_token)


def get_max_length(model: SentenceTransformer) -> int | None:
    """Return the most tokens that are read of a text; None when there is no limit."""
    length = model.max_seq_length
    return None if length is None or length >= _NO_LIMIT else int(length)


def set_max_length(model: SentenceTransformer, max_length: int | None) -> None:
    """Cut texts after `max_length` tokens; None keeps the model's own maximum."""
    limit = position_limit(transformer_of(model).model)
    if max_length is None:
        own = get_max_length(model)
        # Some tokenizers state no maximum, or one beyond the model's positions.
        if limit is not None and (own is None or own > limit):
            model.max_seq_length = limit
        return
    special = model.tokenizer.num_special_tokens_to_add()
    if max_length <= special or (limit is not None and max_length > limit):
        top = "" if limit is None else f" and at most {limit}"
        msg = (
            f"max_length must be at least {special + 1}{top} for this model, "
            f"special tokens included; got {max_length}"
        )
        raise ValueError(msg)
    model.max_seq_length = max_length
