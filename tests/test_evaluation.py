"""Evaluation with and without labels against hand-made cases; pictures that no label can break."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from caot.confusion import confusion_svg
from caot.evaluation import (
    ClusterMatch,
    evaluate_with_labels,
    evaluate_without_labels,
    silhouette,
    stability,
)
from caot.metrics import score

TRUE = ["a", "a", "a", "b", "b", "b", "b", "b"]
PRED = [5, 5, 7, 7, 7, 7, 9, 9]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def evaluation():
    return evaluate_with_labels(TRUE, PRED)


def test_cluster_table_follows_the_best_map(evaluation):
    assert evaluation.clusters == (
        ClusterMatch(5, 2, "a", precision=1.0, recall=2 / 3),
        ClusterMatch(7, 4, "b", precision=3 / 4, recall=3 / 5),
        ClusterMatch(9, 2, None, precision=0.0, recall=0.0),
    )
    frame = evaluation.cluster_frame()
    assert list(frame.columns) == ["cluster", "size", "matched", "precision", "recall"]
    assert frame["matched"].tolist() == ["a", "b", None]
    matched = sum(row.size * row.precision for row in evaluation.clusters)
    assert matched / len(TRUE) == pytest.approx(evaluation.scores.accuracy)


def test_a_class_without_shared_texts_is_no_match():
    # Cluster 1 is left with class "b", of which it has nothing.
    rows = evaluate_with_labels(["a", "a", "a", "b"], [0, 0, 1, 0]).clusters
    matches = {row.cluster: row.matched for row in rows}
    assert None in matches.values() or set(matches.values()) == {"a", "b"}
    for row in rows:
        assert (row.matched is None) == (row.precision == 0)


def test_confusion_counts_classes_by_clusters(evaluation):
    frame = evaluation.confusion_frame()
    assert frame.loc["a"].to_dict() == {5: 2, 7: 1, 9: 0}
    assert frame.loc["b"].to_dict() == {5: 0, 7: 3, 9: 2}
    with pytest.raises(ValueError, match="read-only"):
        evaluation.confusion[0, 0] = 3


def test_scores_are_those_of_the_metrics(evaluation):
    assert evaluation.scores == score(TRUE, PRED)


def test_labelled_result_is_ready_for_json(evaluation):
    values = evaluation.as_dict()
    assert json.loads(json.dumps(values)) == values
    assert set(values) == {"scores", "clusters", "classes", "confusion"}
    numbers = evaluate_with_labels(np.array([1, 1, 2]), np.array([0, 0, 1])).as_dict()
    assert json.loads(json.dumps(numbers)) == numbers


def test_labels_that_do_not_pair_up_are_refused():
    with pytest.raises(ValueError, match="labels_true"):
        evaluate_with_labels(TRUE, PRED[1:])


def test_stability_is_over_all_pairs():
    same, other = [0, 0, 1, 1], [0, 0, 1, 2]
    found = stability([same, [1, 1, 0, 0], other])
    assert found.mean == pytest.approx((1 + 4 / 7 + 4 / 7) / 3)
    assert found.lowest == pytest.approx(4 / 7)
    assert found.frame().to_numpy() == pytest.approx(
        np.array([[1, 1, 4 / 7], [1, 1, 4 / 7], [4 / 7, 4 / 7, 1]])
    )
    assert json.loads(json.dumps(found.as_dict()))["lowest"] == pytest.approx(4 / 7)


def test_stability_needs_two_labelings_of_the_same_texts():
    with pytest.raises(ValueError, match="at least two"):
        stability([[0, 1]])
    with pytest.raises(ValueError, match="shape"):
        stability([[0, 1], [0, 1, 1]])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 5)) + 3 * np.eye(5)[np.arange(60) % 3]


def test_silhouette_is_that_of_scikit_learn(rows):
    labels = np.arange(60) % 3
    expected = silhouette_score(rows, labels, metric="cosine")
    assert silhouette(rows, labels) == pytest.approx(expected)
    sampled = silhouette(rows, labels, max_samples=30)
    assert sampled == silhouette(rows, labels, max_samples=30)
    assert sampled != expected
    assert sampled != silhouette(rows, labels, max_samples=30, random_state=1)


@pytest.mark.parametrize("labels", [np.zeros(60, int), np.arange(60)])
def test_silhouette_without_meaning_is_nan(rows, labels):
    assert np.isnan(silhouette(rows, labels))


def test_silhouette_refuses_bad_rows(rows):
    with pytest.raises(ValueError, match="for each text"):
        silhouette(rows, [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        silhouette(np.full((4, 2), np.nan), [0, 0, 1, 1])


def test_without_labels_only_what_was_asked_for_is_measured(rows):
    labels = np.arange(60) % 3
    bare = evaluate_without_labels(labels)
    assert bare.silhouette is bare.stability is bare.mean_confidence is None
    assert bare.n_clusters_used == 3
    assert bare.largest_share == bare.smallest_share == pytest.approx(1 / 3)
    full = evaluate_without_labels(
        labels, embeddings=rows, confidence=np.full(60, 0.75), labelings=[2 - labels]
    )
    assert full.silhouette == pytest.approx(silhouette(rows, labels))
    assert full.mean_confidence == pytest.approx(0.75)
    assert full.stability is not None
    assert full.stability.mean == 1.0
    assert json.loads(json.dumps(full.as_dict()))["stability"]["pairs"] == [[1, 1], [1, 1]]
    frame = full.frame().set_index("measure")["value"]
    assert frame["stability"] == 1.0
    assert frame["n_clusters_used"] == 3


def test_uneven_clusters_have_uneven_shares():
    found = evaluate_without_labels([0, 0, 0, 4])
    assert (found.largest_share, found.smallest_share) == (0.75, 0.25)


@pytest.mark.parametrize("confidence", [[0.5], [0.5, 1.5], [0.5, -0.1], [0.5, np.nan]])
def test_confidence_is_a_probability_for_each_text(confidence):
    with pytest.raises(ValueError, match="confidence"):
        evaluate_without_labels([0, 1], confidence=confidence)


def texts_of(picture):
    return [node.text for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_picture_shows_names_and_counts_with_matched_clusters_on_the_diagonal():
    true, pred = ["a"] * 3 + ["b"] * 4 + ["a"], [8, 8, 8, 2, 2, 2, 2, 5]
    picture = evaluate_with_labels(true, pred).svg()
    assert texts_of(picture) == ["a", "b", "8", "2", "5", "3", "1", "4"]


def test_a_cell_is_as_dark_as_its_share_of_the_class():
    picture = confusion_svg(np.array([[1, 3], [0, 2]]), ["a", "b"], ["0", "1"])
    cells = [n for n in ElementTree.fromstring(picture).iter(f"{SVG}rect") if n.get("fill-opacity")]
    assert [float(n.get("fill-opacity")) for n in cells] == pytest.approx([0.295, 0.765, 1.0])


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><b onload="x">', "&amp; ]]>", "\x00\x1b", "\ud800", ""]
)
def test_no_name_breaks_the_picture(name):
    picture = confusion_svg(np.array([[1]]), [name], [name])
    picture.encode()
    tags = {node.tag.removeprefix(SVG) for node in ElementTree.fromstring(picture).iter()}
    assert tags == {"svg", "title", "text", "rect"}
    assert "<script" not in picture


def test_long_names_are_cut_with_the_whole_as_a_tip():
    picture = confusion_svg(np.array([[1]]), ["x" * 100], ["0"])
    assert texts_of(picture)[0] == "x" * 27 + "…"
    assert "x" * 100 in picture


def test_a_large_matrix_has_no_numbers_and_stays_light():
    counts = np.eye(150, dtype=np.int64)
    names = [str(i) for i in range(150)]
    picture = confusion_svg(counts, names, names)
    assert len(texts_of(picture)) == 300
    assert len(picture) < 100_000


def test_picture_refuses_names_that_do_not_fit():
    with pytest.raises(ValueError, match="a row for each class"):
        confusion_svg(np.ones((2, 2), dtype=np.int64), ["a"], ["0", "1"])
