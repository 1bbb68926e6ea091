import json

import numpy as np
import pytest
import torch

from caot.encoders import EmbeddingCache, Features


@pytest.fixture
def matrix():
    return np.random.default_rng(0).normal(size=(10, 4))


def test_rows_come_back_as_float32(matrix):
    encoder = Features()
    rows = encoder.prepare(matrix)
    batch = encoder.forward(rows.take([3, 1]))
    assert len(rows) == 10
    assert encoder.width == 4
    assert batch.dtype == torch.float32
    np.testing.assert_array_equal(batch.numpy(), matrix[[3, 1]].astype(np.float32))
    vectors = encoder.encode(matrix)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, matrix.astype(np.float32))
    np.testing.assert_array_equal(encoder.encode(rows), vectors)


def test_results_do_not_share_memory_with_the_input(matrix):
    given = matrix.astype(np.float32)
    encoder = Features()
    assert not np.shares_memory(encoder.encode(given), given)
    encoder.forward(encoder.prepare(given)).zero_()
    assert given.any()


@pytest.mark.parametrize(
    "convert", [lambda x: x.tolist(), torch.from_numpy, lambda x: x.astype(np.float16), np.rint]
)
def test_anything_like_an_array_is_read(matrix, convert):
    given = convert(matrix)
    np.testing.assert_array_equal(Features().encode(given), np.asarray(given, dtype=np.float32))


def test_whole_numbers_are_read():
    assert Features().encode(np.arange(6).reshape(3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_first_bad_row_is_named(matrix, bad):
    big = np.tile(matrix, (1000, 1))
    big[[5000, 9000], 2] = bad
    with pytest.raises(ValueError, match="row 5000 holds NaN, infinity or a number beyond float32"):
        Features().prepare(big)


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2), (3, 0)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(n, width\)"):
        Features().prepare(np.zeros(shape))


def test_texts_are_refused():
    with pytest.raises(TypeError, match="real numbers"):
        Features().prepare([["a", "b"]])


def test_width_is_kept_once_it_is_known(matrix):
    encoder = Features()
    with pytest.raises(AttributeError, match=r"known after prepare"):
        _ = encoder.width
    encoder.prepare(matrix)
    for fixed in (encoder, Features(4)):
        with pytest.raises(ValueError, match="3 columns, but this encoder has width 4"):
            fixed.prepare(matrix[:, :3])
    with pytest.raises(ValueError, match="width must be at least 1"):
        Features(0)


def test_a_refused_array_leaves_no_width(matrix):
    encoder = Features()
    with pytest.raises(ValueError, match="row 0"):
        encoder.prepare(np.full((2, 3), np.nan))
    encoder.prepare(matrix)
    assert encoder.width == 4


def test_memory_mapped_rows_stay_on_disk(tmp_path, matrix):
    path = tmp_path / "rows.npy"
    np.save(path, matrix.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    encoder = Features()
    rows = encoder.prepare(mapped)
    assert rows.values is mapped
    vectors = encoder.encode(rows)
    assert np.shares_memory(vectors, mapped)
    assert not vectors.flags.writeable
    taken = rows.take([1, 2])
    assert not np.shares_memory(taken.values, mapped)
    np.testing.assert_array_equal(encoder.forward(taken).numpy(), np.load(path)[1:3])


def test_nothing_can_be_trained(matrix):
    encoder = Features(4)
    assert encoder.n_layers == 0
    assert encoder.max_length is None
    assert list(encoder.module.parameters()) == []
    assert encoder.set_trainable("all") == encoder.set_trainable("none") == []
    with pytest.raises(ValueError, match="between 0 and 0"):
        encoder.set_trainable(1)
    with pytest.raises(TypeError, match="forward takes Rows"):
        encoder.forward(matrix)


def test_save_and_load(tmp_path):
    Features(4).save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "features.json").read_text())["width"] == 4
    loaded = Features.load(tmp_path / "saved")
    assert loaded.width == 4
    assert loaded.fingerprint == Features(4).fingerprint != Features(5).fingerprint


def test_digest_sees_content_and_shape(matrix):
    encoder = Features()
    digest = encoder.prepare(matrix).digest()
    assert digest == Features().prepare(matrix.astype(np.float32)).digest()
    assert digest != Features().prepare(matrix.reshape(20, 2)).digest()
    assert digest != encoder.prepare(matrix[::-1]).digest()


def test_cache_passes_features_by(tmp_path, matrix):
    vectors = EmbeddingCache(tmp_path).get(Features(), matrix)
    np.testing.assert_array_equal(vectors, matrix.astype(np.float32))
    assert list(tmp_path.iterdir()) == []
