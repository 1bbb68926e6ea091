"""Tables to files and stdout."""

import gzip
import io
import json
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caot.io import TableError, TableWriter, read_table, write_table

FRAME = pd.DataFrame(
    {
        "=id": ["007", "-5"],
        "text": ['=cmd|"x"', "plain"],
        "cluster": [3, -1],
        "confidence": np.array([0.9, np.nan], dtype="float32"),
    }
)
FULL = Path("/dev/full")
EXTENSIONS = [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz"]


def test_csv_is_harmless_unless_raw(tmp_path):
    path = tmp_path / "t.csv"
    write_table(FRAME, path)
    assert path.read_bytes() == (
        b'\'=id,text,cluster,confidence\n007,"\'=cmd|""x""",3,0.9\n-5,plain,-1,\n'
    )
    write_table(FRAME, path, raw=True)
    assert path.read_bytes() == (
        b'=id,text,cluster,confidence\n007,"=cmd|""x""",3,0.9\n-5,plain,-1,\n'
    )


def test_jsonl_is_one_object_a_row(tmp_path):
    path = tmp_path / "t.jsonl"
    write_table(FRAME, path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [
        {"=id": "007", "text": '=cmd|"x"', "cluster": 3, "confidence": 0.9},
        {"=id": "-5", "text": "plain", "cluster": -1, "confidence": None},
    ]


def test_jsonl_is_readable_and_escapes_only_surrogates(tmp_path):
    path = tmp_path / "t.jsonl"
    write_table(pd.DataFrame({"text": pd.Series(["é😀", "é\ud800"], dtype=object)}), path)
    assert path.read_bytes() == '{"text": "é😀"}\n'.encode() + b'{"text": "\\u00e9\\ud800"}\n'


def test_values_that_json_lacks(tmp_path):
    path = tmp_path / "t.jsonl"
    values = [float("inf"), [float("nan")], b"\xff", pd.Timestamp("2026-01-31"), {1: np.int64(2)}]
    write_table(pd.DataFrame({"v": pd.Series(values, dtype=object)}), path)
    rows = [json.loads(line)["v"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [None, [None], "/w==", "2026-01-31T00:00:00", {"1": 2}]


def test_parquet_keeps_types(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(FRAME, path)
    table = pq.read_table(path)
    assert table.column_names == list(FRAME.columns)
    assert table["cluster"].type == pa.int64()
    assert table["confidence"].type == pa.float32()
    assert table["confidence"].to_pylist()[1] is None
    assert table["text"].to_pylist() == FRAME["text"].tolist()


def test_gzip_gives_the_same_bytes_every_time(tmp_path):
    for name in ["a.csv.gz", "b.csv.gz"]:
        write_table(FRAME, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).count(b"\n") == 3


@pytest.mark.parametrize("extension", [".csv", ".parquet"])
def test_surrogates_are_replaced_and_told_once(tmp_path, caplog, extension):
    names = pd.Index(["\ud800", "\udfff"], dtype=object)
    frame = pd.DataFrame([["a\ud800", {"k\ud800": "\ud800"}]], dtype=object).set_axis(names, axis=1)
    with TableWriter(tmp_path / f"t{extension}") as writer:
        writer.write(frame)
        writer.write(frame)
    assert caplog.text.count("replaced by U+FFFD; JSONL keeps them") == 1
    read = read_table(tmp_path / f"t{extension}", text="\ufffd")
    assert read.texts == ("a\ufffd", "a\ufffd")
    assert list(read.frame.columns) == [
        "\ufffd",
        "\ufffd_2",
    ]


def test_whole_texts_are_not_told(tmp_path, caplog):
    write_table(FRAME, tmp_path / "t.csv")
    assert not caplog.text


def write_and_fail(writer):
    writer.write(FRAME)
    msg = "my own"
    raise ValueError(msg)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_failure_leaves_the_old_file(tmp_path, extension):
    path = tmp_path / f"t{extension}"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="my own"), TableWriter(path) as writer:
        write_and_fail(writer)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_the_file_appears_at_the_end(tmp_path, extension):
    path = tmp_path / "new" / "folder" / f"t{extension}"
    with TableWriter(path) as writer:
        writer.write(FRAME)
        assert not path.exists()
    assert len(read_table(path, text="text", format=None)) == 2


def test_permissions_are_the_usual_or_the_old_ones(tmp_path):
    before = os.umask(0o022)
    try:
        write_table(FRAME, tmp_path / "t.csv")
        assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o644
        (tmp_path / "t.csv").chmod(0o640)
        write_table(FRAME, tmp_path / "t.csv")
        assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(FRAME, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text(encoding="utf-8").startswith("'=id")


def test_stdout_gets_rows_as_they_come(capsysbinary):
    with TableWriter("-") as writer:
        writer.write(FRAME[["text"]].iloc[1:])
        assert capsysbinary.readouterr().out == b"text\nplain\n"
        writer.write(FRAME[["text"]].iloc[1:])
    assert capsysbinary.readouterr().out == b"plain\n"


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet"])
def test_stdout_takes_every_format(capsysbinary, tmp_path, kind):
    write_table(FRAME, "-", format=kind)
    write_table(FRAME, tmp_path / f"t.{kind}")
    assert capsysbinary.readouterr().out == (tmp_path / f"t.{kind}").read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_written_not_replaced(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    received = []
    thread = threading.Thread(target=lambda: received.append(path.read_bytes()))
    thread.start()
    write_table(FRAME[["cluster"]], path)
    thread.join()
    assert received == [b"cluster\n3\n-1\n"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(not FULL.exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_full_disk(kind):
    with pytest.raises(TableError, match="the disk is full, /dev/full was not written: free space"):
        write_table(FRAME, FULL, format=kind)


def test_a_disk_that_fills_at_the_end_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("caot.files.os.fsync", full)
    with pytest.raises(TableError, match="the disk is full"):
        write_table(FRAME, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [1, 13, 30])
def test_forbidden_targets(tmp_path, monkeypatch, number):
    def forbid(**_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("caot.files.tempfile.mkstemp", forbid)
    with pytest.raises(TableError, match=r"t.csv may not be written: check the permissions"):
        write_table(FRAME, tmp_path / "t.csv")


def test_impossible_targets(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(TableError, match="a file stands where its folder should be"):
        write_table(FRAME, tmp_path / "file" / "t.csv")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(TableError, match="is a folder: name a file in it"):
        write_table(FRAME, tmp_path / "folder.parquet")
    with pytest.raises(TableError, match=r"cannot be written \(.*name too long"):
        write_table(FRAME, tmp_path / f"{'a' * 300}.csv")


def test_a_closed_pipe_is_the_callers_to_handle(monkeypatch):
    class Closed(io.BytesIO):
        def flush(self):
            if self.getvalue():
                raise BrokenPipeError

    stream = io.TextIOWrapper(Closed())
    monkeypatch.setattr("sys.stdout", stream)
    with pytest.raises(BrokenPipeError):
        write_table(FRAME, "-")
    stream.buffer.truncate(0)


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("t.txt", None, "cannot be written as txt: use csv, tsv, jsonl or parquet"),
        ("t.csv", "tsv-plain", "cannot be written as tsv-plain"),
        ("t.xlsx", None, "extension .xlsx, which names no format"),
        ("t.csv", "xls", "'xls' is not a format"),
    ],
)
def test_formats_that_cannot_be_written(tmp_path, path, kind, message):
    with pytest.raises(TableError, match=message):
        TableWriter(tmp_path / path, format=kind)


def test_a_writer_needs_its_block(tmp_path):
    with pytest.raises(ValueError, match="use the writer in a with block"):
        TableWriter(tmp_path / "t.csv").write(FRAME)


def test_an_empty_table_has_its_header(tmp_path):
    write_table(FRAME.iloc[:0], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b"'=id,text,cluster,confidence\n"
    with TableWriter(tmp_path / "t.parquet"):
        pass
    assert pq.read_table(tmp_path / "t.parquet").num_rows == 0


def test_values_nested_too_deeply(tmp_path):
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(TableError, match="nested too deeply"):
        write_table(pd.DataFrame({"v": pd.Series([value], dtype=object)}), tmp_path / "t.jsonl")
