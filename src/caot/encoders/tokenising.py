"""From texts to token ids, by the tokenizer and the prompt of a sentence-transformers model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caot.encoders.protocol import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sentence_transformers import SentenceTransformer

# Texts tokenised at a time: enough to use the tokenizer's batch call, little padding to strip.
_TOGETHER = 1024

# Fewer where nothing is cut: one long text makes all others of its group as long.
_WHOLE_TOGETHER = 32

# More tokens than any text has: without a maximum, the tokenizer warns of every long text.
_UNCUT = {"text": {"max_length": 10**9}}


def checked_texts(inputs: Iterable[object]) -> list[str]:
    """Return the inputs as a list; raise unless all are strings."""
    if isinstance(inputs, str):
        msg = "expected a list of texts, got one string: wrap it in a list"
        raise TypeError(msg)
    texts: list[str] = []
    for row, text in enumerate(inputs):
        if not isinstance(text, str):
            msg = f"text {row} is a {type(text).__name__}, not a string: {text!r}"
            raise TypeError(msg)
        texts.append(text)
    return texts


def tokenise(
    model: SentenceTransformer, texts: list[str], *, prompt: str | None, whole: bool = False
) -> Tokens:
    """Tokenise texts, each with the prompt and the model's special tokens.

    Parameters
    ----------
    model : SentenceTransformer
        A model whose first part is a transformer.
    texts : list of str
        May hold texts without any token.
    prompt : str, optional
        Goes before every text.
    whole : bool
        Cut nothing; otherwise texts end at the model's maximum length.
    """
    together = _WHOLE_TOGETHER if whole else _TOGETHER
    options: dict[str, Any] = {"processing_kwargs": _UNCUT} if whole else {}
    order = np.argsort([len(text) for text in texts], kind="stable")
    parts = []
    for start in range(0, len(texts), together):
        group = [texts[row] for row in order[start : start + together]]
        parts.append(_ragged(model.preprocess(group, prompt=prompt, **options)))
    if not parts:
        return Tokens.from_lists([])
    return Tokens.concat(*parts).take(np.argsort(order, kind="stable"))


def _ragged(features: dict[str, Any]) -> Tokens:
    """Strip the padding from a tokenised batch."""
    real = features["attention_mask"].bool()
    if "token_type_ids" in features and bool(features["token_type_ids"][real].any()):
        msg = "models whose tokenizer marks segments within one text (XLNet) are not supported"
        raise ValueError(msg)
    lengths = real.sum(dim=1).numpy()
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Tokens(features["input_ids"][real].numpy().astype(np.int64, copy=False), offsets)
