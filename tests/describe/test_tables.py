import numpy as np
import pytest

from caot.describe import cluster_info, describe, document_info

TEXTS = ["red apple", "green apple", "fast car", "old car", "whatever"]
LABELS = np.array([0, 0, 2, 2, -1])
PROBABILITIES = np.array(
    [[0.7, 0.1, 0.2], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.5, 0.1, 0.4], [0.3, 0.36, 0.34]]
)


@pytest.fixture
def described():
    return describe(TEXTS, LABELS, PROBABILITIES, np.eye(5))


def test_cluster_info(described):
    table = cluster_info(described, TEXTS)
    assert list(table.columns) == [
        "cluster", "label", "keywords", "size", "share", "mean_confidence", "examples"
    ]  # fmt: skip
    assert table["cluster"].tolist() == [0, 2]
    assert table["size"].tolist() == [2, 2]
    assert table["keywords"][0][0] == "apple"
    assert sorted(table["examples"][1]) == ["fast car", "old car"]
    assert table["mean_confidence"].tolist() == pytest.approx([0.65, 0.6])


def test_document_info(described):
    table = document_info(described, TEXTS, PROBABILITIES, LABELS, ids=list("vwxyz"))
    assert list(table.columns) == [
        "id", "cluster", "label", "confidence", "second_cluster", "second_confidence"
    ]  # fmt: skip
    assert table["id"].tolist() == list("vwxyz")
    assert table["cluster"].tolist() == LABELS.tolist()
    assert table["label"].tolist() == [described.labels.get(c, "") for c in LABELS.tolist()]
    assert table["confidence"].tolist() == [0.7, 0.6, 0.8, 0.4, 0.36]
    # The last text was given to no cluster: what would be its first choice is not kept from it.
    assert table["second_cluster"].tolist() == [2, 1, 0, 0, 1]
    assert table["second_confidence"].tolist() == [0.2, 0.3, 0.1, 0.5, 0.36]
    assert "id" not in document_info(described, TEXTS, PROBABILITIES, LABELS)


def test_one_cluster_has_no_second():
    described = describe(["a text"], [0], [[1.0]], [[1.0]])
    table = document_info(described, ["a text"], [[1.0]], [0])
    assert table["second_cluster"].tolist() == [-1]
    assert np.isnan(table["second_confidence"][0])


def test_noise_has_no_second_cluster():
    shares = [[0.9, 0.1], [0.0, 0.0], [0.0, 1.0]]
    described = describe(["a text", "noise", "more text"], [0, -1, 1], shares, np.eye(3))
    table = document_info(described, ["a text", "noise", "more text"], shares, [0, -1, 1])
    assert table["second_cluster"].tolist() == [1, -1, -1]
    assert table["second_confidence"].tolist() == [0.1, 0.0, 0.0]


def test_other_texts_than_the_described_are_refused(described):
    with pytest.raises(ValueError, match="texts that were described"):
        cluster_info(described, TEXTS[:2])
    with pytest.raises(ValueError, match="cluster 1, which"):
        document_info(described, TEXTS, PROBABILITIES, [0, 0, 1, 2, 2])
    with pytest.raises(ValueError, match="one for each text"):
        document_info(described, TEXTS[:2], PROBABILITIES, LABELS)


def test_an_empty_description():
    described = describe(["a"], [-1], [[1.0]], [[1.0]])
    assert cluster_info(described, ["a"]).empty
    assert document_info(described, ["a"], [[1.0]], [-1])["label"].tolist() == [""]
