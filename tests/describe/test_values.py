"""Descriptions are values: what changes is another one."""

from caot.describe import describe


def test_labels_are_given_by_id_and_others_stay():
    vectors = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]
    texts = ["red car", "blue car", "old door", "new door"]
    before = describe(texts, [2, 2, 7, 7], None, vectors)
    after = before.with_labels({7: "Doors", 9: "Nothing"})
    assert after.labels == {2: before.labels[2], 7: "Doors"}
    assert before.labels[7] != "Doors"
    assert after.with_labels(before.labels) == before
