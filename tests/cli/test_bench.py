"""``caot bench`` as a user types it."""

import json

import pytest

from caot import threads
from caot.bench import scheduling
from tests.bench.corpus import write_data
from tests.cli.commands import caot as invoke
from tests.estimator_corpus import model_folder


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "topics.csv")


def run(data, *more):
    encoder = str(model_folder())
    return invoke("bench", "run", "--data", data, "--encoder", encoder, "--seeds", "0,1", *more)


def test_from_a_file_to_a_report(data, tmp_path):
    first = run(data, "--method", "kmeans")
    assert first.exit_code == 0, first.output
    assert "2 cells, 0 have a record" in first.stderr
    assert "[2/2]" in first.stderr
    again = run(data, "--method", "kmeans", "--json")
    assert json.loads(again.stdout)["run"] == 0
    report = invoke("bench", "report", "-o", tmp_path / "r.md")
    assert report.exit_code == 0, report.output
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("# Results")


def test_runs_that_fail_are_an_exit_code_and_are_counted(data):
    failed = run(data, "--method", "kmeans", "--time-limit", "0.001")
    assert failed.exit_code == 1
    assert "2 cells did not end well" in failed.stderr
    again = run(data, "--method", "kmeans")
    assert again.exit_code == 0
    assert "2 have a record, 2 of them did not end well (--retry runs those again)" in again.stderr


def test_what_lacks_something_is_no_failure(data):
    lacking = run(data, "--method", "back-trans")
    assert lacking.exit_code == 0, lacking.output
    assert "not run: Back-Trans needs a translation model" in lacking.stderr


def test_a_dry_run_lists_what_is_missing(data):
    result = run(data, "--method", "kmeans", "--dry-run")
    assert len(result.stdout.splitlines()) == 2
    assert result.exit_code == 0


def test_cells_without_data_are_left_out_and_stay_missing(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(scheduling, "run_cells", lambda cells, *_, **__: ran.extend(cells) or 0)
    monkeypatch.setenv("CAOT_DATA", str(tmp_path))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "mnist_t10k.npz").touch()
    words = ["bench", "run", "images", "--seeds", "0", "--results", str(tmp_path / "records")]
    said = invoke(*words)
    assert said.exit_code == 0, said.output
    assert {cell.dataset for cell in ran} == {"mnist_t10k"}
    assert "cells are left out. " in said.output
    assert "stl10" in said.output
    nothing = invoke(*words, "--data", "stl10")
    assert nothing.exit_code != 0
    assert "stl10: not in" in nothing.output


@pytest.mark.parametrize("numbers", [(8, 8, 2, 4), (8, 1, 2, 1), (8, 3, 1, 3), (2, 2, 4, 1)])
def test_runs_share_the_cores_and_keep_to_what_is_set(numbers, data, monkeypatch):
    cores, set_by_user, jobs, expected = numbers
    places = []
    monkeypatch.setattr(scheduling, "run_cells", lambda _c, _r, place, **_: places.append(place))
    monkeypatch.setattr(threads, "n_cores", lambda: cores)
    monkeypatch.setattr("torch.get_num_threads", lambda: set_by_user)
    run(data, "--method", "kmeans", "--jobs", jobs)
    assert places[0].n_threads == expected


def test_the_list(tmp_path):
    result = invoke("bench", "list", "--json")
    known = json.loads(result.stdout)
    assert len(known["suites"]) == 15
    assert "tweet" in known["datasets"]
    assert "ablations" in invoke("bench", "list").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "man"], "no suite 'man': did you mean 'main"),
        (["run"], "name a suite"),
        (["run", "main", "--seeds", "x"], "no list of numbers"),
        (["run", "main", "--budget", "huge"], "no budget 'huge'"),
        (["run", "main", "--time-limit", "soon"], "time_budget must be|--time-budget must be"),
        (["run", "main"], "--data-dir or CAOT_DATA"),
        (["datasets"], "--data-dir or CAOT_DATA"),
        (["report"], "there are no records"),
        (["run", "--data", "tweet", "--method", "kmeans", "--variant", "chunks"], "no variant 'ch"),
        (["fetch", "mn-ds"], "no public home"),
    ],
)
def test_errors_are_one_sentence(words, message, monkeypatch):
    import re

    monkeypatch.delenv("CAOT_DATA", raising=False)
    result = invoke("bench", *words)
    assert result.exit_code in (1, 2)
    assert re.search(message, " ".join(result.output.split()))
    assert "Traceback" not in result.output


def test_data_that_is_not_as_it_should_be_is_an_error(tmp_path):
    place = tmp_path / "data" / "short-text"
    place.mkdir(parents=True)
    import gzip

    plain = write_data(tmp_path / "plain.csv")
    (place / "tweet.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    result = invoke("bench", "datasets", "--data-dir", tmp_path / "data")
    assert "other rows" in result.stdout
    assert result.exit_code == 1
