"""Texts translated there and back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from tqdm.auto import tqdm

from caot.augment.base import Request, TextAugmenter
from caot.encoders.availability import is_offline
from caot.encoders.device import resolve_device

_TOGETHER = 32


class TranslationNotAvailable(OSError):  # noqa: N818 - the name says what happened
    """There is no translation model; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class BackTranslation(TextAugmenter):
    """The text itself, and its translation into another language and back.

    Parameters
    ----------
    there, back : str or path
        Two translation models of transformers by hub id or folder, such as
        "Helsinki-NLP/opus-mt-en-de" and "Helsinki-NLP/opus-mt-de-en".
    max_length : int
        The most tokens of a translation.
    device : str, optional
        None takes the best at hand.
    """

    there: str | os.PathLike[str]
    back: str | os.PathLike[str]
    max_length: int = 64
    device: str | None = None
    name: ClassVar[str] = "back-translation"

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        abroad = self._translate(self.there, texts, progress=request.progress)
        home = self._translate(self.back, abroad, progress=request.progress)
        # A model may answer with nothing at all; the text then stands for itself.
        return texts, [new or old for new, old in zip(home, texts, strict=True)]

    def _translate(
        self, name: str | os.PathLike[str], texts: list[str], *, progress: bool
    ) -> list[str]:
        """Translate by beam-free search, so that the same model gives the same words."""
        tokenizer, model = load_translator(name, self.device)
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        found: dict[int, str] = {}
        starts = range(0, len(order), _TOGETHER)
        for start in tqdm(starts, desc="Translating", unit="batch", disable=not progress):
            rows = order[start : start + _TOGETHER]
            # An empty translation of the first model must not end the second.
            given = [texts[row] or "." for row in rows]
            tokens = tokenizer(
                given,
                padding=True,
                truncation=True,
                max_length=self.max_length,
                return_tensors="pt",
                return_token_type_ids=False,
            ).to(model.device)
            with torch.inference_mode():
                made = model.generate(
                    **tokens, max_new_tokens=self.max_length, num_beams=1, do_sample=False
                )
            words = tokenizer.batch_decode(made, skip_special_tokens=True)
            found.update(zip(rows, (text.strip() for text in words), strict=True))
        return [found[row] for row in range(len(texts))]


def load_translator(name: str | os.PathLike[str], device: str | None) -> tuple[Any, Any]:
    """Return tokenizer and model; from safetensors alone, and no code of a repository is run."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer  # noqa: PLC0415 - takes seconds

    with _at_hand(str(name)) as settings:
        tokenizer = AutoTokenizer.from_pretrained(str(name), **settings)
        model = AutoModelForSeq2SeqLM.from_pretrained(str(name), use_safetensors=True, **settings)
    return tokenizer, model.to(resolve_device(device)).eval()


def require_translator(name: str) -> None:
    """Raise if a translation model is not at hand; only its settings are read."""
    from transformers import AutoConfig  # noqa: PLC0415 - takes seconds

    with _at_hand(name) as settings:
        AutoConfig.from_pretrained(name, **settings)


@contextmanager
def _at_hand(source: str) -> Iterator[dict[str, Any]]:
    """Give the settings to load a model with; one that cannot be loaded is told of."""
    try:
        yield {"local_files_only": is_offline() or Path(source).is_dir()}
    except (OSError, ValueError, ImportError) as error:
        first = str(error).strip().splitlines()[0]
        msg = (
            f"Back-Trans needs a translation model, and {source!r} is not at hand ({first}): "
            "download it once with network access, or give a local folder"
        )
        raise TranslationNotAvailable(msg) from error
