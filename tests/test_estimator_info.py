"""Clusters in words, from the estimator."""

import numpy as np
import pandas as pd
import pytest

from tests.estimator_corpus import N_TOPICS, corpus, quick, quick_vectors, vectors

TEXTS, TOPICS = corpus()


@pytest.fixture(scope="module")
def model():
    return quick().fit(TEXTS)


def test_a_row_for_every_cluster(model):
    info = model.get_cluster_info(TEXTS, n_examples=2)
    assert list(info["cluster"]) == list(range(N_TOPICS))
    np.testing.assert_array_equal(info["size"], model.cluster_sizes_)
    assert info["label"].is_unique
    for cluster, examples in zip(info["cluster"], info["examples"], strict=True):
        assert len(examples) == 2
        assert set(model.predict(examples)) == {cluster}


def test_a_row_for_every_text_in_order(model):
    ids = [f"t{row}" for row in range(len(TEXTS))]
    info = model.get_document_info(TEXTS, ids=ids)
    assert info["id"].tolist() == ids
    np.testing.assert_array_equal(info["cluster"], model.labels_)
    np.testing.assert_allclose(info["confidence"], model.predict_proba(TEXTS).max(axis=1))
    names = model.describe(TEXTS).labels
    assert info["label"].tolist() == [names[cluster] for cluster in model.labels_]
    series = pd.Series(TEXTS, index=ids)
    assert model.get_document_info(series).index.tolist() == ids


def test_a_description_takes_its_settings(model):
    description = model.describe(TEXTS, n_keywords=1)
    assert {len(one.keywords) for one in description.clusters} == {1}


def test_empty_texts_have_their_own_row():
    texts = [*TEXTS, "", " "]
    model = quick(on_empty="own-cluster").fit(texts)
    info = model.get_cluster_info(texts)
    assert info["cluster"].tolist() == list(range(N_TOPICS + 1))
    assert info["size"].tolist()[-1] == 2
    assert model.get_document_info(texts)["cluster"].tolist()[-2:] == [N_TOPICS, N_TOPICS]


def test_vectors_have_no_words():
    model = quick_vectors().fit(vectors())
    with pytest.raises(TypeError, match="vectors have no words: give their texts"):
        model.get_cluster_info(vectors())
