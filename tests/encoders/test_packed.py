"""Packed runs give what the model's own padded run gives."""

import copy
import errno

import numpy as np
import pytest
import torch
from torch import nn

from caot.encoders import Activations, Deferred, TransformerEncoder, keep_lower, packed
from caot.encoders.families import packed_stack
from caot.encoders.opening import takes_mean
from caot.encoders.packed import Layout, pad

PACKED = ("bert", "distilbert", "mpnet", "xlmr")


@pytest.fixture(params=PACKED)
def packed_encoder(request, folder_of):
    """Return an encoder of each family that can run packed."""
    return TransformerEncoder.load(folder_of(request.param), device="cpu")


def padded(encoder, tokens):
    return encoder._forward_padded(tokens)


def gradients(encoder, run, tokens):
    encoder.module.zero_grad()
    weights = torch.linspace(-1, 1, encoder.width, dtype=torch.float64)
    (run(tokens) @ weights).square().sum().backward()
    return {
        name: weight.grad.clone()
        for name, weight in encoder.module.named_parameters()
        if weight.grad is not None
    }


def test_every_family_is_packed_but_decoders(family_encoder):
    is_decoder = type(family_encoder.module[0].model).__name__.startswith("Qwen")
    assert family_encoder.can_run_by_parts is not is_decoder


def test_packed_equals_padded(packed_encoder, texts):
    packed_encoder.module.eval()
    tokens = packed_encoder.prepare(texts)
    torch.testing.assert_close(
        packed_encoder.forward(tokens), padded(packed_encoder, tokens), rtol=0, atol=1e-5
    )


def test_the_fallback_equals_padded(folder_of, texts):
    qwen = TransformerEncoder.load(folder_of("qwen3", pooling="lasttoken"), device="cpu")
    qwen.module.eval()
    tokens = qwen.prepare(texts * 7)  # more than are padded together
    torch.testing.assert_close(qwen.forward(tokens), padded(qwen, tokens), rtol=0, atol=1e-5)


def test_the_fallback_says_so(folder_of, caplog):
    qwen = TransformerEncoder.load(folder_of("qwen3", pooling="lasttoken"), device="cpu")
    qwen.set_trainable(1)
    assert "Qwen3Model runs padded, which is slower" in caplog.text
    with pytest.raises(ValueError, match="cannot run by parts"):
        qwen.lower(qwen.prepare(["the cat"]))


def test_packed_gradients_equal_padded(packed_encoder, texts):
    packed_encoder.module.eval().double()
    packed_encoder.set_trainable("all")
    tokens = packed_encoder.prepare(texts)
    ours = gradients(packed_encoder, packed_encoder.forward, tokens)
    theirs = gradients(packed_encoder, lambda batch: padded(packed_encoder, batch), tokens)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=1e-9, atol=1e-9, msg=name)


def test_dropout_is_active_in_training_only(packed_encoder, texts):
    tokens = packed_encoder.prepare(texts)
    packed_encoder.module.train()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = packed_encoder.forward(tokens), packed_encoder.forward(tokens)
    assert not torch.allclose(first, second)
    packed_encoder.module.eval()
    assert torch.equal(packed_encoder.forward(tokens), packed_encoder.forward(tokens))


def test_a_copy_runs_its_own_weights(packed_encoder, texts):
    tokens = packed_encoder.prepare(texts)
    packed_encoder.module.eval()
    before = packed_encoder.forward(tokens)
    other = copy.deepcopy(packed_encoder)
    with torch.no_grad():
        for weight in other.module.parameters():
            weight.add_(0.1 * torch.arange(weight.numel()).view_as(weight).sin())
    assert torch.equal(packed_encoder.forward(tokens), before)
    assert not torch.allclose(other.forward(tokens), before)


def test_layers_with_adapters_are_left_to_the_model(bert, texts):
    class Adapted(nn.Linear):
        """Computes more than a product."""

        def forward(self, states):
            return super().forward(states) + 1

    query = bert.module[0].model.encoder.layer[1].attention.self.query
    adapted = Adapted(query.in_features, query.out_features)
    bert.module[0].model.encoder.layer[1].attention.self.query = adapted
    assert not bert.can_run_by_parts
    bert.module.eval()
    tokens = bert.prepare(texts)
    torch.testing.assert_close(bert.forward(tokens), padded(bert, tokens), rtol=0, atol=1e-5)


