"""Which column holds the texts."""

import logging

import pandas as pd
import pytest

from caot.io import TableError, read_table


def written(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def found(tmp_path, content, **options):
    return read_table(written(tmp_path, content), **options).text_columns


@pytest.mark.parametrize(
    ("content", "column"),
    [
        ("id,text\n1,a word\n", "text"),
        ("id, Title \n1,a word\n", " Title "),
        ("body,subject\nmuch longer text here,short one\n", "subject"),
        ("note,ticket_subject\nmuch longer text here,short one\n", "ticket_subject"),
        ("text,remark\n,a word\n,another\n", "remark"),  # no text in the column of that name
        ("text,remark\n1,a word\n2,another\n", "remark"),
        ("day,remark\n2026-01-31 12:00,ab\n2026-02-01 12:00,cd\n", "remark"),
        ("key,remark\n7f3e9a52-11aa-4c0b,my bill is wrong\n1b2c3d4e-0000,no signal\n", "remark"),
        (
            "link,remark\nhttps://example.org/a/b/c,发票有误\nhttps://example.org/d,没有信号\n",
            "remark",
        ),
        (
            "status,remark\n" + "".join(f"still wide open,ab {i}\n" for i in range(9)),
            "remark",
        ),
        ("code,word\n1,login\n2,payment\n", "word"),
    ],
)
def test_the_column_is_found(tmp_path, content, column):
    assert found(tmp_path, content) == (column,)


def test_the_log_says_which_column_and_how_to_choose(tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="caot"):
        found(tmp_path, "id,subject\n1,a word\n")
    assert "the texts are in the column 'subject'; choose another with --text" in caplog.text


def test_the_id_column_is_not_taken_for_texts(tmp_path):
    table = read_table(
        written(tmp_path, "k,n\nlong long id,x y\nlong long id,z w\n"), id_column="k"
    )
    assert table.text_columns == ("n",)
    assert table.id_column == "k"
    assert table.ids.tolist() == ["long long id"] * 2


def test_no_id_column_gives_no_ids(tmp_path):
    assert read_table(written(tmp_path, "text\na b\n")).ids is None


def test_several_columns_are_joined_with_a_space(tmp_path):
    path = written(tmp_path, "a,b,c\none,two,three\n,two,\n,,\n")
    assert read_table(path, text=["c", "a"]).texts == ("three one", "", "")
    assert read_table(path, text=("a", "b")).texts == ("one two", "two", "")


def test_missing_texts_are_empty(tmp_path):
    path = written(tmp_path, '{"text": null}\n{"text": "a"}\n{"x": 1}\n{"text": 5}\n', "t.jsonl")
    assert read_table(path).texts == ("", "a", "", "5")


def test_texts_have_no_lone_surrogates_but_the_frame_keeps_them(tmp_path):
    table = read_table(written(tmp_path, '{"text": "a \\ud800"}\n', "t.jsonl"))
    assert table.texts == ("a \ufffd",)
    assert table.frame["text"].tolist() == ["a \ud800"]


def test_texts_of_bytes(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"text": [b"caf\xc3\xa9", None]}).to_parquet(path)
    assert read_table(path).texts == ("café", "")


def test_an_unknown_column_lists_the_columns_and_the_nearest(tmp_path):
    path = written(tmp_path, "id,Subject,body\n1,a b,c d\n")
    message = r"has no column 'subjct': did you mean 'Subject'\? Its columns are id, Subject, body"
    with pytest.raises(TableError, match=message):
        read_table(path, text="subjct")
    with pytest.raises(TableError, match=r"no column 'zzz': its columns are id, Subject, body"):
        read_table(path, text=["body", "zzz"])
    with pytest.raises(TableError, match=r"no column 'ids': did you mean 'id'"):
        read_table(path, id_column="ids")


def test_many_columns_are_not_all_listed(tmp_path):
    header = ",".join(f"c{i}" for i in range(25))
    path = written(tmp_path, f"{header}\n{header}\n")
    with pytest.raises(TableError, match=r"c19 and 5 more$"):
        read_table(path, text="zzz")


def test_no_named_column_is_refused(tmp_path):
    with pytest.raises(TableError, match="name at least one"):
        read_table(written(tmp_path, "text\na b\n"), text=[])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"v": 1, "text": "a b"}\n{"v": 2.5, "text": "a b"}\n', "no texts but numbers"),
        ('{"v": ["a b"], "text": "a b"}\n', "no texts but numbers, dates or nested values"),
        ('{"v": "12", "text": "a b"}\n{"v": "2026-01-31", "text": "a b"}\n', "no texts but"),
        ('{"v": "", "text": "a b"}\n{"v": null, "text": "a b"}\n', "only empty cells"),
    ],
)
def test_a_column_without_texts_is_refused(tmp_path, content, what):
    path = written(tmp_path, content, "t.jsonl")
    message = f"'v' holds {what}.*: choose a column of texts among v, text"
    with pytest.raises(TableError, match=message):
        read_table(path, text="v")


def test_a_table_without_texts_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"no column of .* looks like texts: .* a, b with --text"):
        found(tmp_path, "a,b\n1,\n2,3\n")
