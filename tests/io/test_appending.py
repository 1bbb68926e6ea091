"""Chunks that differ from those before them."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caot.io import TableError, TableWriter


def column(*values):
    return pd.DataFrame({"v": pd.Series(values, dtype=object)})


def appended(path, *frames):
    with TableWriter(path) as writer:
        for frame in frames:
            writer.write(frame)
    assert list(path.parent.iterdir()) == [path]
    return pq.read_table(path) if path.suffix == ".parquet" else path.read_text(encoding="utf-8")


def test_columns_are_matched_by_name(tmp_path):
    first = pd.DataFrame({"a": ["1"], "b": ["2"]})
    text = appended(tmp_path / "t.csv", first, pd.DataFrame({"b": ["4"]}), first[["b", "a"]])
    assert text == "a,b\n1,2\n,4\n1,2\n"


def test_csv_has_no_place_for_later_columns(tmp_path):
    with pytest.raises(TableError, match=r"bring the new columns b, .*: write JSONL, or read from"):
        appended(tmp_path / "t.csv", pd.DataFrame({"a": ["1"]}), pd.DataFrame({"b": ["2"]}))
    assert not list(tmp_path.iterdir())


def test_jsonl_takes_all(tmp_path):
    text = appended(tmp_path / "t.jsonl", pd.DataFrame({"a": [1]}), pd.DataFrame({"b": ["x"]}))
    assert text == '{"a": 1}\n{"b": "x"}\n'


@pytest.mark.parametrize(
    ("chunks", "values", "kind"),
    [
        ([[None], ["a"], ["b"]], [None, "a", "b"], pa.string()),
        ([[1], [2.5], [3]], [1.0, 2.5, 3.0], pa.float64()),
        ([[{"a": 1}], [{"b": "x"}]], [{"a": 1, "b": None}, {"a": None, "b": "x"}], None),
        ([[[None, None]], [[1]]], [[None, None], [1]], pa.list_(pa.int64())),
        ([[1, None], ["a"], [2]], ["1", None, '"a"', "2"], pa.string()),
        ([["a"], [1, "b"], ["c"]], ['"a"', "1", '"b"', '"c"'], pa.string()),
        ([[{}], [{"a": 1}]], ["{}", '{"a": 1}'], pa.string()),
        ([[2**70], [1]], [str(2**70), "1"], pa.string()),
        (
            [[1], [None], ["a"], [{"x": 1}], [None]],
            ["1", None, '"a"', '{"x": 1}', None],
            pa.string(),
        ),
    ],
)
def test_parquet_widens(tmp_path, chunks, values, kind):
    table = appended(tmp_path / "t.parquet", *[column(*chunk) for chunk in chunks])
    assert table["v"].to_pylist() == values
    assert kind is None or table.schema.field("v").type == kind


def test_parquet_takes_new_columns_more_than_once(tmp_path):
    frames = [pd.DataFrame({name: [row]}) for row, name in enumerate("abc")]
    table = appended(tmp_path / "t.parquet", *frames)
    assert table.to_pylist() == [
        {"a": 0, "b": None, "c": None},
        {"a": None, "b": 1, "c": None},
        {"a": None, "b": None, "c": 2},
    ]


def test_json_in_parquet_is_told(tmp_path, caplog):
    appended(tmp_path / "t.parquet", column(1), column("a"), column("b"))
    assert caplog.text.count("the values of v have no type in common") == 1


def widen_and_fail(writer):
    writer.write(column(None))
    writer.write(column("a"))
    msg = "my own"
    raise ValueError(msg)


def test_a_failure_while_parquet_widens_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="my own"), TableWriter(tmp_path / "t.parquet") as writer:
        widen_and_fail(writer)
    assert not list(tmp_path.iterdir())


def test_numbers_too_large_for_their_later_type(tmp_path):
    with pytest.raises(TableError, match=r"cannot be Parquet .*: write JSONL instead"):
        appended(tmp_path / "t.parquet", column(2**60 + 1), column(0.5))
