import subprocess
import sys

import numpy as np
import pytest
import torch

from caot import encoders
from caot.encoders import EncoderNotAvailable, Features, TransformerEncoder, load_encoder
from caot.encoders.device import resolve_device
from caot.encoders.loading import check_encoder
from tests.fakes import HashEncoder
from tests.tiny_models import plain_folder, tiny_masked_lm_folder

PAPER = "sentence-transformers/distilbert-base-nli-stsb-mean-tokens"


@pytest.mark.parametrize("encoder", [HashEncoder(), Features(), Features(3)])
def test_an_encoder_is_returned_as_it_is(encoder):
    assert load_encoder(encoder) is encoder


def test_what_is_no_encoder_is_refused():
    with pytest.raises(TypeError, match="got a dict without name, fingerprint"):
        load_encoder({})


def test_folder_as_string_path_and_relative_path(folder_of, monkeypatch, texts):
    folder = folder_of("bert", normalise=True)
    vectors = load_encoder(str(folder), device="cpu").encode(texts)
    monkeypatch.chdir(folder.parent)
    for spec in (folder, "./model", "model"):
        np.testing.assert_array_equal(load_encoder(spec, device="cpu").encode(texts), vectors)
    monkeypatch.setenv("HOME", str(folder.parent))
    assert load_encoder("~/model", device="cpu").name == "~/model"


def test_faithful_mode_reads_as_the_paper(folder_of, texts):
    folder = folder_of(
        "distilbert",
        pooling="cls",
        normalise=True,
        max_length=8,
        prompts={"p": "red "},
        default_prompt_name="p",
    )
    faithful = load_encoder(folder, mode="faithful", device="cpu")
    assert faithful.max_length == 32
    assert [type(part).__name__ for part in faithful.module] == ["Transformer", "Pooling"]
    assert faithful.module[1].pooling_mode == "mean"
    assert faithful.prepare(["cat"]).lengths.tolist() == [3]
    assert load_encoder(folder, mode="faithful", max_length=6, device="cpu").max_length == 6
    assert load_encoder(folder, device="cpu").max_length == 8
    with pytest.raises(ValueError, match="faithful mode uses no prompt"):
        load_encoder(folder, mode="faithful", prompt_name="p")
    with pytest.raises(ValueError, match="mode must be one of 'default', 'faithful'"):
        load_encoder(folder, mode="paper")


def test_model_that_is_not_available_offline():
    with pytest.raises(EncoderNotAvailable) as caught:
        load_encoder("someone/some-model", revision="v2", cache_dir="my-models", token="secret")
    message = str(caught.value)
    assert isinstance(caught.value, OSError)
    assert caught.value.__cause__ is not None
    assert "'someone/some-model' is not available" in message
    assert "S('someone/some-model', revision='v2', cache_folder='my-models')" in message
    assert "local folder" in message
    assert 'encoder="auto"' in message
    assert "secret" not in message


def test_the_papers_model_by_name():
    with pytest.raises(EncoderNotAvailable, match=f"'{PAPER}' is not available"):
        load_encoder("paper")


@pytest.mark.parametrize("spec", ["./none", "/none/here", "~/none", "a\\b", "C:model", "a/b/c"])
def test_path_that_does_not_exist(spec):
    with pytest.raises(EncoderNotAvailable, match="There is no folder") as caught:
        load_encoder(spec)
    assert repr(spec) in str(caught.value)


def test_what_is_not_there_is_known_without_loading(folder_of, tmp_path, monkeypatch):
    monkeypatch.setattr("caot.encoders.loading.transformer_encoder", lambda: pytest.fail("loaded"))
    for spec in ("auto", folder_of("bert"), "some/model"):
        check_encoder(spec)
    for spec, local, part in (
        ("./none", False, "no folder './none'"),
        (tmp_path, False, "modules.json or config.json"),
        ("some/model", True, "not stored on this machine"),
        ("paper", True, "distilbert-base-nli-stsb-mean-tokens"),
        ("no model", True, "not stored on this machine"),
    ):
        with pytest.raises(EncoderNotAvailable, match=part):
            check_encoder(spec, local_files_only=local)


@pytest.mark.parametrize("name", ["some/model", "model"])
def test_a_stored_model_is_found_without_loading(name, tmp_path, monkeypatch):
    owner = name.partition("/")[0] if "/" in name else "sentence-transformers"
    store = tmp_path / f"models--{owner}--model"
    (store / "snapshots" / "abc").mkdir(parents=True)
    (store / "refs").mkdir()
    (store / "refs" / "main").write_text("abc", encoding="utf-8")
    (store / "snapshots" / "abc" / "config.json").touch()
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    check_encoder(name, local_files_only=True)
    with pytest.raises(EncoderNotAvailable, match="not stored"):
        check_encoder("other/model", local_files_only=True)


def test_file_in_place_of_a_folder(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    with pytest.raises(EncoderNotAvailable, match="is a file: give the folder"):
        load_encoder(str(file))


def test_folder_without_a_model(tmp_path):
    with pytest.raises(EncoderNotAvailable, match="could not be loaded") as caught:
        load_encoder(tmp_path)
    assert "config.json" in str(caught.value)
    assert caught.value.__cause__ is not None


def test_broken_weights(tmp_path):
    folder = plain_folder(tmp_path)
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(EncoderNotAvailable, match="SafetensorError"):
        load_encoder(folder)


def test_pickled_weights_are_not_read(tmp_path):
    folder = plain_folder(tmp_path)
    weights = TransformerEncoder.load(folder, device="cpu").module[0].model.state_dict()
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(EncoderNotAvailable, match=r"needs config\.json.*model\.safetensors"):
        load_encoder(folder)


def test_own_settings_errors_are_not_taken_for_absence(folder_of):
    with pytest.raises(ValueError, match="max_length must be at least 3"):
        load_encoder(folder_of("bert"), max_length=1, device="cpu")


def test_masked_language_model_can_be_an_encoder(tmp_path, texts):
    encoder = load_encoder(tiny_masked_lm_folder(tmp_path), device="cpu")
    assert encoder.encode(texts).shape == (len(texts), 16)


def test_device_is_the_best_there_is(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert resolve_device(None) == torch.device("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device(None) == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device(None) == torch.device("cuda")
    assert resolve_device("cpu") == torch.device("cpu")


def test_importing_the_package_leaves_the_slow_libraries_alone():
    code = (
        "import sys, caot.encoders\n"
        "slow = {'sentence_transformers', 'transformers'} & set(sys.modules)\n"
        "sys.exit(', '.join(slow) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names():
    assert all(hasattr(encoders, name) for name in encoders.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = encoders.Nothing
