"""Attention among the texts of a batch in one call, as a GPU wants it.

A CPU takes a dense block for each length (:func:`caot.encoders.packed.attend`); on a GPU so many
small calls would cost more than what they compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

import numpy as np
import torch
from torch.nn import functional

from caot.encoders.device import to_device

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # older versions of torch
    varlen_attn = None  # type: ignore[assignment]
try:  # what transformers calls flash_attention_2, where it is installed
    from flash_attn import flash_attn_varlen_func
except ImportError:
    flash_attn_varlen_func = None

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the tokens of n texts lie, on the device: made once a pass, used by every layer.

    Parameters
    ----------
    ends : int32 Tensor, shape (n + 1,)
        Text i owns the tokens from ``ends[i]`` up to ``ends[i + 1]``.
    slots : int64 Tensor, shape (tokens,)
        The place of each token among the n × longest of padded texts.
    real : bool Tensor, shape (n, 1, 1, longest)
        Which of those places hold a token.
    longest : int
        Tokens of the longest text.
    """

    ends: Tensor
    slots: Tensor
    real: Tensor
    longest: int

    @classmethod
    def of(cls, lengths: NDArray[np.int64], device: torch.device) -> Self:
        """Return the places of texts of these lengths, which lie in this order."""
        longest = int(lengths.max())
        real = np.arange(longest) < lengths[:, None]
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return cls(
            ends=to_device(ends, device),
            slots=to_device(np.flatnonzero(real), device),
            real=to_device(real[:, None, None, :], device),
            longest=longest,
        )

    def attend(
        self, projected: Tensor, n_heads: int, dropout: float, bias: Tensor | None
    ) -> Tensor:
        """Return what each token takes from the tokens of its text, (tokens, width).

        Parameters
        ----------
        projected : Tensor, shape (tokens, 3 × width)
            Queries, already scaled, keys and values side by side.
        n_heads : int
            Into how many heads the width is divided.
        dropout : float
            Which share of the attention is dropped.
        bias : Tensor, shape (1, heads, longest, longest), optional
            What to add to the scores.
        """
        if bias is None and projected.dtype in (torch.float16, torch.bfloat16):
            if flash_attn_varlen_func is not None:
                return self._flash(projected, n_heads, dropout)
            if varlen_attn is not None and dropout == 0:
                return self._varlen(projected, n_heads)
        return self._padded(projected, n_heads, dropout, bias)

    def _flash(self, projected: Tensor, n_heads: int, dropout: float) -> Tensor:
        """Run flash-attn, which knows dropout."""
        parts = projected.view(len(projected), 3, n_heads, -1).unbind(1)
        taken = flash_attn_varlen_func(
            *parts,
            self.ends,
            self.ends,
            self.longest,
            self.longest,
            dropout_p=dropout,
            softmax_scale=1.0,
        )
        return cast("Tensor", taken).reshape(len(projected), -1)

    def _varlen(self, projected: Tensor, n_heads: int) -> Tensor:
        """Run torch's own flash attention, which knows no dropout."""
        query, key, value = projected.view(len(projected), 3, n_heads, -1).unbind(1)
        ends, longest = self.ends, self.longest
        taken = varlen_attn(query, key, value, ends, ends, longest, longest, scale=1.0)
        return cast("Tensor", taken).reshape(len(projected), -1)

    def _padded(
        self, projected: Tensor, n_heads: int, dropout: float, bias: Tensor | None
    ) -> Tensor:
        """Pad queries, keys and values alone, and mask the keys of the padding."""
        n, longest = len(self.ends) - 1, self.longest
        spread = projected.new_zeros(n * longest, projected.shape[1])
        spread = spread.index_copy(0, self.slots, projected)
        query, key, value = spread.view(n, longest, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
        mask = self.real
        if bias is not None:
            mask = torch.where(mask, bias.to(projected.dtype), -torch.inf)
        taken = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, scale=1.0
        )
        return taken.transpose(1, 2).reshape(n * longest, -1).index_select(0, self.slots)
