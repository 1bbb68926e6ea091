"""Attention in one call, as on a GPU, gives what a block for each length gives."""

import numpy as np
import pytest
import torch
from torch import nn

from caot.encoders import TransformerEncoder, gpu_attention, packed
from caot.encoders.gpu_attention import Places
from caot.encoders.packed import Layout

LENGTHS = np.array([3, 1, 3, 2])


@pytest.fixture
def layout():
    return Layout.of(LENGTHS)


@pytest.fixture
def places(layout):
    return Places.of(layout.lengths, torch.device("cpu"))


@pytest.fixture
def projected():
    return torch.randn(9, 3 * 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(packed, "in_one_call", lambda _device: True)


def by_text(query, key, value, ends):
    """Stand in for flash attention, one text after the other."""
    parts = [
        nn.functional.scaled_dot_product_attention(
            *(part[first:last].transpose(0, 1) for part in (query, key, value)), scale=1.0
        ).transpose(0, 1)
        for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    return torch.cat(parts)


class Flash:
    """Remembers what it was called with."""

    def __init__(self):
        self.calls = []

    def torch_s(self, query, key, value, ends, _ends, longest, _longest, *, scale):
        self.calls.append(("torch", longest, scale, 0.0, ends.dtype))
        return by_text(query, key, value, ends)

    def flash_attn_s(
        self, query, key, value, ends, _ends, longest, _longest, *, dropout_p, softmax_scale
    ):
        self.calls.append(("flash-attn", longest, softmax_scale, dropout_p, ends.dtype))
        return by_text(query, key, value, ends)


@pytest.fixture
def flash(monkeypatch):
    fake = Flash()
    monkeypatch.setattr(gpu_attention, "varlen_attn", fake.torch_s)
    monkeypatch.setattr(gpu_attention, "flash_attn_varlen_func", None)
    return fake


def test_places_of_texts(places):
    assert places.ends.tolist() == [0, 1, 3, 6, 9]
    assert places.ends.dtype == torch.int32
    assert places.slots.tolist() == [0, 3, 4, 6, 7, 8, 9, 10, 11]
    assert places.real.squeeze().sum(dim=1).tolist() == [1, 2, 3, 3]
    assert places.longest == 3


def test_a_gpu_takes_all_texts_at_once():
    assert packed.in_one_call(torch.device("cuda"))
    assert not packed.in_one_call(torch.device("cpu"))


def test_padded_attention_is_that_of_the_blocks(layout, places, projected):
    exact = packed.attend(projected, layout, 2, 0.0, {})
    torch.testing.assert_close(places.attend(projected, 2, 0.0, None), exact)


def test_padded_attention_drops_the_share_it_is_told(places, projected):
    exact = places.attend(projected, 2, 0.0, None)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        runs = torch.stack([places.attend(projected, 2, 0.3, None) for _ in range(3000)])
    torch.testing.assert_close(runs.mean(dim=0), exact, rtol=0, atol=0.1)
    assert runs.std(dim=0).min() > 0.01


@pytest.mark.parametrize("family", ["bert", "distilbert", "mpnet", "xlmr"])
def test_an_encoder_gives_the_same_vectors_and_gradients_in_one_call(
    family, folder_of, texts, on_gpu
):
    encoder = TransformerEncoder.load(folder_of(family), device="cpu")
    encoder.module.eval().double()
    encoder.set_trainable("all")
    tokens = encoder.prepare(texts)
    found = []
    for run in (encoder.forward, encoder._forward_padded):
        encoder.module.zero_grad()
        vectors = run(tokens)
        vectors.square().sum().backward()
        weights = [w.grad for w in encoder.module.parameters() if w.grad is not None]
        found.append([vectors, *(weight.clone() for weight in weights)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)


def test_what_all_layers_need_is_prepared_once_a_pass(folder_of, texts, on_gpu, monkeypatch):
    encoder = TransformerEncoder.load(folder_of("mpnet"), device="cpu")
    prepared, lengths = [], []
    of, stack = Places.of, encoder._stack
    monkeypatch.setattr(Places, "of", lambda *parts: (prepared.append(1), of(*parts))[1])
    layout = Layout.of(encoder.prepare(texts).lengths)
    bias = lambda length: (lengths.append(length), stack.bias(length))[1]  # noqa: E731
    again = packed.Stack(stack.embed, stack.layers, bias)
    hidden = again.embed_tokens(encoder.prepare(texts), layout, torch.device("cpu"))
    again.run(hidden, layout, 0, len(stack.layers))
    assert prepared == [1]
    assert lengths == [layout.groups[-1][1]]


def test_torch_s_flash_attention_takes_all_texts_in_half_precision(
    flash, layout, places, projected
):
    half = projected.bfloat16()
    taken = places.attend(half, 2, 0.0, None)
    torch.testing.assert_close(taken, packed.attend(half, layout, 2, 0.0, {}))
    assert flash.calls == [("torch", 3, 1.0, 0.0, torch.int32)]


def test_the_package_flash_attn_knows_dropout(flash, places, projected, monkeypatch):
    monkeypatch.setattr(gpu_attention, "flash_attn_varlen_func", flash.flash_attn_s)
    places.attend(projected.bfloat16(), 2, 0.1, None)
    assert flash.calls == [("flash-attn", 3, 1.0, 0.1, torch.int32)]


@pytest.mark.parametrize(
    "case",
    [(torch.float32, 0.0, None), (torch.bfloat16, 0.1, None), (torch.bfloat16, 0.0, torch.ones(1))],
    ids=["float32", "dropout", "bias"],
)
def test_what_flash_attention_cannot_do_is_padded(flash, places, projected, case):
    dtype, dropout, bias = case
    taken = places.attend(projected.to(dtype), 2, dropout, bias)
    assert taken.shape == (9, 8)
    assert flash.calls == []