def test_layout_sorts_by_length():
    layout = Layout.of(np.array([3, 1, 3, 2]))
    assert layout.order.tolist() == [1, 3, 0, 2]
    assert layout.groups == ((1, 1), (1, 2), (2, 3))
    assert layout.positions.tolist() == [0, 0, 1, 0, 1, 2, 0, 1, 2]


def test_pad_puts_texts_back_in_order():
    layout = Layout.of(np.array([2, 1]))
    hidden = torch.tensor([[9.0], [1.0], [2.0]])  # the short text first
    states, mask = pad(hidden, layout)
    assert states.squeeze(-1).tolist() == [[1.0, 2.0], [9.0, 0.0]]
    assert mask.tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("n_top", [1, 2, 3])
def test_lower_and_upper_layers_make_the_whole(packed_encoder, texts, n_top):
    packed_encoder.set_trainable(n_top)
    packed_encoder.module.eval()
    tokens = packed_encoder.prepare(texts)
    halves = packed_encoder.forward(packed_encoder.lower(tokens))
    torch.testing.assert_close(halves, packed_encoder.forward(tokens), rtol=0, atol=1e-6)


def test_lower_layers_have_no_dropout_and_no_graph(packed_encoder, texts):
    packed_encoder.set_trainable(1)
    packed_encoder.module.train()
    tokens = packed_encoder.prepare(texts)
    first, second = packed_encoder.lower(tokens), packed_encoder.lower(tokens)
    assert np.array_equal(first.values, second.values)
    assert packed_encoder.module.training
    trained = packed_encoder.forward(first)
    trained.square().sum().backward()
    layers = packed_encoder._layers
    assert all(weight.grad is None for weight in layers[0].parameters())
    assert any(weight.grad is not None for weight in layers[2].parameters())


@pytest.mark.parametrize("memory", [0, 1e9])
def test_kept_layers_are_those_that_would_run(bert, texts, memory, tmp_path):
    bert.set_trainable(1)
    tokens = bert.prepare(texts)
    kept = keep_lower(bert, tokens, memory=memory)
    assert kept.values.dtype == np.float16
    assert isinstance(kept.values, np.memmap) is (memory == 0)
    now = Deferred(bert, tokens).take([3, 0])
    assert isinstance(now, Activations)
    np.testing.assert_allclose(kept.take([3, 0]).values, now.values, atol=3e-3)
    np.testing.assert_allclose(bert.encode(kept), bert.encode(texts), atol=3e-3)
    np.testing.assert_allclose(bert.encode(Deferred(bert, tokens)), bert.encode(texts), atol=1e-6)


def test_kept_layers_are_found_again(bert, texts, tmp_path, monkeypatch):
    bert.set_trainable(1)
    tokens = bert.prepare(texts)
    first = keep_lower(bert, tokens, memory=1e9, folder=tmp_path)
    monkeypatch.setattr(bert, "lower", None)  # not to be called again
    second = keep_lower(bert, tokens, memory=0, folder=tmp_path)
    assert isinstance(second.values, np.memmap)
    assert np.array_equal(first.values, second.values)


def test_a_damaged_file_is_made_again(bert, texts, tmp_path, caplog):
    bert.set_trainable(1)
    tokens = bert.prepare(texts)
    first = keep_lower(bert, tokens, memory=1e9, folder=tmp_path)
    (file,) = (tmp_path / "activations").iterdir()
    file.write_bytes(b"nothing")
    second = keep_lower(bert, tokens, memory=1e9, folder=tmp_path)
    assert "the layers run again" in caplog.text
    assert np.array_equal(first.values, second.values)


def test_other_layers_or_weights_are_other_files(bert, texts, tmp_path):
    tokens = bert.prepare(texts)
    for n_top in (1, 2):
        bert.set_trainable(n_top)
        keep_lower(bert, tokens, memory=1e9, folder=tmp_path)
    with torch.no_grad():
        bert._layers[0].output.dense.weight += 1
    keep_lower(bert, tokens, memory=1e9, folder=tmp_path)
    assert len(list((tmp_path / "activations").iterdir())) == 3


def test_numbers_beyond_float16_are_refused(bert, texts):
    bert.set_trainable(1)
    with torch.no_grad():
        bert._layers[1].output.LayerNorm.weight *= 1e6
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="beyond float16: use finetune='all'"),
    ):
        keep_lower(bert, bert.prepare(texts), memory=1e9)


