"""Cells that a spreadsheet does not run, and values as texts."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from caot.io.cells import as_text, cell_text, harmless, python_values, quoted
from caot.texts import whole_text


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        '=HYPERLINK("http://x","y")',
        "+cmd|' /C calc'!A0",
        "-1+1",
        "-2-3",
        "@SUM(A1)",
        "\t=1",
        "\tplain",
        "\rplain",
        "\nplain",
        "\x00=1",
        "\ufeff=1",
        "＝1+1",
        "＋1",
        "－x",
        "＠x",
        "-",
        "+",
        "-5 apples",
        "+1 555 0100",
        "-1e",
        "-\u0663",
    ],
)
def test_formulas_get_an_apostrophe(cell):
    assert harmless(cell) == f"'{cell}"
    assert cell_text(cell, raw=False) == f"'{cell}"
    assert cell_text(cell, raw=True) == cell


@pytest.mark.parametrize(
    "cell",
    ["", "a", "a=b", " - item", "'=1", "-5", "+3.2", "-.5", "-1,000.50", "-1e-5", "-12%", "1=1"],
)
def test_other_cells_and_numbers_stay(cell):
    assert harmless(cell) == cell


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (np.float32("nan"), ""),
        (pd.NA, ""),
        (pd.NaT, ""),
        ("NA", "NA"),
        (5, "5"),
        (-0.5, "-0.5"),
        (True, "True"),
        (float("-inf"), "-inf"),
        (Decimal("1.10"), "1.10"),
        (b"caf\xc3\xa9", "café"),
        (b"\xff", "/w=="),
        ([1, {"a": "é"}], '[1, {"a": "é"}]'),
        ({"a": [float("nan"), None]}, '{"a": [null, null]}'),
        (np.array([1, 2]), "[1, 2]"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (pd.Timestamp("2026-01-31 12:00"), "2026-01-31T12:00:00"),
    ],
)
def test_values_as_texts(value, text):
    assert as_text(value) == text
    assert cell_text(value, raw=False) == text


def test_lone_surrogates_are_replaced():
    assert whole_text("a\ud800b\udfff😀") == "a\ufffdb\ufffd😀"


def test_single_precision_keeps_its_short_decimals():
    assert python_values(pd.Series([0.9, 0.1], dtype="float32")) == [0.9, 0.1]


@pytest.mark.parametrize("cell", ["a", "", "it's", "a b"])
def test_plain_cells_have_no_quotes(cell):
    assert quoted(cell) == cell


def test_other_cells_are_quoted():
    assert quoted('say "a"') == '"say ""a"""'
    for special in [",", ";", "|", "\t", "\r", "\n"]:
        assert quoted(f"a{special}b") == f'"a{special}b"'
    assert quoted("\ufeffa") == '"\ufeffa"'
