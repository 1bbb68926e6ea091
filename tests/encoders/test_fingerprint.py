import pytest
import torch

from caot.encoders import TransformerEncoder
from caot.encoders.fingerprint import tokenizer_settings
from tests.tiny_models import tiny_masked_lm_folder


def test_fingerprint_changes_with_all_that_changes_vectors(folder_of):
    folder = folder_of("bert", normalise=True)
    prompted = {"prompts": {"p": "red "}, "normalise": True}
    encoders = [
        TransformerEncoder.load(folder, device="cpu"),
        TransformerEncoder.load(folder, max_length=5, device="cpu"),
        TransformerEncoder.load(folder, pooling="mean", device="cpu"),
        TransformerEncoder.load(folder_of("bert", **prompted), prompt_name="p", device="cpu"),
        TransformerEncoder.load(folder_of("bert", seed=1, normalise=True), device="cpu"),
        TransformerEncoder.load(folder_of("bert", pooling="cls", normalise=True), device="cpu"),
    ]
    other_words = TransformerEncoder.load(folder, device="cpu")
    other_words.module.tokenizer.add_tokens(["umbrella"])
    assert len({encoder.fingerprint for encoder in [*encoders, other_words]}) == 7


def test_fingerprint_stays_when_vectors_stay(folder_of, texts):
    encoder = TransformerEncoder.load(folder_of("bert"), device="cpu")
    fresh = encoder.fingerprint
    assert len(fresh) == 64
    encoder.encode(texts)
    encoder.module.train()
    weights = encoder.set_trainable(1)
    assert encoder.fingerprint == fresh
    again = TransformerEncoder.load(folder_of("bert"), device="cpu")
    again.set_trainable(1)
    assert again.fingerprint == fresh
    left = [weight for weight in again.module.parameters() if weight.requires_grad]
    assert len(left) == len(weights)
    assert TransformerEncoder.load(folder_of("bert"), device="cpu").fingerprint == fresh


def test_tokenizer_settings_forget_the_last_call(bert):
    tokenizer = bert.module.tokenizer
    before = tokenizer_settings(tokenizer)
    tokenizer(["cat"], padding="max_length", truncation=True, max_length=9)
    assert tokenizer_settings(tokenizer) == before


def test_fingerprint_leaves_out_weights_that_nothing_reads(tmp_path):
    # A masked language model has no pooler: each load makes one up.
    folder = tiny_masked_lm_folder(tmp_path)
    one, two = (TransformerEncoder.load(folder, device="cpu") for _ in range(2))
    poolers = [encoder.module[0].model.pooler.dense.weight for encoder in (one, two)]
    assert not torch.equal(*poolers)
    assert one.fingerprint == two.fingerprint


@pytest.mark.parametrize("fused", [False, True])
def test_fingerprint_follows_training(bert, texts, fused):
    before = bert.fingerprint
    weights = bert.set_trainable(1)
    optimiser = torch.optim.Adam(weights, lr=5e-6, fused=fused)
    bert.forward(bert.prepare(texts)).square().sum().backward()
    optimiser.step()
    assert bert.fingerprint != before