def test_layout_knows_where_texts_lie():
    layout = Layout.of(np.array([3, 1, 3, 2]))
    assert layout.lengths.tolist() == [1, 2, 3, 3]
    assert layout.places.tolist() == [2, 0, 3, 1]


def test_mixed_precision_avoids_the_slow_kernel_backwards_alone(monkeypatch):
    called = []
    kernel = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        nn.functional,
        "scaled_dot_product_attention",
        lambda *parts, **options: (called.append(parts[0].dtype), kernel(*parts, **options))[1],
    )
    layout = Layout.of(np.array([3, 1, 3, 2]))
    exact = torch.randn(9, 3 * 8, generator=torch.Generator().manual_seed(0))
    half = exact.bfloat16()
    taken = packed.attend(half.requires_grad_(), layout, 2, 0.0, {})
    assert called == []
    torch.testing.assert_close(
        taken.float(), packed.attend(exact, layout, 2, 0.0, {}), rtol=0.05, atol=0.05
    )
    packed.attend(half.detach(), layout, 2, 0.0, {})
    assert called == [torch.float32] * 3 + [torch.bfloat16] * 3


def test_packed_runs_in_mixed_precision(packed_encoder, texts):
    packed_encoder.module.eval()
    tokens = packed_encoder.prepare(texts)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = packed_encoder.forward(tokens)
    torch.testing.assert_close(mixed.float(), packed_encoder.forward(tokens), rtol=0.1, atol=0.1)


def test_a_cache_that_cannot_be_written_is_done_without(bert, texts, tmp_path):
    bert.set_trainable(1)
    tokens = bert.prepare(texts)
    (tmp_path / "activations").write_text("a file where a folder should be")
    with pytest.warns(UserWarning, match="Lower layers are not cached"):
        kept = keep_lower(bert, tokens, memory=1e9, folder=tmp_path)
    assert np.array_equal(kept.values, keep_lower(bert, tokens, memory=1e9).values)


def test_a_full_disk_says_so(bert, texts, monkeypatch):
    def full(_file, _start, _size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    bert.set_trainable(1)
    with pytest.raises(OSError, match="No space left"):
        keep_lower(bert, bert.prepare(texts), memory=0)


def test_no_texts_have_no_vectors(packed_encoder):
    assert packed_encoder.forward(packed_encoder.prepare([])).shape == (0, packed_encoder.width)


def test_models_with_a_head_are_not_packed(bert):
    model = bert.module[0].model
    assert packed_stack(nn.ModuleDict()) is None
    model.config.add_cross_attention = True
    assert packed_stack(model) is None


def test_products_without_a_bias_are_not_packed(bert):
    query = bert.module[0].model.encoder.layer[0].attention.self.query
    query.bias = None
    assert not bert.can_run_by_parts


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_every_pooling_is_the_models_own(folder_of, texts, pooling):
    encoder = TransformerEncoder.load(folder_of("bert", pooling=pooling), device="cpu")
    encoder.module.eval()
    tokens = encoder.prepare(texts)
    torch.testing.assert_close(encoder.forward(tokens), padded(encoder, tokens), rtol=0, atol=1e-5)
    assert takes_mean(encoder.module[1]) is (pooling == "mean")


def test_dropout_of_attention_keeps_its_mean():
    layout = Layout.of(np.array([3, 3]))
    projected = torch.randn(6, 3 * 8, generator=torch.Generator().manual_seed(0))
    exact = packed.attend(projected, layout, 2, 0.0, {})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        runs = torch.stack([packed.attend(projected, layout, 2, 0.3, {}) for _ in range(4000)])
    torch.testing.assert_close(runs.mean(dim=0), exact, rtol=0, atol=0.1)
    assert runs.std(dim=0).min() > 0.01


def test_dropout_of_attention_keeps_the_bias():
    layout = Layout.of(np.array([3]))
    projected = torch.randn(3, 3 * 8, generator=torch.Generator().manual_seed(1))
    bias = {3: torch.zeros(1, 2, 3, 3)}
    bias[3][..., 0] = 60.0  # every token looks at the first
    first = projected[0, 16:].expand(3, -1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        taken = packed.attend(projected, layout, 2, 1e-9, bias)
    torch.testing.assert_close(taken, first, rtol=0, atol=1e-5)
