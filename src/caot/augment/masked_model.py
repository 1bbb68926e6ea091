"""A masked language model that fills in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from caot.augment.words import Word, fold, is_unspaced

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_SURROGATE = re.compile("[\ud800-\udfff]")


class MaskedModelError(RuntimeError):
    """A masked language model gives nothing to use; the message says what to do."""


class MaskedText(NamedTuple):
    """A tokenised text and the token span of each word that can be masked.

    Attributes
    ----------
    ids : list of int
        Token ids with the special tokens, cut to the maximum length.
    spans : dict of Word to (int, int)
        First token and token after the last of a word; words that were cut off or share a token
        with another word are absent.
    n_words : int
        Words before the cut.
    """

    ids: list[int]
    spans: dict[Word, tuple[int, int]]
    n_words: int


@dataclass(frozen=True, slots=True)
class MaskedModel:
    """A masked language model, its tokenizer and the vocabulary's whole words (V of them).

    Attributes
    ----------
    model, tokenizer
        Of transformers; the model in evaluation mode and float32.
    ids : Tensor, shape (V,)
        Token ids of the whole words, increasing.
    words : list of str
        Their surfaces.
    columns : dict of str to list of int
        Folded word → its positions in `words`.
    unspaced : Tensor of bool, shape (V,)
        Which of them belong to scripts without spaces.
    n_unspaced : int
        How many of them do.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    ids: torch.Tensor
    words: list[str]
    columns: dict[str, list[int]]
    unspaced: torch.Tensor
    n_unspaced: int

    def tokenize(
        self, texts: Sequence[str], words: Sequence[Sequence[Word]], max_length: int
    ) -> list[MaskedText]:
        """Tokenise texts whose words are known."""
        encoded = self.tokenizer(
            # Half a surrogate pair is no text to a tokenizer; the stand-in keeps positions.
            [_SURROGATE.sub("\ufffd", text) for text in texts],
            truncation=True,
            max_length=min(max_length, self._longest()),
            return_offsets_mapping=True,
        )
        return [
            MaskedText(ids, token_spans(text, own, offsets), _count_before(own, offsets))
            for text, own, ids, offsets in zip(
                texts, words, encoded["input_ids"], encoded["offset_mapping"], strict=True
            )
        ]

    def can_fill(self, word: Word) -> bool:
        """Whether the vocabulary has a word that could stand for `word`."""
        kind = is_unspaced(word.text)
        n_kind = self.n_unspaced if kind else len(self.words) - self.n_unspaced
        same = self.columns.get(fold(word.text), [])
        return n_kind > sum(is_unspaced(self.words[column]) == kind for column in same)

    def fill(
        self, masked: Sequence[MaskedText], chosen: Sequence[Sequence[Word]], top_k: int
    ) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float64]]]:
        """Mask the chosen words of each text and return candidates for them.

        All chosen words of a text are masked at once, one mask token a word.

        Returns
        -------
        columns : ndarray of int, shape (M, k)
            Positions in `words`, increasing, of the k best candidates of each of the M chosen
            words, text by text.
        logits : ndarray of float, shape (M, k)
            Their logits; −inf for words that are no candidates.
        """
        rows = [self._mask(text, words) for text, words in zip(masked, chosen, strict=True)]
        logits = self._logits_at_masks(rows)  # (M, vocabulary)
        scores = logits.index_select(1, self.ids)  # (M, V)
        if bool(scores.isnan().any()):
            raise MaskedModelError(
                f"The masked language model {self.model.name_or_path!r} gave logits that are not "
                "numbers; its weights are damaged, or choose another model."
            )
        flat = [word.text for words in chosen for word in words]
        kinds = torch.tensor([is_unspaced(word) for word in flat], device=scores.device)
        scores.masked_fill_(kinds[:, None] != self.unspaced, -torch.inf)
        for row, word in enumerate(flat):
            scores[row, self.columns.get(fold(word), [])] = -torch.inf
        columns = scores.topk(min(top_k, scores.shape[1])).indices.sort(dim=1).values
        best = scores.gather(1, columns)
        return columns.cpu().numpy(), best.cpu().numpy().astype(np.float64)

    def _mask(self, text: MaskedText, words: Sequence[Word]) -> tuple[list[int], list[int]]:
        """Return ids with one mask token for each word, and the places of the masks."""
        ids: list[int] = []
        places: list[int] = []
        position = 0
        for word in words:
            start, end = text.spans[word]
            ids += text.ids[position:start]
            places.append(len(ids))
            ids.append(self.tokenizer.mask_token_id)
            position = end
        return ids + text.ids[position:], places

    def _logits_at_masks(self, rows: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        width = max(len(ids) for ids, _ in rows)
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([ids + [pad] * (width - len(ids)) for ids, _ in rows])
        attention = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows])
        at_mask = torch.zeros(ids.shape, dtype=torch.bool)
        for row, (_, places) in enumerate(rows):
            at_mask[row, places] = True
        device = self.ids.device
        at_mask = at_mask.to(device)
        # The last layer maps to the whole vocabulary, by far the largest array of all: a hook
        # hands it the masked positions alone.
        head: torch.nn.Module | None
        head = self.model.get_output_embeddings()  # type: ignore[no-untyped-call]
        hook = head and head.register_forward_pre_hook(lambda _, inputs: (inputs[0][at_mask],))
        try:
            with torch.inference_mode():
                output = self.model(input_ids=ids.to(device), attention_mask=attention.to(device))
        finally:
            if hook:
                hook.remove()
        logits: torch.Tensor = output.logits
        return logits if logits.ndim == 2 else logits[at_mask]

    def _longest(self) -> int:
        positions = getattr(self.model.config, "max_position_embeddings", None)
        # Some families keep two positions back.
        limits = [self.tokenizer.model_max_length, *([positions - 2] if positions else [])]
        return int(min(limits))


def token_spans(
    text: str, words: Sequence[Word], offsets: Sequence[tuple[int, int]]
) -> dict[Word, tuple[int, int]]:
    """Find the tokens of each word that is covered by tokens of its own.

    Parameters
    ----------
    text : str
        The text.
    words : sequence of Word
        Its words, in order.
    offsets : sequence of (int, int)
        Where each token stands in the text; empty for special tokens.
    """
    tokens = [(i, start, end) for i, (start, end) in enumerate(offsets) if start < end]
    spans: dict[Word, tuple[int, int]] = {}
    position = 0
    for word in words:
        while position < len(tokens) and tokens[position][2] <= word.start:
            position += 1
        last = position
        while last < len(tokens) and tokens[last][1] < word.end:
            last += 1
        own = tokens[position:last]
        if own and own[-1][2] >= word.end and not _shared(text, word, own[0][1], own[-1][2]):
            spans[word] = (own[0][0], own[-1][0] + 1)
    return spans


def _count_before(words: Sequence[Word], offsets: Sequence[tuple[int, int]]) -> int:
    last = max((end for _, end in offsets), default=0)
    return sum(word.end <= last for word in words)


def _shared(text: str, word: Word, start: int, end: int) -> bool:
    """Whether tokens from `start` to `end` reach into another word."""
    around = text[start : word.start] + text[word.end : end]
    return any(character.isalnum() for character in around)
