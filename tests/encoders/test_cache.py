import errno
import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from caot.encoders import EmbeddingCache, cache
from tests.fakes import HashEncoder

TEXTS = ["red cat", "blue dog", "sun"]


@pytest.fixture
def encoder():
    return HashEncoder()


def files(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def test_second_call_reads_from_disk(tmp_path, encoder):
    store = EmbeddingCache(tmp_path)
    first = store.get(encoder, TEXTS, batch_size=2)
    assert encoder.n_encoded == 3
    again = EmbeddingCache(tmp_path).get(HashEncoder(), encoder.prepare(TEXTS))
    other = HashEncoder()
    np.testing.assert_array_equal(EmbeddingCache(tmp_path).get(other, TEXTS), first)
    assert other.n_encoded == 0
    np.testing.assert_array_equal(again, first)
    assert again.dtype == np.float32
    (path,) = files(tmp_path)
    assert path.suffix == ".npy"
    np.testing.assert_array_equal(np.load(path), first)


def test_other_texts_order_weights_and_length_are_other_files(tmp_path, encoder):
    store = EmbeddingCache(tmp_path)
    store.get(encoder, TEXTS)
    store.get(encoder, TEXTS[::-1])
    store.get(encoder, TEXTS[:2])
    store.get(HashEncoder(max_length=1), TEXTS)
    with torch.no_grad():
        encoder.module.linear.weight.add_(1)
    trained = store.get(encoder, TEXTS)
    np.testing.assert_array_equal(trained, encoder.encode(TEXTS))
    assert len(files(tmp_path)) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-7]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"not an array"),
        lambda path: np.save(path, np.zeros((2, 32), np.float32)),
        lambda path: np.save(path, np.zeros((3, 32))),
        lambda path: np.save(path, np.full((3, 32), np.nan, np.float32)),
        lambda path: np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True),
    ],
    ids=["cut", "empty", "garbage", "shape", "dtype", "nan", "pickle"],
)
def test_damaged_file_is_encoded_again(tmp_path, encoder, caplog, damage):
    store = EmbeddingCache(tmp_path)
    first = store.get(encoder, TEXTS)
    (path,) = files(tmp_path)
    damage(path)
    with caplog.at_level(logging.WARNING, logger="caot"):
        np.testing.assert_array_equal(store.get(encoder, TEXTS), first)
    assert "encoding again" in caplog.text
    assert path.name in caplog.text
    np.testing.assert_array_equal(np.load(path), first)


def test_unwritable_folder_is_a_warning(tmp_path, encoder):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.warns(UserWarning, match="Embeddings are not cached"):
        vectors = EmbeddingCache(blocked / "below").get(encoder, TEXTS)
    np.testing.assert_array_equal(vectors, encoder.encode(TEXTS))


def test_full_disk_is_a_warning_and_leaves_nothing_behind(tmp_path, encoder, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("caot.files.os.fsync", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        vectors = EmbeddingCache(tmp_path).get(encoder, TEXTS)
    np.testing.assert_array_equal(vectors, encoder.encode(TEXTS))
    assert files(tmp_path) == []


def test_interrupted_write_leaves_no_file(tmp_path, encoder, monkeypatch):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.np, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        EmbeddingCache(tmp_path).get(encoder, TEXTS)
    assert files(tmp_path) == []


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CAOT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert EmbeddingCache().folder == tmp_path / "home" / ".cache" / "caot"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert EmbeddingCache().folder == tmp_path / "xdg" / "caot"
    monkeypatch.setenv("CAOT_CACHE", "~/mine")
    assert EmbeddingCache().folder == tmp_path / "home" / "mine"
    assert EmbeddingCache(tmp_path).folder == tmp_path
