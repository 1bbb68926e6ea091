from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caot.encoders import Activations, Batchable, Encoder, Features, Tokens
from tests.fakes import HashEncoder

ROWS = [[5, 6, 7], [8], [], [9, 10]]


def rows_of(tokens):
    ends = tokens.offsets
    return [tokens.values[a:b].tolist() for a, b in pairwise(ends)]


def test_tokens_are_ragged():
    tokens = Tokens.from_lists(ROWS)
    assert len(tokens) == 4
    assert tokens.values.tolist() == [5, 6, 7, 8, 9, 10]
    assert tokens.offsets.tolist() == [0, 3, 4, 4, 6]
    assert tokens.lengths.tolist() == [3, 1, 0, 2]
    assert isinstance(tokens, Batchable)


@given(
    rows=st.lists(st.lists(st.integers(0, 50), max_size=6), min_size=1, max_size=8),
    data=st.data(),
)
def test_take_selects_repeats_and_orders(rows, data):
    picked = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=10))
    taken = Tokens.from_lists(rows).take(picked)
    assert rows_of(taken) == [rows[row] for row in picked]


def test_take_with_a_mask_and_with_numpy_rows():
    tokens = Tokens.from_lists(ROWS)
    assert rows_of(tokens.take(np.array([True, False, False, True]))) == [ROWS[0], ROWS[3]]
    assert rows_of(tokens.take(np.array([1], dtype=np.int32))) == [ROWS[1]]


@pytest.mark.parametrize("rows", [[4], [-5]])
def test_take_outside_is_an_error(rows):
    with pytest.raises(IndexError):
        Tokens.from_lists(ROWS).take(rows)


def test_take_wants_one_dimension_of_whole_numbers():
    tokens = Tokens.from_lists(ROWS)
    with pytest.raises(ValueError, match="one-dimensional"):
        tokens.take(np.zeros((1, 1), dtype=np.int64))
    with pytest.raises(TypeError):
        tokens.take(np.array([0.5]))


def test_concat():
    whole = Tokens.concat(Tokens.from_lists(ROWS[:2]), Tokens.from_lists(ROWS[2:]))
    assert rows_of(whole) == ROWS


def test_activations_are_rows_of_vectors():
    made = Activations(np.arange(12.0).reshape(6, 2), np.array([0, 1, 3, 6]))
    both = Activations.concat(made.take([2, 0]), made.take([1]))
    assert both.lengths.tolist() == [3, 1, 2]
    assert both.values[:, 0].tolist() == [6.0, 8.0, 10.0, 0.0, 2.0, 4.0]
    assert both.digest() != made.digest()


def test_padded_to_the_longest_on_the_right():
    ids, mask = Tokens.from_lists([[5, 6, 7], [8]]).padded(1)
    assert ids.tolist() == [[5, 6, 7], [8, 1, 1]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_digest_sees_ids_and_borders():
    digests = {
        Tokens.from_lists(rows).digest()
        for rows in ([[1, 2], [3]], [[1], [2, 3]], [[1, 2], [4]], [[1, 2, 3]])
    }
    assert len(digests) == 4
    assert Tokens.from_lists(ROWS).digest() == Tokens.from_lists(ROWS).digest()


@pytest.mark.parametrize(
    ("values", "offsets", "message"),
    [
        (np.zeros(2), np.array([0, 2]), "values must be a 1-D int64"),
        (np.zeros(2, np.int64), np.array([0, 2], np.int32), "offsets must be a 1-D int64"),
        (np.zeros(2, np.int64), np.array([0, 1]), "offsets must rise"),
        (np.zeros(2, np.int64), np.array([1, 2]), "offsets must rise"),
        (np.zeros(2, np.int64), np.array([0, 3, 2]), "offsets must rise"),
        (np.zeros(0, np.int64), np.zeros(0, np.int64), "offsets must rise"),
    ],
)
def test_wrong_tokens_are_refused(values, offsets, message):
    with pytest.raises(ValueError, match=message):
        Tokens(values, offsets)


def test_tokens_cannot_be_changed():
    with pytest.raises(AttributeError):
        Tokens.from_lists(ROWS).values = np.zeros(0, np.int64)


def test_encoders_follow_the_protocol():
    assert isinstance(HashEncoder(), Encoder)
    assert isinstance(Features(3), Encoder)
    assert not isinstance(object(), Encoder)


def test_fake_encoder_keeps_its_promises():
    encoder = HashEncoder()
    texts = ["red cat", "blue dog", "red cat", "sun"]
    vectors = encoder.encode(texts, batch_size=2)
    assert vectors.shape == (4, 32)
    assert vectors.dtype == np.float32
    assert encoder.n_encoded == 3
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_array_equal(vectors, HashEncoder().encode(texts, batch_size=2))
    assert encoder.fingerprint == HashEncoder().fingerprint != HashEncoder(seed=1).fingerprint
    assert len(encoder.set_trainable(1)) == 2
    assert len(encoder.set_trainable("all")) == 3
    assert encoder.set_trainable("none") == []
