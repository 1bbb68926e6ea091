"""Names of columns, and our columns beside the user's."""

import numpy as np
import pandas as pd
import pytest

from caot.io import add_columns, added_names
from caot.io.names import last_word, plain_name, unique_names


@pytest.mark.parametrize(
    ("names", "unique"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a", "a", "a_2"], ["a", "a_3", "a_2"]),
        (["", ""], ["", "_2"]),
        (["A", "a"], ["A", "a"]),
    ],
)
def test_repeated_names_are_numbered(names, unique):
    assert unique_names(names) == unique


def test_words_of_names():
    assert plain_name("  Text ") == "text"
    assert last_word("Ticket Subject") == last_word("ticket_subject") == "subject"


def test_our_names_give_way():
    assert added_names(["id"], ["cluster"]) == {"cluster": "cluster"}
    assert added_names(["cluster"], ["cluster", "label"]) == {
        "cluster": "cluster_caot",
        "label": "label",
    }
    assert added_names(["a", "a_caot"], ["a"]) == {"a": "a_caot_2"}
    assert added_names(["a"], ["a", "a_caot"]) == {"a": "a_caot_2", "a_caot": "a_caot"}


def test_columns_are_added_row_by_row():
    frame = pd.DataFrame({"cluster": ["mine", "yours"], "text": ["a", "b"]}, index=[7, 3])
    ours = {
        "cluster": np.array([1, 0]),
        "label": pd.Series(["x", "y"], index=[3, 7]),
        "confidence": pd.Series([0.5, 0.25], dtype="float32"),
    }
    result = add_columns(frame, ours)
    assert list(result.columns) == ["cluster", "text", "cluster_caot", "label", "confidence"]
    assert result["cluster"].tolist() == ["mine", "yours"]
    assert result["cluster_caot"].tolist() == [1, 0]
    assert result["label"].tolist() == ["x", "y"]
    assert result["confidence"].dtype == np.float32
    assert result.index.tolist() == [7, 3]
    assert list(frame.columns) == ["cluster", "text"]


def test_a_frame_of_columns_is_added():
    result = add_columns(pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [3, 4]}, index=[5, 6]))
    assert result.to_dict("list") == {"a": [1, 2], "a_caot": [3, 4]}


def test_names_with_surrogates_stay():
    frame = pd.DataFrame([["x"]], dtype=object).set_axis(pd.Index(["\ud800"], dtype=object), axis=1)
    assert list(add_columns(frame, {"cluster": [1]}).columns) == ["\ud800", "cluster"]


def test_columns_of_another_length_are_refused():
    with pytest.raises(ValueError, match="'cluster' has 1 rows, the table 2"):
        add_columns(pd.DataFrame({"a": [1, 2]}), {"cluster": [1]})
