"""What users pass as X."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from caot.inputs import read_inputs
from caot.texts import as_texts, empty_rows, is_vectors, reject_empty

TEXTS = ["one text", "another", ""]


@pytest.mark.parametrize(
    "inputs",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS, index=[7, 8, 9]),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype="category"),
        pd.Index(TEXTS),
    ],
)
def test_texts_come_in_any_container(inputs):
    texts = as_texts(inputs)
    assert texts == TEXTS
    assert [type(text) for text in texts] == [str] * 3


def test_texts_come_from_a_generator():
    assert as_texts(text for text in TEXTS) == TEXTS
    assert as_texts([]) == []


@pytest.mark.parametrize("inputs", ["a text", b"a text"])
def test_a_single_text_is_refused(inputs):
    with pytest.raises(TypeError, match=r"single text: pass a list of texts, \[text\]"):
        as_texts(inputs)


def test_a_table_is_refused_with_its_columns():
    table = pd.DataFrame({"title": TEXTS, "body": TEXTS, 3: TEXTS})
    with pytest.raises(TypeError, match="columns title, body, 3: pass one of them"):
        as_texts(table)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), ()])
def test_arrays_that_are_no_vectors_of_texts_are_refused(shape):
    array = np.full(shape, "text")
    with pytest.raises(ValueError, match="pass a vector of texts, or a matrix") as error:
        as_texts(array)
    assert str(shape) in str(error.value)


def test_what_has_no_rows_is_refused():
    with pytest.raises(TypeError, match="X is a int: pass a list of texts"):
        as_texts(3)


@pytest.mark.parametrize(
    ("inputs", "kind", "rows"),
    [
        (["a", None, "b", None], "NoneType", "1, 3"),
        (["a", float("nan")], "float", "1"),
        ([b"a", "b"], "bytes", "0"),
        (pd.Series(["a", None], index=[5, 6], dtype=object), "NoneType", "1"),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), "NAType", "1"),
        (np.array([1.5, 2.5]), "float64", "0, 1"),
        ([["a"], "b"], "list", "0"),
    ],
)
def test_rows_that_are_no_texts_are_listed(inputs, kind, rows):
    with pytest.raises(
        TypeError, match=rf"such as a {kind}, in rows {rows}: (convert them|vectors are)"
    ):
        as_texts(inputs)


def test_many_rows_are_not_all_listed():
    with pytest.raises(TypeError, match="in rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more: "):
        as_texts([None] * 13)
    with pytest.raises(TypeError, match="in rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9: "):
        as_texts([None] * 10)


@pytest.mark.parametrize(
    "inputs",
    [
        np.zeros((3, 2)),
        np.zeros((3, 2), dtype=np.int8),
        pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        pd.DataFrame({"a": [1, 2]}, dtype="Int64"),
        torch.zeros(3, 2),
        sparse.csr_array(np.eye(3)),
    ],
)
def test_tables_of_numbers_are_vectors(inputs):
    assert is_vectors(inputs)


@pytest.mark.parametrize(
    "inputs",
    [
        TEXTS,
        "text",
        None,
        [[1.0, 2.0]],
        np.zeros(3),
        np.zeros((2, 2, 2)),
        np.array([TEXTS]),
        np.array([TEXTS], dtype=object),
        pd.Series([1.0, 2.0]),
        pd.DataFrame({"a": [1, 2], "text": ["a", "b"]}),
        pd.DataFrame(index=[0, 1]),
    ],
)
def test_other_inputs_are_no_vectors(inputs):
    assert not is_vectors(inputs)


def test_empty_texts_are_found():
    empty = empty_rows(["a", "", " \t\n", "\u00a0", "."])
    assert empty.dtype == np.bool_
    assert empty.tolist() == [False, True, True, True, False]
    assert empty_rows([]).shape == (0,)


def test_empty_texts_are_listed():
    empty = np.zeros(20, dtype=bool)
    reject_empty(empty)
    empty[[2, 5]] = True
    with pytest.raises(ValueError, match=r"2 text\(s\) are empty, in rows 2, 5: .*'own-cluster'"):
        reject_empty(empty)
    empty[:13] = True
    with pytest.raises(ValueError, match=r"13 text.* 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more: "):
        reject_empty(empty)


def test_lone_surrogates_are_replaced():
    assert as_texts(["a \ud83d b", "c"]) == ["a \ufffd b", "c"]


@pytest.mark.parametrize(
    "tensor", [torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, dtype=torch.bfloat16)]
)
def test_tensors_of_any_kind_are_vectors(tensor):
    inputs = read_inputs(tensor, on_empty="error")
    assert inputs.values.tolist() == [[1.0] * 3] * 2
