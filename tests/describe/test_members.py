import numpy as np

from caot.describe.members import (
    choose_doubtful,
    choose_examples,
    cluster_means,
    margins,
    nearest_clusters,
)


def test_means():
    vectors = np.array([[1.0, 0], [3, 0], [0, 5]])
    means = cluster_means(vectors, np.array([0, 0, 1]), 2)
    np.testing.assert_allclose(means, [[2, 0], [0, 5]])


def test_nearest_are_ordered_by_cosine_and_leave_out_the_cluster_itself():
    means = np.array([[1.0, 0], [1, 1], [0, 1]])
    nearest = nearest_clusters(means, [3, 5, 9], 2)
    assert [cluster for cluster, _ in nearest[0]] == [5, 9]
    np.testing.assert_allclose([cosine for _, cosine in nearest[0]], [np.sqrt(0.5), 0])
    assert nearest_clusters(means[:1], [3], 2) == [()]


def examples(texts, vectors, n_examples):
    codes = np.zeros(len(texts), dtype=np.int64)
    means = cluster_means(vectors, codes, 1)
    return choose_examples(texts, vectors, codes, means, n_examples)[0]


def test_the_first_example_is_the_nearest_to_the_centre():
    angles = np.array([-0.5, -0.1, 0.02, 0.6])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    assert examples(list("abcd"), vectors, 1) == (2,)


def test_examples_differ():
    # Two near the centre that say the same, and one a little farther off that does not.
    vectors = np.array([[1, 0.1, 0], [1, 0.1, 0.001], [1, -0.8, 0.6], [1, 0.1, -0.6]])
    chosen = examples(["a", "b", "c", "d"], vectors, 2)
    assert set(chosen) & {0, 1}
    assert not {0, 1} <= set(chosen)


def test_examples_are_never_repeats_nor_empty():
    texts = ["Hello  world", "hello world", " HELLO WORLD ", "", "  ", "bye"]
    vectors = np.ones((6, 2))
    assert [texts[row] for row in examples(texts, vectors, 5)] == ["Hello  world", "bye"]


def test_margins_and_doubtful_texts():
    probabilities = np.array([[0.6, 0.4, 0], [0.9, 0.1, 0], [0.45, 0.55, 0], [0.1, 0.2, 0.7]])
    labels = np.array([0, 0, 0, 2])
    found = margins(probabilities, labels)
    np.testing.assert_allclose(found, [0.2, 0.8, -0.1, 0.5])
    chosen = choose_doubtful(list("abcd"), found, np.array([0, 0, 0, 1]), 2, 2)
    assert chosen == [(2, 0), (3,)]
    assert probabilities[0, 0] == 0.6
