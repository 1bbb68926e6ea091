"""Tables from files and stdin, every value as it is."""

import gzip
import io
import json
import os
import threading

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caot.io import TableError, iter_tables, read_table
from caot.io.formats import TableFormat, guess_format

CSV = 'id,text,n\n001,"a ""b"", c",1.50\nNA,"two\r\nlines",\n'
ROWS = [["001", 'a "b", c', "1.50"], ["NA", "two\r\nlines", ""]]


def gzipped(content: str) -> bytes:
    # Without a time: parametrized names must be the same in every worker.
    return gzip.compress(content.encode(), mtime=0)


@pytest.fixture
def stdin(monkeypatch):
    def feed(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return feed


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV.encode()),
        ("T.CSV", CSV.encode()),
        ("t.csv", b"\xef\xbb\xbf" + CSV.encode()),
        ("t.csv", b"\r\n" + CSV.encode() + b"\n \n"),
        ("t.csv", CSV.replace(",1", ";1").replace(",n", ";n").replace("1,", "1;").encode()),
        ("t.csv.gz", gzipped(CSV)),
        ("t.csv", gzipped(CSV[:20]) + gzipped(CSV[20:])),
        ("t.tsv", CSV.replace(",", "\t").replace("\t c", ", c").encode()),
    ],
)
def test_cells_are_the_strings_that_they_are(tmp_path, name, content):
    if b";" in content:
        content = content.replace(b"id,", b"id;").replace(b"NA,", b"NA;").replace(b'",\n', b'";\n')
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    assert table.frame.columns.tolist() == ["id", "text", "n"]
    assert table.frame.to_numpy().tolist() == ROWS
    assert table.texts == (ROWS[0][1], ROWS[1][1])
    assert table.source == str(tmp_path / name)
    assert len(table) == 2


def test_old_line_ends(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"id,text\r1,a b\r2,c d\r")
    assert read_table(tmp_path / "t.csv").texts == ("a b", "c d")


def test_plain_tsv_has_no_quoting(tmp_path):
    (tmp_path / "t.tsv").write_text('id\ttext\n1\t"a" b\n2\t"c\n', encoding="utf-8")
    assert read_table(tmp_path / "t.tsv", format="tsv-plain").texts == ('"a" b', '"c')


def test_blank_lines_are_rows_only_inside_one_column(tmp_path):
    (tmp_path / "one.csv").write_text('text\n\na b\n""\n\n c\n\n\n', encoding="utf-8")
    assert read_table(tmp_path / "one.csv").texts == ("", "a b", "", "", " c")
    (tmp_path / "two.csv").write_text("id,text\n\n1,a b\n\n,\n\n", encoding="utf-8")
    assert read_table(tmp_path / "two.csv").texts == ("a b", "")


@pytest.mark.parametrize("blank", ["\n", "\r\n", "\n\n"])
def test_blank_lines_before_the_header_do_not_hide_the_separator(tmp_path, blank):
    (tmp_path / "t.csv").write_text(f"{blank}text;label\nhello you;1\n", encoding="utf-8")
    table = read_table(tmp_path / "t.csv")
    assert table.frame.columns.tolist() == ["text", "label"]
    assert table.texts == ("hello you",)


def test_repeated_names_are_numbered_and_logged(tmp_path, caplog):
    (tmp_path / "t.csv").write_text("a,a,\n1,x y,z\n", encoding="utf-8")
    assert list(read_table(tmp_path / "t.csv").frame.columns) == ["a", "a_2", ""]
    assert "names columns twice" in caplog.text


def test_very_long_cells(tmp_path):
    long = "word " * 100_000
    (tmp_path / "t.csv").write_text(f"id,text\n1,{long}\n", encoding="utf-8")
    assert read_table(tmp_path / "t.csv").texts == (long,)


def test_other_encodings(tmp_path):
    for encoding in ["utf-16", "utf-16-le", "cp1252", "latin-1", "utf-8-sig"]:
        (tmp_path / "t.csv").write_bytes("id,text\n1,café\n".encode(encoding))
        assert read_table(tmp_path / "t.csv", encoding=encoding).texts == ("café",)


def test_plain_text_has_a_row_for_every_line(tmp_path):
    (tmp_path / "t.txt").write_bytes("\ufeffa, b\r\n\n\u2028c\x85\n d".encode())
    table = read_table(tmp_path / "t.txt")
    assert table.texts == ("a, b", "", "\u2028c\x85", " d")
    assert list(table.frame.columns) == ["text"]


def test_jsonl_keeps_values(tmp_path):
    rows = [
        {"text": "a", "v": {"x": [1, None]}},
        {"v": 10**30, "text": "b"},
        {"text": "c", "w": 1.0},
    ]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "t.jsonl").write_text("\n\n".join(lines), encoding="utf-8")
    frame = read_table(tmp_path / "t.jsonl").frame
    assert list(frame.columns) == ["text", "v", "w"]
    assert frame["v"].tolist() == [{"x": [1, None]}, 10**30, pd.NA]
    assert repr(frame["w"].tolist()) == "[<NA>, <NA>, 1.0]"


