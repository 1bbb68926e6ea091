"""Run a transformer on real tokens only: texts lie one after the other, nothing is padded.

Every linear layer works on all tokens of a batch at once. Attention alone needs texts apart: texts
are sorted by length, and each group of equal length is one dense block (a GPU takes all texts in
one call, :mod:`caot.encoders.gpu_attention`). The layers of the BERT,
RoBERTa, DistilBERT and MPNet families differ in names, not in what they compute, so one
:class:`Layer` describes them all; :mod:`caot.encoders.families` finds its parts in a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from caot.encoders.device import to_device
from caot.encoders.dropping import drop, rate_of
from caot.encoders.gpu_attention import Places

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
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each text, as the texts lie, shape (n,)."""
        counts, lengths = np.array(self.groups, dtype=np.int64).T
        return np.repeat(lengths, counts)

    @property
    def places(self) -> NDArray[np.int64]:
        """Where each text of the batch lies, shape (n,)."""
        return np.argsort(self.order, kind="stable")

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

    def __call__(self, hidden: Tensor, surroundings: Surroundings) -> Tensor:
        """Map hidden states (tokens, width) to the next layer's."""
        # One product for all three; the weights are put together anew, as they may have learned.
        # The scale of the scores goes into the query's weights, of which there are fewest.
        scale = (self.query.out_features // self.n_heads) ** -0.5
        weight = torch.cat([scale * self.query.weight, self.key.weight, self.value.weight])
        offset = torch.cat([scale * self.query.bias, self.key.bias, self.value.bias])
        projected = functional.linear(hidden, weight, offset)
        taken = surroundings.attend(projected, self.n_heads, rate_of(self.attention_dropout))
        attended = drop(self.output(taken), rate_of(self.attention_output_dropout))
        hidden = self.attention_norm(_add(attended, hidden))
        inner = self.activation(self.widen(hidden))
        result: Tensor = self.output_norm(
            _add(drop(self.narrow(inner), rate_of(self.output_dropout)), hidden)
        )
        return result


@dataclass(slots=True, eq=False)
class Surroundings:
    """What attention must know of the other tokens; all layers of a pass share it.

    Parameters
    ----------
    layout : Layout
        Which tokens belong together.
    bias : callable, optional
        What to add to the attention scores, by length.
    """

    layout: Layout
    bias: Bias | None = None
    _biases: dict[int, Tensor] = field(default_factory=dict)
    _places: Places | None = None

    def attend(self, projected: Tensor, n_heads: int, dropout: float) -> Tensor:
        """Return what each token takes from the tokens of its text, (tokens, width)."""
        layout = self.layout
        if in_one_call(projected.device):
            if self._places is None:
                self._places = Places.of(layout.lengths, projected.device)
            bias = self._bias_of(self._places.longest)
            return self._places.attend(projected, n_heads, dropout, bias)
        biases = {length: self._bias_of(length) for _, length in layout.groups}
        return attend(projected, layout, n_heads, dropout, biases)

    def _bias_of(self, length: int) -> Tensor | None:
        if self.bias is None:
            return None
        if length not in self._biases:
            self._biases[length] = self.bias(length)
        return self._biases[length]


def in_one_call(device: torch.device) -> bool:
    """Tell whether a device is better off with one call for all texts than one for each length."""
    return device.type == "cuda"


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
    bias: Mapping[int, Tensor | None],
) -> Tensor:
    """Return what each token takes from the tokens of its text, length by length.

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
    # On a CPU torch's own kernel knows no dropout, and is slow backwards in half precision.
    is_half = projected.dtype in (torch.bfloat16, torch.float16)
    step_by_step = dropout > 0 or (is_half and projected.requires_grad)
    blocks = []
    # split, not slices: its gradient is one concatenation.
    for block, (count, length) in zip(
        torch.split(projected, layout.sizes), layout.groups, strict=True
    ):
        query, key, value = block.view(count, length, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
        if step_by_step:
            scores = query @ key.transpose(2, 3)
            if bias.get(length) is not None:
                scores = scores + bias[length]
            taken = drop(scores.softmax(dim=-1), dropout) @ value
        else:
            taken = functional.scaled_dot_product_attention(
                query, key, value, attn_mask=bias.get(length), scale=1.0
            )
        blocks.append(taken.transpose(1, 2).reshape(count * length, -1))
    return torch.cat(blocks)


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
        surroundings = Surroundings(layout, self.bias)
        for layer in self.layers[first:last]:
            hidden = layer(hidden, surroundings)
        return hidden


def mean(hidden: Tensor, layout: Layout) -> Tensor:
    """Return the mean of each text's hidden states, (n, width), in the batch's order (Eq. 16)."""
    means = [
        block.view(count, length, -1).mean(dim=1)
        for block, (count, length) in zip(
            torch.split(hidden, layout.sizes), layout.groups, strict=True
        )
    ]
    return torch.cat(means)[to_device(layout.places, hidden.device)]


def pad(hidden: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Return hidden states (n, longest, width) and the mask (n, longest), in the batch's order."""
    longest = layout.groups[-1][1]
    blocks, masks = [], []
    for block, (count, length) in zip(
        torch.split(hidden, layout.sizes), layout.groups, strict=True
    ):
        missing = longest - length
        blocks.append(functional.pad(block.view(count, length, -1), (0, 0, 0, missing)))
        real = torch.ones(count, length, dtype=torch.int64, device=hidden.device)
        masks.append(functional.pad(real, (0, missing)))
    places = to_device(layout.places, hidden.device)
    return torch.cat(blocks)[places], torch.cat(masks)[places]
