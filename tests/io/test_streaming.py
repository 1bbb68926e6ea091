"""Tables of any size, in chunks, in order, in constant memory."""

import csv
import json
import tracemalloc

import pandas as pd
import pyarrow as pa
import pytest

from caot.io import TableError, TableWriter, iter_tables, read_table, write_table

FORMATS = [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".txt"]


def write_rows(path, n_rows):
    texts = [f"text {row} of the table" for row in range(n_rows)]
    if path.suffix == ".txt":
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    else:
        write_table(pd.DataFrame({"id": range(n_rows), "text": texts}), path)
    return texts


@pytest.mark.parametrize("extension", FORMATS)
def test_chunks_are_the_table(tmp_path, extension):
    path = tmp_path / f"t{extension}"
    texts = write_rows(path, 25)
    tables = list(iter_tables(path, text="text", chunk_rows=10))
    assert [len(table) for table in tables] == [10, 10, 5]
    assert [text for table in tables for text in table.texts] == texts
    assert [table.frame.index[0] for table in tables] == [0, 0, 0]
    whole = read_table(path)
    together = pd.concat([table.frame for table in tables], ignore_index=True)
    assert together.equals(whole.frame)
    assert whole.texts == tuple(texts)


@pytest.mark.parametrize("extension", FORMATS)
def test_memory_does_not_grow_with_the_table(tmp_path, extension):
    path, copy = tmp_path / f"t{extension}", tmp_path / "copy.csv"
    long = pd.DataFrame({"text": ["many words " * 1_000] * 20})
    if extension == ".txt":
        path.write_text("".join(f"{text}\n" for text in long["text"]) * 60, encoding="utf-8")
    else:
        with TableWriter(path) as writer:
            for _ in range(60):
                writer.write(long)
    n_rows, arrow_peak = 0, 0
    tracemalloc.start()
    with TableWriter(copy) as writer:
        for table in iter_tables(path, text="text", chunk_rows=20):
            writer.write(table.frame)
            n_rows += len(table)
            arrow_peak = max(arrow_peak, pa.total_allocated_bytes())
    peak = tracemalloc.get_traced_memory()[1] + arrow_peak
    tracemalloc.stop()
    assert n_rows == 1_200
    assert copy.stat().st_size > 13_000_000
    assert peak < 6_000_000


def test_errors_of_the_start_come_before_any_work(tmp_path):
    path = tmp_path / "t.csv"
    write_rows(path, 5)
    with pytest.raises(TableError, match="no column 'txet': did you mean 'text'"):
        iter_tables(path, text="txet")


def test_errors_further_on_come_with_their_chunk(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,text\n1,a\n2,b\n3,c,d\n", encoding="utf-8")
    tables = iter_tables(path, text="text", chunk_rows=2)
    assert next(tables).texts == ("a", "b")
    with pytest.raises(TableError, match="line 4"):
        next(tables)


def test_the_first_chunk_decides_the_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nmany words here,x\nx,many more words here\n", encoding="utf-8")
    assert [table.texts for table in iter_tables(path, chunk_rows=1)] == [
        ("many words here",),
        ("x",),
    ]


def test_few_numbers_and_empty_texts_are_no_error_in_a_stream(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,text\n1,42\n2,\n", encoding="utf-8")
    assert [table.texts for table in iter_tables(path, text="text")] == [("42", "")]


def test_many_numbers_are_an_error_in_a_stream(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,text\n" + "1,42\n" * 200, encoding="utf-8")
    with pytest.raises(TableError, match="'text' holds no texts but numbers"):
        iter_tables(path, text="text")


def test_every_chunk_of_a_jsonl_file_has_all_columns(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [{"text": "a b"}, {"text": "c d"}, {"text": "e f", "late": 1}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    tables = list(iter_tables(path, chunk_rows=1))
    assert [list(table.frame.columns) for table in tables] == [["text", "late"]] * 3
    write_table(pd.concat([table.frame for table in tables]), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").endswith("c d,\ne f,1\n")


def test_a_malformed_line_far_on_in_jsonl_comes_before_any_work(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a b"}\n' * 10 + "{\n", encoding="utf-8")
    with pytest.raises(TableError, match="line 11"):
        iter_tables(path, chunk_rows=1)


def test_the_limit_of_the_csv_module_is_left_alone(tmp_path):
    path = tmp_path / "t.csv"
    write_rows(path, 5)
    limit = csv.field_size_limit()
    tables = iter_tables(path, chunk_rows=1)
    next(tables)
    assert csv.field_size_limit() == limit
