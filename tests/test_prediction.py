"""Streaming prediction gives the labels of batch prediction and reads no further than it must."""

from itertools import chain, count, islice, repeat

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from caot import CAOT, prediction
from caot.inputs import read_inputs
from caot.prediction import predict_stream
from tests.estimator_corpus import corpus, quick, quick_vectors, vectors


@pytest.fixture(scope="module")
def fitted():
    texts, _ = corpus()
    return quick().fit(texts)


@pytest.fixture(scope="module")
def texts():
    return corpus(n_per_topic=17, seed=1)[0]


def joined(parts, name):
    return np.concatenate([getattr(part, name) for part in parts])


@pytest.mark.parametrize("chunk_size", [1, 7, 1000])
def test_stream_equals_batch(fitted, texts, chunk_size):
    parts = list(predict_stream(fitted, iter(texts), chunk_size=chunk_size, batch_size=4))
    shares = fitted.predict_proba(texts)
    np.testing.assert_array_equal(joined(parts, "labels"), fitted.predict(texts))
    ordered = np.sort(shares, axis=1)[:, ::-1]
    np.testing.assert_allclose(joined(parts, "confidence"), ordered[:, 0], atol=1e-6)
    np.testing.assert_allclose(joined(parts, "second_confidence"), ordered[:, 1], atol=1e-6)
    second = joined(parts, "second_labels")
    assert (second != joined(parts, "labels")).all()
    np.testing.assert_allclose(shares[np.arange(len(texts)), second], ordered[:, 1], atol=1e-6)
    assert [part.start for part in parts] == list(range(0, len(texts), chunk_size))
    assert sum(len(part) for part in parts) == len(texts)
    assert joined(parts, "labels").dtype == np.int64


def test_reads_one_chunk_at_a_time_and_keeps_none(fitted, texts):
    read = count()

    def endless():
        for text in chain.from_iterable(repeat(texts)):
            next(read)
            yield text

    stream = predict_stream(fitted, endless(), chunk_size=5)
    assert next(read) == 0, "nothing is read before the first result is asked for"
    for chunk, part in enumerate(islice(stream, 4), start=1):
        assert len(part) == 5
        assert next(read) - chunk == 5 * chunk, "read further ahead than one chunk"


def test_confidence_below_the_minimum(fitted, texts):
    least = float(np.median(fitted.predict_proba(texts).max(axis=1)))
    (part,) = predict_stream(fitted, texts, min_confidence=least)
    expected = fitted.predict(texts, min_confidence=least)
    np.testing.assert_array_equal(part.labels, expected)
    assert 0 < np.count_nonzero(part.labels == -1) < len(texts)
    weak = part.labels == -1
    assert (part.confidence[weak] > 0).all()
    np.testing.assert_array_equal(part.second_labels[weak], fitted.predict(texts)[weak])
    np.testing.assert_array_equal(part.second_confidence[weak], part.confidence[weak])


def test_empty_texts_have_their_own_cluster(texts):
    model = quick(on_empty="own-cluster").fit([*corpus()[0], ""])
    mixed = [texts[0], " ", texts[20], ""]
    (part,) = predict_stream(model, mixed)
    np.testing.assert_array_equal(part.labels, model.predict(mixed))
    assert part.labels[1] == 3
    assert part.confidence[1] == 1
    assert part.second_labels[1] == -1
    assert part.second_confidence[1] == 0
    assert part.second_labels[0] in {0, 1, 2}


def test_bad_texts_are_named_by_their_place(fitted, texts):
    stream = predict_stream(fitted, [*texts[:5], "", *texts], chunk_size=5)
    next(stream)
    with pytest.raises(ValueError, match=r"in rows 0: .*\(rows are counted from text 5\)"):
        next(stream)
    with pytest.raises(TypeError, match="such as a int, in rows 1"):
        list(predict_stream(fitted, [texts[0], 3]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chunk_size": 0}, "chunk_size must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"min_confidence": 1.5}, "min_confidence must lie between 0 and 1"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_read(fitted, settings, message):
    with pytest.raises(ValueError, match=message):
        predict_stream(fitted, [], **settings)


def test_wrong_models_and_inputs(fitted):
    with pytest.raises(TypeError, match="a single text"):
        predict_stream(fitted, "text")
    with pytest.raises(NotFittedError, match="this CAOT is not fitted"):
        predict_stream(CAOT(3), ["text"])
    on_vectors = quick_vectors().fit(vectors())
    with pytest.raises(TypeError, match="fitted on vectors"):
        predict_stream(on_vectors, ["text"])
    assert list(predict_stream(fitted, [])) == []


@pytest.mark.parametrize(("asked", "taken"), [(None, 16), (5, 5)])
def test_an_encoder_takes_as_many_texts_as_it_likes_unless_told(fitted, texts, asked, taken):
    sizes = []

    class Small:
        def encode(self, inputs, batch_size=16, progress=False):
            sizes.append(batch_size)
            return fitted.encoder_.encode(inputs)

    list(predict_stream(fitted, texts, encoder=Small(), batch_size=asked))
    assert sizes == [taken]


def test_another_encoder_takes_the_place(fitted, texts):
    class Reversed:
        def encode(self, inputs, batch_size=64, progress=False):
            return fitted.encoder_.encode(inputs[::-1], batch_size=batch_size)

    (part,) = predict_stream(fitted, texts, encoder=Reversed())
    np.testing.assert_array_equal(part.labels, fitted.predict(texts)[::-1])


def test_vectors_go_through_the_networks_in_parts(fitted, monkeypatch):
    inputs = read_inputs(["the cat is red", "a big dog", "sun"], on_empty="error")
    vectors = fitted.encoder_.encode(inputs.values)
    whole = prediction.probabilities(fitted, vectors, inputs)
    monkeypatch.setattr(prediction, "_ROWS", 2)
    np.testing.assert_allclose(prediction.probabilities(fitted, vectors, inputs), whole, rtol=1e-5)
