"""Only missing cells run, a process each; what goes wrong with one is recorded."""

import os
import signal
import time

import pytest

from caot.bench import running, scheduling
from caot.bench.cells import Cell
from caot.bench.records import CellStatus, read_record, read_records
from caot.bench.running import RunPlace
from caot.bench.scheduling import check_cells, missing_cells, run_cells
from tests.bench.corpus import cell, write_data


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "topics.csv")


@pytest.fixture
def place(tmp_path):
    return RunPlace(None, tmp_path / "cache", 1)


def test_cells_run_once(tmp_path, data, place):
    cells = [cell(data, "kmeans"), cell(data, "kmeans", seed=1), cell(data, "kmeans")]
    results, told = tmp_path / "results", []
    left = missing_cells(cells, results)
    assert left == cells[:2]
    n_bad = run_cells(left, results, place, jobs=2, told=lambda *parts: told.append(parts))
    assert n_bad == 0
    assert sorted(c.seed for c, _ in told) == [0, 1]
    assert {record.cell for record in read_records(results)} == set(left)
    assert missing_cells(cells, results) == []


def test_runs_at_the_same_time_have_different_data_where_they_can():
    waiting = [Cell("tweet", seed=seed) for seed in (0, 1)] + [Cell("agnews")]
    taken = [scheduling._take_next(waiting, busy) for busy in ((), ("tweet",), ("tweet",))]
    assert [(c.dataset, c.seed) for c in taken] == [("tweet", 0), ("agnews", 0), ("tweet", 1)]
    assert waiting == []


def test_other_settings_make_a_record_stale(tmp_path, data, place, monkeypatch):
    results, one = tmp_path / "results", cell(data, "kmeans")
    run_cells([one], results, place)
    monkeypatch.setattr(running, "cell_hash", lambda _cell, _k: "changed")
    assert missing_cells([one], results) == [one]


def test_cells_that_did_not_end_well_run_again_when_asked(tmp_path, data, place):
    results, bad = tmp_path / "results", cell(data, encoder="nobody/has-this")
    assert run_cells([bad], results, place) == 1
    assert read_record(bad.path(results)).status is CellStatus.NOT_RUN
    assert missing_cells([bad], results) == []
    assert missing_cells([bad], results, retry=True) == [bad]


def _sleep(*_args):
    time.sleep(60)


def _die(*_args):
    raise SystemExit(7)


def _be_killed(*_args):
    os.kill(os.getpid(), signal.SIGKILL)  # as when memory runs out


def test_a_run_that_takes_too_long_is_ended(tmp_path, data, place, monkeypatch):
    monkeypatch.setattr(scheduling, "_work", _sleep)
    results, one = tmp_path / "results", cell(data)
    assert run_cells([one], results, place, time_limit=0.5) == 1
    record = read_record(one.path(results))
    assert record.status is CellStatus.TIMEOUT
    assert "exit code" in record.content["error"]


@pytest.mark.parametrize("end", [_die, _be_killed])
def test_a_process_that_dies_leaves_a_record(tmp_path, data, place, monkeypatch, end):
    monkeypatch.setattr(scheduling, "_work", end)
    results, one = tmp_path / "results", cell(data)
    assert run_cells([one], results, place) == 1
    assert read_record(one.path(results)).status is CellStatus.FAILED


def test_an_interruption_ends_what_runs_and_keeps_what_is_done(tmp_path, data, place):
    results = tmp_path / "results"
    cells = [cell(data, "kmeans", seed=seed) for seed in range(3)]

    def interrupt(*_parts):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, results, place, told=interrupt)
    assert len(read_records(results)) == 1
    assert len(missing_cells(cells, results)) == 2


def test_names_are_checked_before_anything_runs(data):
    check_cells([cell(data)])
    with pytest.raises(ValueError, match="did you mean 'tweet'"):
        check_cells([cell("twet")])
    with pytest.raises(ValueError, match="there is no variant"):
        check_cells([cell(data, variant="odd")])
    with pytest.raises(ValueError, match="there is no file"):
        check_cells([cell(data.with_name("gone.csv"))])


def test_a_file_that_has_changed_is_run_again(tmp_path, data, place):
    results, one = tmp_path / "results", cell(data, "kmeans")
    run_cells([one], results, place)
    assert missing_cells([one], results) == []
    write_data(data, n_per_topic=11)
    assert missing_cells([one], results) == [one]