def test_parquet_keeps_types(tmp_path):
    table = pa.table(
        {
            "text": ["a b", None],
            "n": pa.array([1, None], pa.int8()),
            "s": pa.array([{"x": [1]}, None]),
            "d": pa.array(["u", "v"]).dictionary_encode(),
            "f": [float("nan"), None],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    assert read.texts == ("a b", "")
    types = [kind.pyarrow_dtype for kind in read.frame.dtypes]
    assert types == table.schema.types
    assert read.frame["s"].tolist()[0] == {"x": [1]}


def test_the_named_format_wins(tmp_path):
    (tmp_path / "t.csv").write_text("a, b\nc\n", encoding="utf-8")
    assert read_table(tmp_path / "t.csv", format="txt").texts == ("a, b", "c")
    (tmp_path / "t").write_text("text\na b\n", encoding="utf-8")
    assert read_table(str(tmp_path / "t"), format="CSV").texts == ("a b",)


def test_stdin_is_read_in_each_format(stdin, tmp_path):
    frame = pd.DataFrame({"id": ["1", "2"], "text": ["a b", "c d"]})
    frame.to_parquet(tmp_path / "t.parquet")
    contents = [
        frame.to_csv(index=False).encode(),
        frame.to_csv(index=False, sep="\t").encode(),
        frame.to_csv(index=False, sep=";").encode(),
        frame.to_json(orient="records", lines=True).encode(),
        (tmp_path / "t.parquet").read_bytes(),
        gzipped(frame.to_csv(index=False)),
    ]
    for content in contents:
        stdin(content)
        table = read_table("-")
        assert table.texts == ("a b", "c d")
        assert table.source == "stdin"
        stdin(content)
        assert [part.texts for part in iter_tables("-", chunk_rows=1)] == [("a b",), ("c d",)]


def test_the_guess_is_logged_and_can_be_overruled(stdin, caplog):
    with caplog.at_level("INFO", logger="caot"):
        stdin(b"a b\nc d\n")
        assert read_table("-").texts == ("a b", "c d")
    assert "stdin looks like txt; name another format with --format" in caplog.text
    stdin(b"a b\nc d\n")
    assert read_table("-", format="csv").texts == ("c d",)


@pytest.mark.parametrize(
    ("head", "guess"),
    [
        (b"PAR1\x15", TableFormat.PARQUET),
        (b'\xef\xbb\xbf\n{"text": 1}', TableFormat.JSONL),
        (b"id\ttext\n1\ta, b\n", TableFormat.TSV),
        (b'id,text\n1,"a\nb"\n2,c', TableFormat.CSV),
        (b"id;text\n1;a\n", TableFormat.CSV),
        (b"Text\r\nhello, you\r\n", TableFormat.CSV),
        (b"Hello, you\nGood bye, you\n", TableFormat.TXT),
        (b"one line, only", TableFormat.TXT),
        (b"a,b\nc\n", TableFormat.TXT),
        (b'"open\n', TableFormat.TXT),
    ],
)
def test_formats_are_guessed(head, guess):
    assert guess_format(head, "utf-8") is guess


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", ["pipe", "pipe.jsonl"])
def test_named_pipes_are_read_once(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    content = b'{"text": "a b"}\n{"text": "c d"}\n'
    thread = threading.Thread(target=path.write_bytes, args=(content,))
    thread.start()
    texts = [table.texts for table in iter_tables(path, chunk_rows=1)]
    thread.join()
    assert texts == [("a b",), ("c d",)]


@pytest.mark.parametrize(("name", "gap"), [("t.csv", ","), ("t.tsv", "\t")])
def test_without_a_header_the_first_line_is_a_row(name, gap, tmp_path):
    (tmp_path / name).write_text(f"\n1{gap}a text\n2{gap}a text\n", encoding="utf-8")
    table = read_table(tmp_path / name, header=False)
    assert table.frame.columns.tolist() == ["column_1", "column_2"]
    assert table.texts == ("a text", "a text")
    chunks = list(iter_tables(tmp_path / name, header=False, chunk_rows=1))
    assert [chunk.frame["column_1"].tolist() for chunk in chunks] == [["1"], ["2"]]


def test_a_header_is_asked_of_formats_that_have_one(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "a text"}\n', encoding="utf-8")
    with pytest.raises(TableError, match="leave --no-header out"):
        read_table(tmp_path / "t.jsonl", header=False)
    (tmp_path / "t.txt").write_text("a text\n", encoding="utf-8")
    assert read_table(tmp_path / "t.txt", header=False).texts == ("a text",)


@pytest.mark.parametrize(
    ("content", "warned"),
    [
        ("my parcel is late\nwhere is it\n", True),
        ("1,my parcel is late\n2,where is it\n", True),
        ("my own ticket id,text\n2,where is it\n", False),
        ("the ticket subject\nwhere is it\n", False),
    ],
)
def test_a_text_in_the_header_is_warned_of(content, warned, tmp_path, caplog):
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    read_table(tmp_path / "t.csv")
    assert ("--no-header" in caplog.text) is warned
    caplog.clear()
    next(iter_tables(tmp_path / "t.csv"))
    assert ("--no-header" in caplog.text) is warned
    caplog.clear()
    read_table(tmp_path / "t.csv", header=False)
    assert not caplog.records or "--no-header" not in caplog.text


def test_preferred_columns_are_taken_where_all_are_there(tmp_path):
    (tmp_path / "t.csv").write_text("text,a,b\nsome text,one,two\n", encoding="utf-8")
    for preferred, text, found in (
        (["b", "a"], None, "two one"),
        (["a", "z"], None, "some text"),
        (["a"], "b", "two"),
    ):
        (table,) = iter_tables(tmp_path / "t.csv", text=text, preferred=preferred)
        assert table.texts == (found,)


def test_a_json_array_from_a_pipe_is_not_taken_for_texts(stdin):
    stdin(b'[\n {"text": "a"}\n]')
    with pytest.raises(TableError, match="one object a line"):
        read_table("-")
