import numpy as np
import pandas as pd
import pytest

from caot.augment import Custom, TextViews, Views


@pytest.mark.parametrize("column", [list, tuple, pd.Series, lambda rows: np.array(rows, object)])
def test_given_views_come_back_row_by_row(column):
    views = Views(column(["a1", "a1b", ""]), column(["a2", "a2b", ""]))
    assert views(["a", "a", ""]) == TextViews(["a1", "a1b", ""], ["a2", "a2b", ""])


def test_given_views_do_not_follow_later_changes():
    column = ["a"]
    views = Views(column, column)
    column[0] = "b"
    assert views(["x"]).first == ["a"]


def test_views_of_different_lengths_are_refused_when_made():
    with pytest.raises(ValueError, match="first view has 2 texts and the second 1"):
        Views(["a", "b"], ["a"])


def test_views_for_another_number_of_texts_are_refused():
    with pytest.raises(ValueError, match="2 rows but there are 1 texts"):
        Views(["a", "b"], ["a", "b"])(["text"])


def test_the_first_empty_view_is_named():
    with pytest.raises(ValueError, match="view 2 of row 1 is empty"):
        Views(["a", "b", ""], ["a", " ", ""])(["x", "y", "z"])


def test_missing_values_and_lone_strings_are_named():
    with pytest.raises(TypeError, match="row 1 of view 2 is of type float"):
        Views(["a", "b"], ["a", float("nan")])
    with pytest.raises(TypeError, match="second must be a column"):
        Views(["a"], "a")


def upper_and_lower(texts):
    return [text.upper() for text in texts], (text.lower() for text in texts)


def test_a_function_gets_the_distinct_texts():
    calls = []

    def spy(texts):
        calls.append(texts)
        return upper_and_lower(texts)

    views = Custom(spy)(["Ab", "", "Ab", "c"])
    assert calls == [["Ab", "c"]]
    assert views == TextViews(["AB", "", "AB", "C"], ["ab", "", "ab", "c"])


def test_a_function_is_shown_by_its_name():
    assert Custom(upper_and_lower).name == "custom:upper_and_lower"

    class Paraphraser:
        def __call__(self, texts):
            return texts, texts

    assert Custom(Paraphraser()).name == "custom:Paraphraser"


@pytest.mark.parametrize("texts", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_one_list_in_place_of_two_is_explained(texts):
    with pytest.raises(ValueError, match="returned one list of texts; an augmenter returns two"):
        Custom(list)(texts)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda texts: None, TypeError, "returned NoneType"),
        (lambda texts: "text", TypeError, "returned str"),
        (lambda texts: (texts, texts, texts), ValueError, "returned 3 views"),
        (lambda texts: (texts, texts[:1]), ValueError, "views of 2 and 1"),
        (lambda texts: (texts, [1, 2]), TypeError, "Row 0 is of type int"),
    ],
)
def test_wrong_results_are_explained(function, error, message):
    with pytest.raises(error, match=message):
        Custom(function)(["a", "b"])


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="needs a callable"):
        Custom(["a"])
