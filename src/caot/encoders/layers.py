"""Find the layers of a transformer, what follows them, and how many positions it knows."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a layer takes and gives is the model's own business.
Activations: TypeAlias = Any


def find_layers(model: nn.Module) -> list[nn.Module]:
    """Return the transformer layers from input to output: the longest outermost `ModuleList`.

    Lists inside a layer, such as the experts of a mixture, are not looked at. The list whose length
    is the configuration's number of layers wins over a longer one.
    """
    lists = [part for _, part in _outermost_lists(model)]
    if not lists:
        msg = f"{type(model).__name__} has no list of layers, so it cannot be fine-tuned by layers."
        raise ValueError(msg)
    stated = getattr(getattr(model, "config", None), "num_hidden_layers", None)
    best = max(lists, key=lambda layers: (len(layers) == stated, len(layers)))
    return list(best)


def _outermost_lists(module: nn.Module) -> Iterator[tuple[str, nn.ModuleList]]:
    for name, child in module.named_children():
        if isinstance(child, nn.ModuleList):
            yield name, child
        else:
            yield from _outermost_lists(child)


def position_limit(model: nn.Module) -> int | None:
    """Return how many tokens the position embeddings can hold; None when there is no limit known.

    The RoBERTa family and MPNet count positions from ``padding_idx + 1``, so that a table of 514
    rows holds 512 tokens.
    """
    for part in model.modules():
        table = getattr(part, "position_embeddings", None)
        if isinstance(table, nn.Embedding):
            unused = 0 if table.padding_idx is None else table.padding_idx + 1
            return table.num_embeddings - unused
    return getattr(getattr(model, "config", None), "max_position_embeddings", None)


def count_top(layers: int | str, n_layers: int) -> int | None:
    """Return how many top layers to train; None for all layers and the embeddings too."""
    if layers == "all":
        return None
    if layers == "none":
        return 0
    if not isinstance(layers, int) or isinstance(layers, bool) or not 0 <= layers <= n_layers:
        msg = (
            f"the number of trainable layers must lie between 0 and {n_layers}, "
            f'or be "all" or "none"; got {layers!r}'
        )
        raise ValueError(msg)
    return layers


def select_trainable(
    model: nn.Module,
    layers: list[nn.Module],
    n_top: int | None,
    run: Callable[[], torch.Tensor],
) -> list[nn.Parameter]:
    """Freeze all but the top layers and what follows them; return what is left to train.

    Parameters that never reach the output, such as an unused pooler, stay frozen. So do, unless
    all is trained, parameters shared by all layers, such as MPNet's relative position bias: their
    gradient would run through the frozen layers.

    Parameters
    ----------
    model : nn.Module
        Holds every parameter of the encoder.
    layers : list of nn.Module
        The transformer layers from input to output.
    n_top : int or None
        How many layers to train, counted from the output; 0 trains nothing, None everything.
    run : callable
        Encodes any text with the model.
    """
    wanted: set[int] = set()
    if n_top != 0:
        wanted = used_parameters(model, run)
    if n_top:
        with _cut_after(layers):
            following = used_parameters(model, run)
        top = layers[len(layers) - n_top :]
        wanted &= following | {id(weight) for layer in top for weight in layer.parameters()}
    for weight in model.parameters():
        weight.requires_grad_(id(weight) in wanted)
    return [weight for weight in model.parameters() if weight.requires_grad]


def used_parameters(model: nn.Module, run: Callable[[], torch.Tensor]) -> set[int]:
    """Return the ids of the parameters that the output of `run` depends on."""
    before = [(weight, weight.requires_grad) for weight in model.parameters()]
    model.requires_grad_(True)
    try:
        with torch.inference_mode(mode=False), torch.enable_grad():
            return _leaves(run())
    finally:
        for weight, required in before:
            weight.requires_grad_(required)


@contextmanager
def _cut_after(layers: list[nn.Module]) -> Iterator[None]:
    """Detach every layer's output, so that only what follows the layers is in the graph."""

    def detach(_layer: nn.Module, _inputs: Activations, output: Activations) -> Activations:
        if isinstance(output, torch.Tensor):
            return output.detach()
        if isinstance(output, tuple):
            return tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in output)
        return output

    with ExitStack() as stack:
        for layer in layers:
            stack.callback(layer.register_forward_hook(detach).remove)
        yield


def _leaves(output: torch.Tensor) -> set[int]:
    """Return the ids of the parameters in the graph of `output`, without running it backwards."""
    leaves: set[int] = set()
    seen: set[Any] = set()
    waiting: list[Any] = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(id(cast("nn.Parameter", node.variable)))
        waiting.extend(following for following, _ in node.next_functions)
    return leaves
