import pytest
import torch
from torch import nn

from caot.encoders import TransformerEncoder
from caot.encoders.layers import find_layers, position_limit


def trainable_names(encoder):
    return [name for name, weight in encoder.module.named_parameters() if weight.requires_grad]


def test_top_layers_only(bert):
    weights = bert.set_trainable(2)
    names = trainable_names(bert)
    assert len(names) == len(weights) == 32
    assert all(".encoder.layer.1." in name or ".encoder.layer.2." in name for name in names)


def test_all_trains_embeddings_but_not_the_unused_pooler(bert):
    bert.set_trainable("all")
    names = trainable_names(bert)
    assert "0.model.embeddings.word_embeddings.weight" in names
    assert any(".encoder.layer.0." in name for name in names)
    assert not any("pooler" in name for name in names)


@pytest.mark.parametrize("layers", ["none", 0])
def test_none_trains_nothing(bert, layers, texts):
    assert bert.set_trainable(layers) == []
    assert trainable_names(bert) == []
    assert not bert.forward(bert.prepare(texts)).requires_grad


def test_each_call_starts_afresh(bert):
    everything = bert.set_trainable("all")
    bert.set_trainable("none")
    one = bert.set_trainable(1)
    assert len(one) == 16
    again = bert.set_trainable("all")
    assert [id(weight) for weight in again] == [id(weight) for weight in everything]


@pytest.mark.parametrize("wrong", [4, -1, True, "top", 1.0, None])
def test_wrong_number_of_layers_names_the_range(bert, wrong):
    bert.set_trainable(1)
    with pytest.raises(ValueError, match=r'between 0 and 3, or be "all" or "none"'):
        bert.set_trainable(wrong)
    assert len(trainable_names(bert)) == 16


@pytest.mark.parametrize("layers", [1, 2, 3, "all"])
def test_every_trainable_weight_gets_a_gradient_and_no_other(family_encoder, texts, layers):
    weights = family_encoder.set_trainable(layers)
    family_encoder.forward(family_encoder.prepare(texts)).square().sum().backward()
    assert weights
    assert all(weight.grad is not None for weight in weights)
    frozen = [w for w in family_encoder.module.parameters() if not w.requires_grad]
    assert all(weight.grad is None for weight in frozen)


def test_frozen_layers_build_no_graph(family_encoder, texts):
    family_encoder.set_trainable(1)
    layers = find_layers(family_encoder.module[0].model)
    needs_grad = []

    def look(_layer, _inputs, output):
        hidden = output[0] if isinstance(output, tuple) else output
        needs_grad.append(hidden.requires_grad)

    for layer in layers:
        layer.register_forward_hook(look)
    family_encoder.module.train()
    family_encoder._forward_padded(family_encoder.prepare(texts))
    assert needs_grad == [False, False, True]


def test_a_step_changes_the_top_layer_only(family_encoder, texts):
    before = {k: v.clone() for k, v in family_encoder.module.state_dict().items()}
    optimiser = torch.optim.Adam(family_encoder.set_trainable(1), lr=0.1)
    family_encoder.forward(family_encoder.prepare(texts)).square().sum().backward()
    optimiser.step()
    after = family_encoder.module.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert changed <= set(trainable_names(family_encoder))


def test_what_follows_the_layers_is_trained_with_them(folder_of):
    dense = TransformerEncoder.load(folder_of("bert", dense=6), device="cpu")
    dense.set_trainable(1)
    assert {"2.linear.weight", "2.linear.bias"} <= set(trainable_names(dense))
    decoder = TransformerEncoder.load(folder_of("qwen3"), device="cpu")
    decoder.set_trainable(1)
    assert "0.model.norm.weight" in trainable_names(decoder)


def test_bias_shared_by_all_layers_is_trained_with_all_of_them(folder_of):
    encoder = TransformerEncoder.load(folder_of("mpnet"), device="cpu")
    shared = "0.model.encoder.relative_attention_bias.weight"
    encoder.set_trainable(3)
    assert shared not in trainable_names(encoder)
    encoder.set_trainable("all")
    assert shared in trainable_names(encoder)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_works_in_any_grad_mode_and_leaves_modes_and_random_state(bert, context):
    bert.module.train()
    state = torch.get_rng_state()
    with context():
        assert len(bert.set_trainable(1)) == 16
    assert all(part.training for part in bert.module.modules())
    assert torch.equal(torch.get_rng_state(), state)


class Mixture(nn.Module):
    """Two layers of four experts each, and a longer list that is not the layers."""

    def __init__(self, stated):
        super().__init__()
        self.towers = nn.ModuleList(nn.Identity() for _ in range(3))
        self.body = nn.Module()
        self.body.layers = nn.ModuleList()
        for _ in range(2):
            layer = nn.Module()
            layer.experts = nn.ModuleList(nn.Linear(1, 1) for _ in range(4))
            self.body.layers.append(layer)
        self.config = type("Config", (), {"num_hidden_layers": stated})()


def test_layers_are_the_longest_list_or_the_stated_one():
    assert len(find_layers(Mixture(None))) == 3
    assert len(find_layers(Mixture(2))) == 2
    with pytest.raises(ValueError, match="Linear has no list of layers"):
        find_layers(nn.Linear(1, 1))


def test_position_limit():
    model = nn.Module()
    assert position_limit(model) is None
    model.position_embeddings = nn.Embedding(514, 2, padding_idx=1)
    assert position_limit(model) == 512
    model.position_embeddings = nn.Embedding(512, 2)
    assert position_limit(model) == 512
