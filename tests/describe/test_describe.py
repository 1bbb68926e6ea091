import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caot.describe import cluster_info, describe, document_info

TEXTS = [
    "I cannot reset my password",
    "password reset does not work",
    "reset password please",
    "where is my invoice",
    "the invoice is wrong",
    "two invoices missing",
    "no idea what this is",
]
LABELS = np.array([2, 2, 2, 5, 5, 5, -1])


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    centres = np.eye(6, 4)[np.where(LABELS < 0, 0, LABELS % 4)]
    vectors = (centres + 0.05 * rng.normal(size=(7, 4))).astype(np.float32)
    probabilities = np.full((7, 6), 0.04)
    probabilities[np.arange(7), LABELS] = 0.8
    probabilities[1] = [0, 0, 0.5, 0, 0.1, 0.4]
    return vectors, probabilities


def test_a_whole_description(case):
    vectors, probabilities = case
    before = vectors.copy(), probabilities.copy()
    described = describe(TEXTS, LABELS, probabilities, vectors, n_examples=2, n_doubtful=1)
    first, second = described.clusters
    assert (first.cluster, second.cluster) == (2, 5)
    assert first.label.startswith("Reset password")
    assert second.keywords[0].term == "invoice"
    assert first.size == 3
    assert first.share == pytest.approx(3 / 7)
    assert first.mean_confidence == pytest.approx((0.8 + 0.5 + 0.8) / 3)
    assert first.doubtful == (1,)
    assert set(first.examples) < {0, 1, 2}
    assert len(first.examples) == 2
    assert [cluster for cluster, _ in first.nearest] == [5]
    assert first.nearest[0][1] == pytest.approx(second.nearest[0][1])
    assert described.labels == {2: first.label, 5: second.label}
    np.testing.assert_array_equal(vectors, before[0])
    np.testing.assert_array_equal(probabilities, before[1])


def test_row_numbers_count_abstained_texts(case):
    vectors, probabilities = case
    order = [6, 0, 1, 2, 3, 4, 5]
    described = describe(
        [TEXTS[i] for i in order], LABELS[order], probabilities[order], vectors[order]
    )
    assert set(described.clusters[0].examples) == {1, 2, 3}
    assert set(described.clusters[1].doubtful) == {4, 5, 6}


def test_without_probabilities(case):
    described = describe(TEXTS, LABELS, None, case[0])
    assert np.isnan(described.clusters[0].mean_confidence)
    assert described.clusters[0].doubtful == ()


def test_own_stop_words(case):
    described = describe(TEXTS, LABELS, None, case[0], stop_words=["password", "invoice"])
    terms = {word.term for one in described.clusters for word in one.keywords}
    assert "is" in terms
    assert not {"password", "invoice"} & terms


def test_all_abstained_or_nothing_at_all():
    assert describe(["a"], [-1], [[1.0]], [[1.0]]).clusters == ()
    assert describe([], np.zeros(0, int), np.zeros((0, 2)), np.zeros((0, 2))).clusters == ()


def test_one_cluster_one_text():
    (one,) = describe(["Hello there"], [0], [[1.0]], [[1.0, 0.0]]).clusters
    assert one.label == "Hello there"
    assert one.examples == (0,)
    assert one.doubtful == one.nearest == ()


def test_an_own_cluster_of_empty_texts_and_all_empty():
    texts = ["", " ", "a real text", "a real test"]
    described = describe(texts, [1, 1, 0, 0], None, np.eye(4))
    assert described.clusters[1].label == "Empty texts"
    assert described.clusters[1].examples == ()
    assert describe(["", ""], [0, 1], None, np.zeros((2, 3))).clusters[0].nearest == ((1, 0.0),)


def test_lone_surrogates_and_controls():
    texts = ["\ud800", "word \udfff\x00 word", "\u202e", "x" * 10_000]
    described = describe(texts, [0, 1, 2, 3], None, np.eye(4))
    assert [one.label for one in described.clusters][:3] == ["cluster 0", "Word", "cluster 2"]
    assert len(described.clusters[3].label) <= 60


@settings(max_examples=30)
@given(st.lists(st.tuples(st.text(max_size=30), st.integers(-1, 4)), min_size=1, max_size=12))
def test_odd_texts(pairs):
    texts, labels = [text for text, _ in pairs], np.array([label for _, label in pairs])
    vectors = np.random.default_rng(0).normal(size=(len(texts), 3))
    probabilities = np.full((len(texts), 5), 0.2)
    described = describe(texts, labels, probabilities, vectors)
    assert [one.cluster for one in described.clusters] == sorted(set(labels.tolist()) - {-1})
    names = [one.label.casefold() for one in described.clusters]
    assert len(set(names)) == len(names)
    for one in described.clusters:
        assert one.label.strip()
        assert "\n" not in one.label
        for rows in (one.examples, one.doubtful):
            assert all(labels[row] == one.cluster for row in rows)
            folded = [" ".join(texts[row].casefold().split()) for row in rows]
            assert len(set(folded)) == len(folded)
    assert len(document_info(described, texts, probabilities, labels)) == len(texts)
    assert len(cluster_info(described, texts)) == len(names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0]}, "one for each text"),
        ({"labels": [0, -2]}, "from 0"),
        ({"probabilities": [[1.0], [1.0]], "labels": [0, 1]}, "column j"),
        ({"probabilities": [[1.0, 0.0]]}, "one row for each text"),
        ({"embeddings": [[1.0], [np.nan]]}, "row 1"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"n_keywords": -1}, "n_keywords"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    fine = {
        "texts": ["a", "b"],
        "labels": [0, 1],
        "probabilities": np.eye(2),
        "embeddings": np.eye(2),
    }
    with pytest.raises(ValueError, match=message):
        describe(**(fine | change))


def test_labels_must_be_whole_numbers():
    with pytest.raises(TypeError, match="whole numbers"):
        describe(["a"], [0.5], None, [[1.0]])


def test_many_texts_are_described_quickly():
    import time

    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{i}x" for i in range(5000)])
    labels = rng.integers(0, 152, size=4_000)
    picks = (rng.zipf(1.3, size=(4_000, 8)) + 31 * labels[:, None]) % 5000
    texts = [" ".join(row) for row in vocabulary[picks].tolist()]
    vectors = rng.normal(size=(4_000, 16)).astype(np.float32)
    start = time.process_time()
    described = describe(texts, labels, None, vectors)
    assert len(described.clusters) == 152
    assert time.process_time() - start < 4  # about 0.4 s; a loop over pairs would take minutes
