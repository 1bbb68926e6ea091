"""Odd texts and tables go through each format: rows in are rows out, in order."""

import json
import tempfile
from pathlib import Path

import hypothesis
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caot.io import TableWriter, iter_tables, write_table
from caot.io.cells import harmless
from caot.io.names import unique_names
from caot.texts import whole_text
from tests.io.odd_texts import ODD, frames, json_values, records

FEW = hypothesis.settings(max_examples=15)


def through(frame: pd.DataFrame, extension: str, *, raw: bool, chunk_rows: int) -> pd.DataFrame:
    """Write a table in two chunks and read it again in several."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{extension}"
        with TableWriter(path, raw=raw) as writer:
            writer.write(frame.iloc[:1])
            writer.write(frame.iloc[1:])
        column = as_written(frame.columns, extension, raw=raw)[0]
        tables = list(iter_tables(path, text=column, chunk_rows=chunk_rows))
    parts = [table.frame for table in tables]
    assert [len(part) for part in parts[:-1]] == [chunk_rows] * (len(parts) - 1)
    texts = [text for table in tables for text in table.texts]
    whole = pd.concat(parts, ignore_index=True)
    assert texts == [whole_text(text) for text in whole.iloc[:, 0]]
    return whole


def as_written(values, extension: str, *, raw: bool) -> list[str]:
    """Return the names that a format gives to columns."""
    return unique_names(kept(name, extension, raw=raw) for name in unique_names(values))


def kept(text: str, extension: str, *, raw: bool) -> str:
    """Return what a format keeps of a text."""
    if "jsonl" in extension:  # JSON cannot tell two halves of a pair from the pair
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if "parquet" in extension:
        return whole_text(text)
    return whole_text(text if raw else harmless(text))


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz"])
@pytest.mark.parametrize("raw", [False, True])
@given(frame=frames(), chunk_rows=st.integers(1, 6))
@FEW
def test_odd_texts_round_trip(extension, raw, frame, chunk_rows):
    read = through(frame, extension, raw=raw, chunk_rows=chunk_rows)
    assert list(read.columns) == as_written(frame.columns, extension, raw=raw)
    expected = [[kept(cell, extension, raw=raw) for cell in row] for row in frame.to_numpy()]
    assert read.to_numpy().tolist() == expected


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("n_columns", [1, 200])
def test_few_and_many_columns_round_trip(extension, n_columns):
    cells = [text for text in ODD if len(text) < 100]
    columns = {f"c{i}": cells[i % 7 :] + cells[: i % 7] for i in range(n_columns)}
    frame = pd.DataFrame(columns, dtype=object)
    read = through(frame, extension, raw=True, chunk_rows=4)
    expected = [[kept(cell, extension, raw=True) for cell in row] for row in frame.to_numpy()]
    assert read.to_numpy().tolist() == expected
    assert list(read.columns) == list(columns)


@given(rows=records)
@FEW
def test_jsonl_keeps_every_value_and_absence(rows):
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "table.jsonl", Path(folder) / "copy.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        with TableWriter(copy) as writer:
            for table in iter_tables(path, text=next(iter(rows[0])), chunk_rows=2):
                writer.write(table.frame)
        written = [json.loads(line) for line in copy.read_text(encoding="utf-8").split("\n")[:-1]]
    assert written == rows
    assert repr(written) == repr([dict(sorted(row.items(), key=_order(rows))) for row in rows])


def _order(rows):
    """Return the order of keys in the whole table, which every row gets."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return lambda item: keys.index(item[0])


@pytest.mark.parametrize("extension", [".csv", ".parquet"])
@given(rows=records)
@FEW
def test_any_json_goes_to_other_formats(extension, rows):
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "table.jsonl", Path(folder) / f"copy{extension}"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        column = next(iter(rows[0]))
        with TableWriter(copy) as writer:
            for table in iter_tables(path, text=column, chunk_rows=1):
                writer.write(table.frame)
        (read,) = iter_tables(copy, text=column, chunk_rows=10)
    assert len(read) == len(rows)
    assert set(read.frame.columns) == {key for row in rows for key in row}


@given(values=st.lists(json_values, min_size=1, max_size=5))
@FEW
def test_parquet_keeps_arrow_values(values):
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.parquet", Path(folder) / "second.parquet"
        write_table(pd.DataFrame({"v": pd.Series(values, dtype=object), "text": "a text"}), first)
        (read,) = iter_tables(first, text="text")
        write_table(read.frame, second)
        (again,) = iter_tables(second, text="text")
    assert again.frame.dtypes.equals(read.frame.dtypes)
    assert again.frame.equals(read.frame)
