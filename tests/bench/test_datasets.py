"""The data by name, by path, and beside the paper's table."""

import json

import numpy as np
import pytest

from caot.bench.datasets import (
    DATASETS,
    FETCHED,
    SHORT_TEXTS,
    DatasetError,
    content_digest,
    data_file,
    data_folder,
    find_spec,
    load_data,
    load_known,
)
from caot.bench.sources import (
    SOURCES,
    fetch_dataset,
    normalised,
    read_beside,
    read_json_lines,
    read_label_first,
)
from caot.bench.statistics import ABSENT, AS_EXPECTED, OTHER_ROWS, dataset_rows
from tests.bench.corpus import write_data


def test_a_file_of_the_users(tmp_path):
    data = load_data(str(write_data(tmp_path / "my.csv")))
    assert (data.name, len(data), data.n_classes) == ("my", 36, 3)
    assert data.views_name == "text1/text2"
    assert len(data.views[0]) == 36
    assert data.digest == content_digest(data.inputs, list(map(str, data.truth)))


def test_rows_without_text_are_left_out_and_labels_may_be_words(tmp_path):
    path = tmp_path / "d.jsonl"
    rows = [("a b", "x"), (" ", "x"), ("c d", "y"), ("e", "x")]
    path.write_text("\n".join(json.dumps({"text": t, "label": c}) for t, c in rows))
    data = load_data(str(path))
    assert data.inputs == ["a b", "c d", "e"]
    assert data.truth.tolist() == [0, 1, 0]
    assert data.views is None


def test_arrays(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, x=np.arange(12).reshape(4, 3), y=[5, 7, 5, 7])
    data = load_data(str(path))
    assert data.inputs.shape == (4, 3)
    assert data.truth.tolist() == [0, 1, 0, 1]
    np.savez(path, a=np.zeros(3))
    with pytest.raises(DatasetError, match="must hold arrays x"):
        load_data(str(path))


def test_what_is_wrong_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("CAOT_DATA", raising=False)
    with pytest.raises(DatasetError, match="did you mean 'stackoverflow'"):
        find_spec("stackoverflw")
    with pytest.raises(DatasetError, match="--data-dir or CAOT_DATA"):
        load_data("tweet")
    with pytest.raises(DatasetError, match="there is no folder"):
        data_folder(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"there is no file .*tweet\.csv\.gz"):
        load_data("tweet", tmp_path)
    (tmp_path / "caot-data").mkdir()
    monkeypatch.chdir(tmp_path)
    assert data_folder() == FETCHED
    (tmp_path / "d.csv").write_text("text,topic\na b,1\n")
    with pytest.raises(DatasetError, match="has no column 'label': it has text, topic"):
        load_data(str(tmp_path / "d.csv"))


def test_the_eight_sets_are_those_of_the_papers_table(data_dir):
    rows = {row.spec.name: row for row in dataset_rows(data_dir)}
    assert [row.check for row in rows.values()].count(OTHER_ROWS) == 0
    for spec in SHORT_TEXTS:
        row = rows[spec.name]
        assert row.check == AS_EXPECTED
        assert spec.size - row.size in (0, 1)  # one empty text in two of them
        assert row.n_classes == spec.n_classes
        assert round(row.words) == spec.words
        assert int(row.ratio) == spec.ratio


def test_absent_and_other_rows_are_told_apart(tmp_path):
    path = data_file("tweet", tmp_path)
    path.parent.mkdir(parents=True)
    write_data(path.with_suffix(""))
    import gzip

    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    rows = {row.spec.name: row for row in dataset_rows(tmp_path)}
    assert rows["tweet"].check == OTHER_ROWS
    assert rows["tweet"].is_wrong
    assert rows["agnews"].check == ABSENT
    assert not rows["agnews"].is_wrong
    assert rows["agnews"].shown[-1] == ABSENT
    with pytest.raises(DatasetError, match="the file of tweet has other rows"):
        load_known("tweet", tmp_path)
    with pytest.raises(DatasetError, match="the file of tweet has other rows"):
        fetch_dataset("tweet", tmp_path)


def test_how_public_homes_are_read():
    assert read_json_lines('{"text": "a b", "cluster": 37}\n\n{"text": "c", "cluster": 2}\n') == (
        ["a b", "c"],
        [37, 2],
    )
    assert read_label_first("3\ta\tb\n1\tc\n") == (["a\tb", "c"], [3, 1])
    assert read_beside("a b\nc\n", "3\n1\n") == (["a b", "c"], [3, 1])
    table = normalised(["a ", "b", "c"], [37, 2, 37])
    assert table["label"].tolist() == [1, 0, 1]
    assert table["text"].tolist() == ["a", "b", "c"]
    with pytest.raises(DatasetError, match="2 texts and 1 labels"):
        normalised(["a", "b"], [1])


def test_fetching_checks_before_it_writes(tmp_path, monkeypatch):
    lines = '{"text": "a b", "cluster": 9}\n{"text": "c", "cluster": 4}\n'
    asked = []

    def download(address):
        asked.append(address)
        return lines

    with pytest.raises(DatasetError, match="other rows for tweet: nothing was written"):
        fetch_dataset("tweet", tmp_path, download=download)
    assert not data_file("tweet", tmp_path).exists()
    assert asked == list(SOURCES["tweet"].addresses)
    known = {"tweet": content_digest(["a b", "c"], ["1", "0"])}
    monkeypatch.setattr("caot.bench.datasets._DIGESTS", known)
    path = fetch_dataset("tweet", tmp_path, download=download)
    assert load_data("tweet", tmp_path).inputs == ["a b", "c"]
    assert fetch_dataset("tweet", tmp_path, download=None) == path  # nothing is fetched twice
    with pytest.raises(DatasetError, match="no public home of mn-ds is known"):
        fetch_dataset("mn-ds", tmp_path)


def test_without_a_network_fetching_says_so(tmp_path, monkeypatch):
    import urllib.error

    def fail(*_args, **_more):
        raise urllib.error.URLError("no route")

    monkeypatch.setattr("urllib.request.urlopen", fail)
    with pytest.raises(DatasetError, match=r"cannot be reached \(.*no route.*\): check"):
        fetch_dataset("agnews", tmp_path)


def test_every_name_has_a_file(tmp_path):
    assert len({data_file(name, tmp_path) for name in DATASETS}) == len(DATASETS)
