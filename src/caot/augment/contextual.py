"""Words replaced by what masked language models expect in their place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from caot.augment.base import Request, TextAugmenter
from caot.augment.cache import ViewCache, default_cache_dir
from caot.augment.words import (
    Word,
    check_rate,
    draw_words,
    n_changed,
    replace_words,
    split_words,
    text_generator,
)

if TYPE_CHECKING:
    from caot.augment.masked_model import MaskedModel

_VERSION = 1  # part of every cache key: raise it when the same settings give other views
_STORE_EVERY = 16  # batches between two writes to the cache, so that a stop loses little


@dataclass(frozen=True, slots=True)
class Contextual(TextAugmenter):
    """Replaces words by candidates of masked language models, one model a view.

    In each text max(1, round(rate × words)) words are masked, all at once, and each is replaced
    by a whole word drawn by probability among the model's `top_k` candidates, never by itself.
    A view depends on text, model, settings and seed alone (up to floating-point ties between
    candidates). The default is the paper's: RoBERTa for view 1, BERT for view 2.

    Parameters
    ----------
    models : str or tuple of str
        Hub ids or folders of the models of view 1 and view 2. One model gives both views, by
        different draws.
    rate : float
        Share of the words to replace, in (0, 1].
    top_k : int
        How many of the best candidates to draw from.
    batch_size : int
        Texts at a time; changes memory and speed, not the views.
    max_length : int
        Tokens of a text that the model reads; words beyond them stay and do not count.
    device : str, optional
        Where the models run; by default a GPU if there is one.
    cache_dir : path, optional
        Folder of the cache of views; by default `CAOT_CACHE` or the user's cache folder. It
        holds the views in plain text.
    cache : bool
        Whether to keep views on disk at all.
    local_files_only : bool
        Never ask the network for a model.
    """

    models: str | tuple[str, ...] = ("roberta-base", "bert-base-uncased")
    rate: float = 0.1
    top_k: int = 100
    batch_size: int = 64
    max_length: int = 128
    device: str | None = None
    cache_dir: str | os.PathLike[str] | None = None
    cache: bool = True
    local_files_only: bool = False
    name: ClassVar[str] = "contextual"

    def __post_init__(self) -> None:
        models = (self.models,) if isinstance(self.models, str) else tuple(self.models)
        object.__setattr__(self, "models", models)
        if len(models) not in (1, 2) or not all(models):
            raise ValueError(
                f"models must name one masked language model, or two, one a view; got {models!r}."
            )
        check_rate(self.rate)
        for field, least in (("top_k", 1), ("batch_size", 1), ("max_length", 8)):
            if getattr(self, field) < least:
                raise ValueError(f"{field} must be at least {least}, got {getattr(self, field)!r}.")

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        names = (self.models[0], self.models[-1])
        views: list[list[str]] = []
        model: MaskedModel | None = None
        for view, name in enumerate(names):
            model = model if name == names[0] else None
            filled, model = self._view(texts, view, name, model, request)
            views.append(filled)
        return views[0], views[1]

    def _view(
        self,
        texts: list[str],
        view: int,
        name: str,
        model: MaskedModel | None,
        request: Request,
    ) -> tuple[list[str], MaskedModel | None]:
        """Return one view and the model, if it had to be loaded."""
        from caot.augment.masked_loading import load_masked_model, revision_of  # noqa: PLC0415

        def load() -> MaskedModel:
            return load_masked_model(
                name, device=self.device, local_files_only=self.local_files_only
            )

        revision = revision_of(name)
        if revision is None:
            model = model or load()
            revision = revision_of(name)
        settings = (_VERSION, name, revision, self.rate, self.top_k, self.max_length)
        scope = repr((*settings, request.random_state, view))
        known: dict[str, str] = {}
        store = None
        if self.cache and revision is not None:
            store = ViewCache(Path(self.cache_dir or default_cache_dir()), scope)
            known = store.load(texts)
        missing = [text for text in texts if text not in known]
        if missing:
            model = model or load()
            title = f"contextual view {view + 1} of 2 ({name})"
            for batch in self._filled(missing, model, view, request, title):
                known |= batch
                if store is not None:
                    store.store(batch)
        return [known[text] for text in texts], model

    def _filled(
        self,
        texts: list[str],
        model: MaskedModel,
        view: int,
        request: Request,
        title: str,
    ) -> Iterator[dict[str, str]]:
        """Yield text → view for some batches at a time; texts of like length go together."""
        from tqdm import tqdm  # noqa: PLC0415

        ordered = sorted(texts, key=len)
        chunk: dict[str, str] = {}
        silent, seed = not request.progress, request.random_state
        with tqdm(total=len(ordered), desc=title, unit="text", disable=silent) as bar:
            for start in range(0, len(ordered), self.batch_size):
                batch = ordered[start : start + self.batch_size]
                chunk |= zip(batch, self._batch(batch, model, view, seed), strict=True)
                bar.update(len(batch))
                if len(chunk) >= _STORE_EVERY * self.batch_size:
                    yield chunk
                    chunk = {}
        yield chunk

    def _batch(
        self, texts: list[str], model: MaskedModel, view: int, random_state: int
    ) -> list[str]:
        words = [split_words(text) for text in texts]
        masked = model.tokenize(texts, words, self.max_length)
        chosen: list[list[Word]] = []
        levels: list[float] = []  # where each draw falls in the cumulative probability
        for text, own, row in zip(texts, words, masked, strict=True):
            generator = text_generator(random_state, f"contextual {view}", text)
            possible = [word for word in own if word in row.spans and model.can_fill(word)]
            size = n_changed(self.rate, row.n_words)
            chosen.append(draw_words(possible, size, generator) if possible else [])
            levels += (1.0 - generator.random(len(chosen[-1]))).tolist()
        if not levels:
            return texts
        columns, logits = model.fill(masked, chosen, self.top_k)
        drawn = iter(draw_candidates(columns, logits, np.array(levels)))
        return [
            replace_words(text, {word: model.words[next(drawn)] for word in own})
            for text, own in zip(texts, chosen, strict=True)
        ]


def draw_candidates(
    columns: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    logits: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    levels: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> list[int]:
    """Draw one candidate a row by the softmax of its logits, at given levels in (0, 1].

    The cumulative sum runs by column number, not by rank: two candidates that swap ranks by
    rounding do not change the draw.
    """
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))  # (M, k)
    cumulative = np.cumsum(weights, axis=1)
    below = cumulative < levels[:, None] * cumulative[:, -1:]
    return [int(columns[row, place]) for row, place in enumerate(below.sum(axis=1))]
