import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from caot.encoders import TransformerEncoder
from tests.tiny_models import plain_folder


def train_one_step(encoder, texts):
    before = encoder.encode(texts)
    optimiser = torch.optim.SGD(encoder.set_trainable(1), lr=0.05)
    encoder.forward(encoder.prepare(texts))[:, 0].sum().backward()
    optimiser.step()
    assert np.abs(encoder.encode(texts) - before).max() > 1e-4


def check_roundtrip(encoder, folder, texts):
    encoder.save(folder)
    vectors = encoder.encode(texts)
    theirs = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(theirs.encode(texts), vectors, rtol=0, atol=1e-5)
    assert theirs.max_seq_length == encoder.max_length
    assert [type(part) for part in theirs] == [type(part) for part in encoder.module]
    ours = TransformerEncoder.load(folder, device="cpu")
    np.testing.assert_array_equal(ours.encode(texts), vectors)
    assert ours.max_length == encoder.max_length
    assert ours.fingerprint == encoder.fingerprint
    weights = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert weights <= {".json", ".safetensors", ".txt", ".jinja"}


def test_trained_model_of_every_family(family_encoder, texts, tmp_path):
    train_one_step(family_encoder, texts)
    check_roundtrip(family_encoder, tmp_path / "saved", texts)


@pytest.mark.parametrize("pooling", ["own", "mean"])
@pytest.mark.parametrize(
    "settings",
    [
        {"normalise": True},
        {"normalise": True, "dense": 6},
        {"prompts": {"p": "what is "}, "default_prompt_name": "p", "include_prompt": False},
        {"truncate_dim": 4},
    ],
    ids="-".join,
)
def test_exactly_the_trained_modules(folder_of, texts, tmp_path, pooling, settings):
    encoder = TransformerEncoder.load(
        folder_of("bert", **settings), pooling=pooling, max_length=7, device="cpu"
    )
    kinds = [type(part).__name__ for part in encoder.module]
    if pooling == "mean":
        assert kinds == ["Transformer", "Pooling"]
    elif "normalise" in settings:
        assert kinds[-1] == "Normalize"
    check_roundtrip(encoder, tmp_path / "saved", texts)


def test_chosen_prompt_is_saved_as_the_default(folder_of, texts, tmp_path):
    folder = folder_of("bert", prompts={"p": "what is "})
    encoder = TransformerEncoder.load(folder, prompt_name="p", device="cpu")
    check_roundtrip(encoder, tmp_path / "saved", texts)


@pytest.mark.parametrize("chat", [False, True])
def test_plain_language_model(texts, tmp_path, chat):
    folder = plain_folder(tmp_path / "plain", "qwen3", chat=chat, causal_lm=True)
    encoder = TransformerEncoder.load(folder, device="cpu")
    check_roundtrip(encoder, tmp_path / "saved", texts)


def test_saved_files_name_no_folder_of_this_machine(bert, tmp_path):
    bert.save(tmp_path / "saved")
    for path in (tmp_path / "saved").rglob("*.json"):
        assert bert.name not in path.read_text(encoding="utf-8"), path.name
