"""Any sentence-transformers or Hugging Face encoder (Eq. 16)."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from sentence_transformers.base.modules import Module

from caot.encoders.batching import VectorMemory, encode_tokens, evaluation_mode
from caot.encoders.device import resolve_device, to_device
from caot.encoders.families import packed_stack
from caot.encoders.fingerprint import fingerprint, tokenizer_settings, weights_mark
from caot.encoders.layers import count_top, find_layers, select_trainable, used_parameters
from caot.encoders.lower import Deferred
from caot.encoders.opening import (
    default_prompt,
    get_max_length,
    gives_unit_vectors,
    is_plain,
    mean_pooled,
    open_model,
    set_max_length,
    set_padding,
    set_prompt,
    takes_mean,
    transformer_of,
    without_progress_bars,
)
from caot.encoders.packed import Layout, Stack, mean, pad
from caot.encoders.protocol import Activations, Ragged, Tokens
from caot.encoders.tokenising import checked_texts, tokenise

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from torch import Tensor, nn

    from caot.encoders.protocol import Batchable

# Texts padded together where packing is not possible.
_PADDED_TOGETHER = 32

logger = logging.getLogger("caot.encoders")


class TransformerEncoder:
    """A transformer with pooling, run and saved by sentence-transformers.

    Parameters
    ----------
    module : SentenceTransformer
        A model whose first part is a transformer; it is used as it is, not copied.
    name : str
        The model id or path, as shown to users.
    """

    def __init__(self, module: SentenceTransformer, *, name: str) -> None:
        self.module = module
        self.name = name
        self._layers = find_layers(transformer_of(module).model)
        # How many layers, counted from the input, `lower` runs and `forward` leaves to it.
        self.n_frozen = len(self._layers)
        self._prompt = default_prompt(module)
        # The same for every text: how the input is read, and which tokens the pooling leaves out.
        read = module.preprocess(["text"], prompt=self._prompt)
        self._constants: dict[str, Any] = {
            key: value for key, value in read.items() if key in ("modality", "prompt_length")
        }
        self._fingerprint: tuple[tuple[float, ...], str] | None = None
        self._memory: VectorMemory | None = None

    @classmethod
    def load(
        cls,
        name_or_path: str | os.PathLike[str],
        *,
        max_length: int | None = None,
        pooling: Literal["own", "mean"] = "own",
        prompt_name: str | None = None,
        device: str | torch.device | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        local_files_only: bool = False,
        name: str | None = None,
    ) -> TransformerEncoder:
        """Load a model by hub id or from a folder; code from a repository is never run.

        Parameters
        ----------
        name_or_path : str or path
            A hub id or a folder, of sentence-transformers or plain Hugging Face layout.
        max_length : int, optional
            Texts are cut after this many tokens; None keeps the model's own maximum.
        pooling : "own" or "mean"
            "own" keeps the model's pooling, later modules and default prompt; a plain Hugging Face
            model has none and gets mean pooling. "mean" is the masked mean over tokens without
            normalisation or prompt, as in the paper.
        prompt_name : str, optional
            Which of the model's prompts goes before every text; None means its default, if any.
        device : str or torch.device, optional
            None means cuda where available, else mps, else cpu.
        revision, token, cache_dir, local_files_only
            As in sentence-transformers.
        name : str, optional
            What to show users instead of `name_or_path`.
        """
        if pooling not in ("own", "mean"):
            msg = f'pooling must be "own" or "mean", got {pooling!r}'
            raise ValueError(msg)
        module = open_model(
            name_or_path,
            device=str(resolve_device(device)),
            revision=revision,
            token=token,
            cache_dir=None if cache_dir is None else str(cache_dir),
            local_files_only=local_files_only,
        )
        if pooling == "mean" or is_plain(module):
            module = mean_pooled(module)
        set_prompt(module, prompt_name)
        set_padding(module)
        set_max_length(module, max_length)
        return cls(module, name=str(name_or_path) if name is None else name)

    @property
    def width(self) -> int:
        """The length of a vector."""
        width = self.module.get_embedding_dimension()
        if width is None:
            msg = f"the model {self.name!r} does not state the length of its vectors"
            raise ValueError(msg)
        return int(width)

    @property
    def n_layers(self) -> int:
        """The number of transformer layers."""
        return len(self._layers)

    @property
    def hidden_width(self) -> int:
        """The length of a token's vector between two layers."""
        return int(transformer_of(self.module).model.config.hidden_size)

    @property
    def layer_size(self) -> int:
        """How many weights a layer has."""
        return sum(weight.numel() for weight in self._layers[-1].parameters())

    @property
    def can_run_by_parts(self) -> bool:
        """Whether `lower` can run the frozen layers apart from the others."""
        return self._stack is not None

    @property
    def max_length(self) -> int | None:
        """The most tokens of a text that are read, special tokens included."""
        return get_max_length(self.module)

    @property
    def has_unit_vectors(self) -> bool:
        """Whether the model's last part gives every vector a length of one."""
        return gives_unit_vectors(self.module)

    @property
    def device(self) -> torch.device:
        """Where the weights are, and the vectors that `forward` returns."""
        return next(self.module.parameters()).device

    @property
    def fingerprint(self) -> str:
        """A sha256 of weights, tokenizer, modules, prompt and maximum length."""
        mark = weights_mark(self.module)
        if self._fingerprint is None or self._fingerprint[0] != mark:
            with evaluation_mode(self.module):
                used = used_parameters(self.module, self._run_any)
            self._fingerprint = (mark, fingerprint(self.module, used, self._settings()))
        return self._fingerprint[1]

    def _run_any(self) -> Tensor:
        # By the model's own layers, which tell what depends on what.
        return self._forward_padded(self.prepare(["text"]))

    def _settings(self) -> dict[str, Any]:
        parts = [
            (type(part).__name__, part.get_config_dict())
            for part in self.module.children()
            if isinstance(part, Module)
        ]
        return {
            "modules": parts,
            "tokenizer": tokenizer_settings(self.module.tokenizer),
            "prompt": self._prompt,
            "max_length": self.max_length,
            "width": self.width,
        }

    def prepare(self, inputs: Iterable[str]) -> Tokens:
        """Tokenise the texts, with the model's prompt and cut to the maximum length."""
        texts = checked_texts(inputs)
        tokens = tokenise(self.module, texts, prompt=self._prompt)
        empty = np.flatnonzero(tokens.lengths == 0)
        if empty.size:
            msg = f"text {empty[0]} ({texts[empty[0]]!r}) has no tokens: remove or fill such texts"
            raise ValueError(msg)
        return tokens

    def prepare_whole(self, inputs: Iterable[str]) -> Tokens:
        """Tokenise the texts without cutting any: `forward` may not know so many positions."""
        return tokenise(self.module, checked_texts(inputs), prompt=self._prompt, whole=True)

    @property
    def _stack(self) -> Stack | None:
        """The layers for packed runs, read anew: a copy of this encoder has its own."""
        transformer = transformer_of(self.module)
        plain = transformer.module_output_name == "token_embeddings" and not getattr(
            transformer.model.config, "output_hidden_states", False
        )
        return packed_stack(transformer.model) if plain else None

    def forward(self, batch: Batchable) -> Tensor:
        """Map n tokenised texts, or what `lower` made of them, to vectors (n, width).

        Only real tokens are computed where the architecture is known; others are padded, texts of
        similar length together.
        """
        if len(batch) == 0:
            return torch.empty(0, self.width, device=self.device)
        stack = self._stack
        if isinstance(batch, Activations) and stack is not None:
            layout = Layout.of(batch.lengths)
            hidden = to_device(batch.take(layout.order).values, self.device).float()
            return self._pool(stack.run(hidden, layout, self.n_frozen, self.n_layers), layout)
        if not isinstance(batch, Tokens):
            msg = f"forward takes Tokens, as prepare() returns them, got {type(batch).__name__}"
            raise TypeError(msg)
        if stack is None:
            return self._forward_sorted(batch)
        layout = Layout.of(batch.lengths)
        hidden = stack.embed_tokens(batch, layout, self.device)
        return self._pool(stack.run(hidden, layout, 0, self.n_layers), layout)

    def lower(self, batch: Tokens) -> Activations:
        """Run the frozen layers, without dropout or gradients; `forward` does the others."""
        stack = self._stack
        if stack is None:
            msg = f"{self.name!r} cannot run by parts: its architecture is not known"
            raise ValueError(msg)
        layout = Layout.of(batch.lengths)
        with evaluation_mode(self.module), torch.no_grad():
            hidden = stack.embed_tokens(batch, layout, self.device)
            hidden = stack.run(hidden, layout, 0, self.n_frozen)
        by_length = Activations(hidden.cpu().numpy(), batch.take(layout.order).offsets)
        return by_length.take(np.argsort(layout.order, kind="stable"))

    def _pool(self, hidden: Tensor, layout: Layout) -> Tensor:
        """Let the modules behind the transformer make vectors of its hidden states."""
        _, *modules = self.module.children()
        features: dict[str, Any] = {**self._constants}
        if modules and takes_mean(modules[0]):  # needs no padding
            features["sentence_embedding"] = mean(hidden, layout)
            modules = modules[1:]
        else:
            features["token_embeddings"], features["attention_mask"] = pad(hidden, layout)
        for module in modules:
            features = module(features)
        return self._vectors(features)

    def _forward_sorted(self, batch: Tokens) -> Tensor:
        """Pad texts of similar length together."""
        order = np.argsort(batch.lengths, kind="stable")
        parts = [
            self._forward_padded(batch.take(order[start : start + _PADDED_TOGETHER]))
            for start in range(0, len(order), _PADDED_TOGETHER)
        ]
        return torch.cat(parts)[to_device(np.argsort(order, kind="stable"), self.device)]

    def _forward_padded(self, batch: Tokens) -> Tensor:
        """Run the model as its library does, all texts padded to the longest.

        Padding goes to the right for decoders too: positions then do not depend on the batch, and
        pooling finds the last token by the mask.
        """
        ids, mask = batch.padded(self.module.tokenizer.pad_token_id)
        features: dict[str, Any] = {
            "input_ids": to_device(ids, self.device),
            "attention_mask": to_device(mask, self.device),
            **self._constants,
        }
        return self._vectors(self.module(features))

    def _vectors(self, features: dict[str, Any]) -> Tensor:
        # A model may keep only the first numbers of each vector (its `truncate_dim`).
        vectors: Tensor = features["sentence_embedding"][:, : self.width]
        return vectors

    def encode(
        self,
        inputs: Iterable[str] | Ragged | Deferred,
        batch_size: int = 64,
        progress: bool = False,
    ) -> NDArray[np.float32]:
        """Encode texts, or what `prepare` or `lower` made of them, without gradients.

        Each distinct text is encoded once, in batches of similar length. Returns (n, width).
        """
        tokens = inputs if isinstance(inputs, Ragged | Deferred) else self.prepare(inputs)
        return encode_tokens(
            self.forward,
            self.module,
            tokens,
            width=self.width,
            batch_size=batch_size,
            progress=progress,
            memory=self._memory,
        )

    @contextmanager
    def remembering(self, max_bytes: float) -> Iterator[None]:
        """Within the block, encode no text twice: vectors are kept, up to so many bytes.

        The weights must stay as they are in it.
        """
        self._memory = VectorMemory(max_bytes)
        try:
            yield
        finally:
            self._memory = None

    def set_trainable(self, layers: int | Literal["all", "none"]) -> list[nn.Parameter]:
        """Leave the top layers, and what follows them, trainable; return these parameters.

        Parameters
        ----------
        layers : int, "all" or "none"
            How many layers, counted from the output; embeddings are trained with "all" alone.
        """
        n_top = count_top(layers, self.n_layers)
        self.n_frozen = 0 if n_top is None else self.n_layers - n_top
        if self._stack is None and n_top != 0:
            kind = type(transformer_of(self.module).model).__name__
            logger.warning("%s runs padded, which is slower: packing does not know it", kind)
        with evaluation_mode(self.module):
            return select_trainable(self.module, self._layers, n_top, self._run_any)

    def save(self, folder: Path) -> None:
        """Write a sentence-transformers folder that holds exactly these modules (safetensors)."""
        with without_progress_bars():
            self.module.save_pretrained(
                str(folder), create_model_card=False, safe_serialization=True
            )
