"""Run a transformer on real tokens only: texts lie one after the other, nothing is padded.

Every linear layer works on all tokens of a batch at once. Attention alone needs texts apart: texts
are sorted by length, and each group of equal length is one dense block. The layers of the BERT,
RoBERTa, DistilBERT and MPNet families differ in names, not in what they compute, so one
:class:`Layer` describes them all; :mod:`caot.encoders.families` finds its parts in a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from caot.encoders.device import to_device

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # older versions of torch
    varlen_attn = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from caot.encoders.protocol import Ragged

    # Gives what to add to the attention scores of texts of a length, (1, heads, length, length).
    Bias: TypeAlias = Callable[[int], Tensor]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the texts of a batch, sorted by length, lie one after the other.

    Parameters
    ----------
    order : int64 array, shape (n,)
        The texts' row numbers in the batch, shortest text first.
    groups : tuple of (count, length)
        How many texts of which length follow one another.
    """

    order: NDArray[np.int64]
    groups: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, lengths: NDArray[np.int64]) -> Layout:
        """Return the layout for texts of these lengths."""
        order = np.argsort(lengths, kind="stable")
        distinct, counts = np.unique(lengths, return_counts=True)
        return cls(order, tuple(zip(counts.tolist(), distinct.tolist(), strict=True)))

    @property
    def sizes(self) -> list[int]:
        """Tokens of each group."""
        return [count * length for count, length in self.groups]

    @property
    def positions(self) -> NDArray[np.int64]:
        """The place of each token in its text, counted from 0."""
        return np.concatenate([np.tile(np.arange(length), n) for n, length in self.groups])


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The parts of a transformer layer that normalises after each of its two halves.

    ``query``, ``key``, ``value`` and ``output`` make the attention, ``widen`` and ``narrow`` the
    feed-forward half; each half adds its input and ends in a norm. The modules are the model's own:
    what is trained here is trained there, and their mode decides about dropout.
    """

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear
    attention_norm: nn.LayerNorm
    widen: nn.Linear
    activation: Callable[[Tensor], Tensor]
    narrow: nn.Linear
    output_norm: nn.LayerNorm
    n_heads: int
    attention_dropout: nn.Dropout
    attention_output_dropout: nn.Dropout | None
    output_dropout: nn.Dropout

    def __call__(self, hidden: Tensor, layout: Layout, bias: Mapping[int, Tensor]) -> Tensor:
        """Map hidden states (tokens, width) to the next layer's."""
        # One product for all three; the weights are put together anew, as they may have learned.
        # The scale of the scores goes into the query's weights, of which there are fewest.
        scale = (self.query.out_features // self.n_heads) ** -0.5
        weight = torch.cat([scale * self.query.weight, self.key.weight, self.value.weight])
        offset = torch.cat([scale * self.query.bias, self.key.bias, self.value.bias])
        projected = functional.linear(hidden, weight, offset)
        dropout = self.attention_dropout
        rate = dropout.p if dropout.training else 0.0
        attended = self.output(attend(projected, layout, self.n_heads, rate, bias))
        if self.attention_output_dropout is not None:
            attended = self.attention_output_dropout(attended)
        hidden = self.attention_norm(_add(attended, hidden))
        inner = self.activation(self.widen(hidden))
        result: Tensor = self.output_norm(_add(self.output_dropout(self.narrow(inner)), hidden))
        return result


def _add(change: Tensor, hidden: Tensor) -> Tensor:
    """Return the sum, in place where precision allows it.

    Neither a product nor dropout needs its own result to go backwards.
    """
    return change.add_(hidden) if change.dtype == hidden.dtype else change + hidden


def attend(
    projected: Tensor,
    layout: Layout,
    n_heads: int,
    dropout: float,
    bias: Mapping[int, Tensor],
) -> Tensor:
    """Return what each token takes from the tokens of its text.

    Parameters
    ----------
    projected : Tensor, shape (tokens, 3 × width)
        Queries, already scaled, keys and values side by side.
    layout : Layout
        Which tokens belong together.
    n_heads : int
        Into how many heads the width is divided.
    dropout : float
        Which share of the attention is dropped.
    bias : mapping
        What to add to the scores, (1, heads, length, length), by length; may be empty.

    Returns
    -------
    Tensor, shape (tokens, width)
    """
    has_flash = projected.is_cuda and varlen_attn is not None
    if has_flash and _suits_flash(projected.dtype, dropout, bias):
        return attend_unpadded(projected, layout, n_heads)
    blocks = []
    # split, not slices: its gradient is one concatenation.
    for block, (count, length) in zip(
        torch.split(projected, layout.sizes), layout.groups, strict=True
    ):
        query, key, value = block.view(count, length, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
        if dropout > 0:  # torch's own kernel knows no dropout on a CPU, and takes a detour
            scores = query @ key.transpose(2, 3)
            if length in bias:
                scores = scores + bias[length]
            taken = functional.dropout(scores.softmax(dim=-1), dropout) @ value
        else:
            taken = functional.scaled_dot_product_attention(
                query, key, value, attn_mask=bias.get(length), scale=1.0
            )
        blocks.append(taken.transpose(1, 2).reshape(count * length, -1))
    return torch.cat(blocks)


def _suits_flash(dtype: torch.dtype, dropout: float, bias: Mapping[int, Tensor]) -> bool:
    return dtype in (torch.float16, torch.bfloat16) and dropout == 0 and not bias


def attend_unpadded(projected: Tensor, layout: Layout, n_heads: int) -> Tensor:
    """Do what `attend` does in one call of flash attention, for half precision on a GPU."""
    query, key, value = projected.view(len(projected), 3, n_heads, -1).unbind(1)
    lengths = [length for count, length in layout.groups for _ in range(count)]
    ends = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32, device=projected.device)
    longest = layout.groups[-1][1]
    taken = cast("Tensor", varlen_attn(query, key, value, ends, ends, longest, longest, scale=1.0))
    return taken.reshape(len(projected), -1)


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """A whole transformer: from token ids to the hidden states of its last layer.

    Parameters
    ----------
    embed : callable
        Maps ids and positions, both (tokens,), to hidden states (tokens, width).
    layers : tuple of Layer
        From input to output.
    bias : callable, optional
        What all layers add to their attention scores, by length.
    """

    embed: Callable[[Tensor, Tensor], Tensor]
    layers: tuple[Layer, ...]
    bias: Bias | None = None

    def embed_tokens(self, tokens: Ragged, layout: Layout, device: torch.device) -> Tensor:
        """Return the hidden states that enter the first layer, (tokens, width), by layout."""
        ids = to_device(tokens.take(layout.order).values, device)
        return self.embed(ids, to_device(layout.positions, device))

    def run(self, hidden: Tensor, layout: Layout, first: int, last: int) -> Tensor:
        """Run the layers from ``first`` up to, not including, ``last``."""
        biases = {} if self.bias is None else {n: self.bias(n) for _, n in layout.groups}
        for layer in self.layers[first:last]:
            hidden = layer(hidden, layout, biases)
        return hidden


def mean(hidden: Tensor, layout: Layout) -> Tensor:
    """Return the mean of each text's hidden states, (n, width), in the batch's order (Eq. 16)."""
    means = [
        block.view(count, length, -1).mean(dim=1)
        for block, (count, length) in zip(
            torch.split(hidden, layout.sizes), layout.groups, strict=True
        )
    ]
    places = torch.from_numpy(np.argsort(layout.order, kind="stable")).to(hidden.device)
    return torch.cat(means)[places]


def pad(hidden: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Return hidden states (n, longest, width) and the mask (n, longest), in the batch's order."""
    n_texts, longest = len(layout.order), layout.groups[-1][1]
    rows = torch.from_numpy(layout.order).to(hidden.device)
    blocks, masks = [], []
    for block, (count, length) in zip(
        torch.split(hidden, layout.sizes), layout.groups, strict=True
    ):
        missing = longest - length
        blocks.append(functional.pad(block.view(count, length, -1), (0, 0, 0, missing)))
        real = torch.ones(count, length, dtype=torch.int64, device=hidden.device)
        masks.append(functional.pad(real, (0, missing)))
    places = torch.empty_like(rows)
    places[rows] = torch.arange(n_texts, device=hidden.device)
    return torch.cat(blocks)[places], torch.cat(masks)[places]
