"""What is wrong with a file, in one sentence with the way out."""

import gzip
import io
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caot.io import TableError, iter_tables, read_table

LATE_LINE = 60_000  # beyond the first block of bytes


def parquet_bytes() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["a text"] * 1000, "n": list(range(1000))}), sink)
    return sink.getvalue()


def not_utf8_parquet() -> bytes:
    array = pa.array([b"\xff\xfe"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 1, array.buffers())
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": text}), sink)
    return sink.getvalue()


def damaged(content: bytes) -> bytes:
    return content[:4] + b"\xff" * 60 + content[64:]


CASES = [
    ("t.xyz", b"text", r"extension .xyz, which names no format: use one of .csv.*--format"),
    ("t.xlsx", b"PK", r"extension .xlsx, .*: save the table as CSV"),
    ("t.json", b"[]", r"extension .json, .* one object a line.* as CSV"),
    ("t.jsonl", b'[{"text": "a"}]', r"line 1: a JSON array .*: write one object a line"),
    ("t.jsonl", b'[\n{"text": "a"}\n]', r"line 1: a JSON array .*: write one object a line"),
    ("t", b"text", r"has no extension, which names no format"),
    ("t.parquet.gz", b"text", r"compressed already: use t.parquet"),
    ("t.csv", b"", r"is empty: .*check the file"),
    ("t.txt", b"\n\r\n", r"is empty"),
    ("t.txt", b" \n\n", r"no column of .* looks like texts"),
    ("t.jsonl", b"\n", r"is empty"),
    ("t.csv", b"id,text\n\n", r"has no rows, at most a header"),
    (
        "t.csv",
        "id,text\n1,a\n2,café\n".encode("latin-1"),
        r"is not utf-8: line 3 \(byte 18, 0xe9\).*for example --encoding cp1252",
    ),
    ("t.jsonl", '{"text": "a"}\n{"text": "é"}\n'.encode("cp1252"), r"line 2 \(byte 25, 0xe9\)"),
    (
        "t.txt",
        b"good text\n" * LATE_LINE + b"bad \xff",
        rf"line {LATE_LINE + 1} \(byte 600005, 0xff",
    ),
    ("t.csv", "id,text\n1,a\n".encode("utf-16"), r"line 1 \(byte 1, 0xff\).*--encoding utf-16"),
    ("t.txt", b"cut \xe2\x82", r"line 1 \(byte 5, 0xe2\)"),
    ("t.csv", b"id,text\n1,a\n2,b,c\n", r"line 3: the row has 3 cell\(s\), the header 2: quote"),
    ("t.csv", b'id,text\n1,"a\nb"\n2\n', r"line 4: the row has 1 cell\(s\), the header 2"),
    ("t.csv", b'id,text\n1,"a\nb",c\n', r"line 2: the row has 3 cell\(s\)"),
    ("t.csv", b"text\na, b\n", r"line 2: .* or read one text a line, --format txt"),
    ("t.csv", b'id,text\n1,"a\n2,b\n', r"line 2: a quoted cell is malformed .*close it with one"),
    ("t.csv", b'id,text\n1,"a"b\n', r"line 2: a quoted cell is malformed"),
    ("t.tsv", b'id\ttext\n1\t"a" b\n', r"line 2: .* with --format tsv-plain"),
    (
        "t.jsonl",
        b'{"text": "a"}\n\n{"text": \n',
        r"line 3: not JSON .*mend the line, or .*--format",
    ),
    ("t.jsonl", b'"a"\n', r'line 1: a str where an object should be: .*"text"'),
    ("t.jsonl", b'{"a": ' + b"[" * 100_000, r"line 1: JSON that is too large"),
    ("t.jsonl", b'{"a": ' + b"1" * 5_000 + b"}", r"line 1: JSON that is too large"),
    ("t.csv.gz", gzip.compress(b"id,text\n" + b"1,a\n" * 500, mtime=0)[:-12], r"is corrupt gzip"),
    ("t.csv.gz", gzip.compress(b"id,text\n1,a\n", mtime=0)[:-8] + b"\0" * 8, r"is corrupt gzip"),
    ("t.csv.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 30, r"is corrupt gzip"),
    ("t.csv.gz", b"id,text\n1,a\n", r"is not gzip, though its name says so: rename it"),
    ("t.parquet", b"text\na\n", r"is not Parquet, or corrupt .*: fetch or make it again"),
    ("t.parquet", parquet_bytes()[:-20], r"is not Parquet, or corrupt"),
    ("t.parquet", damaged(parquet_bytes()), r"is not Parquet, or corrupt"),
    ("t.parquet", not_utf8_parquet(), r"is not Parquet, or corrupt"),
]


def in_chunks(path):
    return list(iter_tables(path, chunk_rows=1_000))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("name", "content", "message"), CASES)
def test_bad_files_are_explained(tmp_path, name, content, message, whole):
    (tmp_path / name).write_bytes(content)
    read = read_table if whole else in_chunks
    with pytest.raises(TableError, match=message) as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_no_such_file(tmp_path):
    with pytest.raises(TableError, match=r"there is no file .*gone.csv: check the path"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(TableError, match=r"there is no file"):
        read_table(tmp_path / "gone")


def test_a_folder(tmp_path):
    with pytest.raises(TableError, match=r"is a folder: name a file in it"):
        read_table(tmp_path)


def test_not_a_path():
    with pytest.raises(TableError, match=r"check"):
        read_table("a\0b.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file(tmp_path):
    (tmp_path / "t.csv").write_text("text\na\n", encoding="utf-8")
    (tmp_path / "t.csv").chmod(0)
    with pytest.raises(TableError, match="may not be read: check its permissions"):
        read_table(tmp_path / "t.csv")


def test_a_failing_disk(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("text\na\n", encoding="utf-8")

    def fail(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", fail)
    with pytest.raises(TableError, match="may not be read"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", ["klingon", "hex", "a\0b", ""])
def test_unknown_encodings(tmp_path, encoding):
    (tmp_path / "t.csv").write_text("text\na\n", encoding="utf-8")
    with pytest.raises(TableError, match="is not an encoding: use for example utf-8"):
        read_table(tmp_path / "t.csv", encoding=encoding)


def test_an_unknown_format(tmp_path):
    with pytest.raises(TableError, match=r"'xls' is not a format: use csv, tsv.* or txt"):
        read_table(tmp_path / "t.csv", format="xls")


def test_chunks_need_rows(tmp_path):
    with pytest.raises(ValueError, match="chunk_rows is 0: use at least 1"):
        iter_tables(tmp_path / "t.csv", chunk_rows=0)


def test_an_unclosed_quote_does_not_swallow_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("caot.io.delimited._LONGEST_CELL", 1000)
    (tmp_path / "t.csv").write_text('id,text\n1,"a\n' + "2,b\n" * 10_000 + '3,"c', encoding="utf-8")
    with pytest.raises(TableError, match=r"line 2: a quoted cell is malformed .*limit"):
        read_table(tmp_path / "t.csv")
