"""Which models can run packed, and where their parts are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from caot.encoders.packed import Layer, Stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

# The model types, as Hugging Face configurations name them, whose layers are BERT's.
_BERT = ("bert", "roberta", "xlm-roberta", "camembert")
PACKED_TYPES = (*_BERT, "distilbert", "mpnet")


def packed_stack(model: nn.Module) -> Stack | None:
    """Return the model's parts for packed runs; None when it cannot run packed.

    The architecture is recognised by its configuration; decoders, models with cross attention and
    settings that change what a layer computes are left alone.
    """
    config: Any = getattr(model, "config", None)
    kind = getattr(config, "model_type", None)
    if kind not in PACKED_TYPES or getattr(config, "is_decoder", False):
        return None
    if getattr(config, "position_embedding_type", "absolute") not in (None, "absolute"):
        return None
    parts: Any = model
    encoder = getattr(parts, "transformer" if kind == "distilbert" else "encoder", None)
    if encoder is None or getattr(config, "add_cross_attention", False):
        return None
    read = {"distilbert": _distilbert_layer, "mpnet": _mpnet_layer}.get(kind, _bert_layer)
    # RoBERTa and MPNet count positions from behind their padding token.
    first = 0 if kind in ("bert", "distilbert") else parts.embeddings.padding_idx + 1
    stack = Stack(
        embed=_embed_with(parts.embeddings, first),
        layers=tuple(read(layer) for layer in encoder.layer),
        bias=_mpnet_bias(encoder) if kind == "mpnet" else None,
    )
    return stack if all(_is_plain(layer) for layer in stack.layers) else None


def _is_plain(layer: Layer) -> bool:
    """Tell whether the products are plain ones: adapters put modules of their own in place."""
    products = (layer.query, layer.key, layer.value, layer.output, layer.widen, layer.narrow)
    return all(type(product) is nn.Linear and product.bias is not None for product in products)


def _embed_with(embeddings: nn.Module, first: int) -> Callable[[Tensor, Tensor], Tensor]:
    def embed(ids: Tensor, positions: Tensor) -> Tensor:
        # All tokens as if they were one text: each has its own position.
        hidden: Tensor = embeddings(input_ids=ids[None], position_ids=positions[None] + first)
        return hidden[0]

    return embed


def _bert_layer(layer: Any) -> Layer:  # noqa: ANN401 - Hugging Face's layers are untyped
    heads = layer.attention.self
    return Layer(
        query=heads.query,
        key=heads.key,
        value=heads.value,
        output=layer.attention.output.dense,
        attention_norm=layer.attention.output.LayerNorm,
        widen=layer.intermediate.dense,
        activation=layer.intermediate.intermediate_act_fn,
        narrow=layer.output.dense,
        output_norm=layer.output.LayerNorm,
        n_heads=heads.num_attention_heads,
        attention_dropout=heads.dropout,
        attention_output_dropout=layer.attention.output.dropout,
        output_dropout=layer.output.dropout,
    )


def _distilbert_layer(layer: Any) -> Layer:  # noqa: ANN401
    heads = layer.attention
    return Layer(
        query=heads.q_lin,
        key=heads.k_lin,
        value=heads.v_lin,
        output=heads.out_lin,
        attention_norm=layer.sa_layer_norm,
        widen=layer.ffn.lin1,
        activation=layer.ffn.activation,
        narrow=layer.ffn.lin2,
        output_norm=layer.output_layer_norm,
        n_heads=heads.n_heads,
        attention_dropout=heads.dropout,
        attention_output_dropout=None,
        output_dropout=layer.ffn.dropout,
    )


def _mpnet_layer(layer: Any) -> Layer:  # noqa: ANN401
    heads = layer.attention.attn
    return Layer(
        query=heads.q,
        key=heads.k,
        value=heads.v,
        output=heads.o,
        attention_norm=layer.attention.LayerNorm,
        widen=layer.intermediate.dense,
        activation=layer.intermediate.intermediate_act_fn,
        narrow=layer.output.dense,
        output_norm=layer.output.LayerNorm,
        n_heads=heads.num_attention_heads,
        attention_dropout=heads.dropout,
        attention_output_dropout=layer.attention.dropout,
        output_dropout=layer.output.dropout,
    )


def _mpnet_bias(encoder: Any) -> Callable[[int], Tensor]:  # noqa: ANN401
    def bias(length: int) -> Tensor:
        table = encoder.relative_attention_bias.weight
        probe = torch.empty(1, length, 1, device=table.device)
        values: Tensor = encoder.compute_position_bias(probe)
        return values

    return bias
