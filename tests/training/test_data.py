"""The order of the samples, and their three views."""

import json

import numpy as np
import pytest
import torch

from caot.augment import FeatureNoise
from caot.encoders import Features
from caot.training import TrainingData
from caot.training.data import Sampler
from tests.corpora import topic_texts
from tests.fakes import HashEncoder

CORPUS = topic_texts(3, 4)
ROWS = np.array([5, 0, 11])


def rows_of(n, width=3):
    return Features(width).prepare(np.arange(n * width, dtype=np.float32).reshape(n, width))


@pytest.mark.parametrize(("n", "batch"), [(10, 10), (10, 8), (10, 7), (10, 3), (11, 2), (12, 6)])
def test_batches_are_full_and_hold_no_row_twice(n, batch):
    sampler = Sampler(n, batch, 0)
    for _ in range(3 * n):
        rows = sampler.next()
        assert rows.shape == (batch,)
        assert len(set(rows.tolist())) == batch
        assert 0 <= rows.min() <= rows.max() < n


@pytest.mark.parametrize(("n", "batch"), [(10, 10), (10, 8), (10, 7), (10, 3), (11, 2)])
def test_every_sample_is_seen_equally_often(n, batch):
    sampler = Sampler(n, batch, 1)
    counts = np.zeros(n, dtype=int)
    for done in range(1, 4 * n + 1):
        counts[sampler.next()] += 1
        # Within a pass some are ahead, by at most the rows that waited and came last.
        assert np.ptp(counts) <= 2
        if done * batch % n == 0:
            assert set(counts) == {done * batch // n}


def test_a_batch_is_never_larger_than_the_data():
    assert sorted(Sampler(5, 200, 0).next()) == [0, 1, 2, 3, 4]


def test_passes_differ_and_depend_on_the_seed():
    sampler = Sampler(30, 30, 0)
    first, second = sampler.next(), sampler.next()
    assert first.tolist() != second.tolist()
    assert first.tolist() == Sampler(30, 30, 0).next().tolist()
    assert first.tolist() != Sampler(30, 30, 1).next().tolist()


def test_a_sampler_goes_on_from_its_state():
    sampler = Sampler(10, 7, 0)
    sampler.next()
    generator, queue = sampler.state()
    generator = json.loads(json.dumps(generator))  # as a checkpoint keeps it
    expected = [sampler.next().tolist() for _ in range(5)]
    other = Sampler(10, 7, 99)
    other.restore(generator, queue)
    assert [other.next().tolist() for _ in range(5)] == expected
    assert queue.size == 3


def test_views_come_in_pairs():
    with pytest.raises(ValueError, match="both views or neither"):
        TrainingData(rows_of(4), rows_of(4))
    with pytest.raises(ValueError, match="both views or neither"):
        TrainingData(rows_of(4), None, rows_of(4), FeatureNoise())


def test_views_must_come_from_somewhere():
    with pytest.raises(ValueError, match="give first and second, or a FeatureNoise"):
        TrainingData(rows_of(4))


@pytest.mark.parametrize(("first", "second"), [(3, 4), (4, 5), (3, 3)])
def test_views_have_a_row_for_each_sample(first, second):
    with pytest.raises(ValueError, match=f"{first} and {second} rows for 4 samples"):
        TrainingData(rows_of(4), rows_of(first), rows_of(second))


def test_length_is_that_of_the_samples():
    assert len(TrainingData(rows_of(4), noise=FeatureNoise())) == 4


def test_both_views_of_texts_in_one_pass_equal_two_passes():
    encoder = HashEncoder(8)
    encoder.module.eval()
    views = [encoder.prepare(view) for view in (CORPUS.texts, CORPUS.first, CORPUS.second)]
    data = TrainingData(*views)
    before = encoder.n_encoded
    first, second = data.encode_views(encoder, ROWS, torch.Generator())
    assert encoder.n_encoded - before == 2 * len(ROWS)
    torch.testing.assert_close(first, encoder.forward(views[1].take(ROWS)))
    torch.testing.assert_close(second, encoder.forward(views[2].take(ROWS)))
    assert not torch.allclose(first, second)
    original = data.encode_original(encoder, ROWS)
    torch.testing.assert_close(original, encoder.forward(views[0].take(ROWS)))


def test_views_of_vectors_are_their_rows():
    vectors = rows_of(12), Features(3).prepare(np.ones((12, 3))), Features(3).prepare(np.eye(12, 3))
    first, second = TrainingData(*vectors).encode_views(Features(3), ROWS, torch.Generator())
    np.testing.assert_array_equal(first.numpy(), np.ones((3, 3)))
    np.testing.assert_array_equal(second.numpy(), np.eye(12, 3)[ROWS])


def test_noise_makes_two_different_views_from_its_generator():
    data, encoder = TrainingData(rows_of(12), noise=FeatureNoise(dropout=0.0)), Features(3)
    original = data.encode_original(encoder, ROWS)
    first, second = data.encode_views(encoder, ROWS, torch.Generator().manual_seed(0))
    again, _ = data.encode_views(encoder, ROWS, torch.Generator().manual_seed(0))
    assert first.shape == second.shape == (3, 3)
    assert not torch.equal(first, second)
    assert not torch.equal(first, original)
    torch.testing.assert_close(first, original, rtol=0, atol=10.0)
    assert torch.equal(first, again)
