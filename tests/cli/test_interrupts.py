"""Nothing is lost: Ctrl-C, a full disk, a report that fails, a folder that exists."""

import errno
import os
import shutil
import signal
from contextlib import contextmanager

import pytest

from caot.runs import RunFolder
from caot.training import StepDone
from tests.cli.commands import caot, fit, read_csv, run_json


def interrupt_at(monkeypatch, iteration, act):
    """Let an observer act in the middle of training."""

    def observe(event):
        if isinstance(event, StepDone) and event.iteration == iteration:
            act()

    @contextmanager
    def shown(_screen):
        yield (observe,)

    for command in ("fit", "demo"):
        monkeypatch.setattr(f"caot.cli.{command}.shown", shown)


def press_control_c():
    raise KeyboardInterrupt


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(("act", "code"), [(press_control_c, 130), (terminate, 143)])
def test_an_interrupted_run_resumes_to_the_same_result(act, code, quick_run, tmp_path, monkeypatch):
    tickets, out = quick_run.parent / "tickets.csv", tmp_path / "out"
    more = ("--text", "subject", "--checkpoint-every", 10)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 47, act)
        result = fit(tickets, out, *more)
    assert result.exit_code == code
    assert "--resume" in result.stderr
    assert "kept at iteration 40" in result.stderr
    assert (out / "checkpoint.safetensors").is_file()
    assert not (out / "run.json").exists()
    assert fit(tickets, out, *more).exit_code == 1  # neither --resume nor --force

    result = fit(tickets, out, *more, "--resume")
    assert result.exit_code == 0, result.output
    assert "at iteration 40" in result.stderr
    assert read_csv(out / "assignments.csv") == read_csv(quick_run / "assignments.csv")
    assert not (out / "checkpoint.safetensors").exists()
    assert not (out / "checkpoint.json").exists()


def test_who_piped_is_told_to_pipe_again(tickets, tmp_path, monkeypatch):
    interrupt_at(monkeypatch, 20, press_control_c)
    result = fit("-", tmp_path / "out", "--text", "subject", stdin=tickets.read_bytes())
    assert result.exit_code == 130
    assert "pipe the same input again into: caot" in result.stderr


@pytest.mark.parametrize("more", [(), ("--resume",), ("--force",)])
def test_a_folder_that_another_process_writes_to_is_refused(more, tickets, tmp_path):
    out = tmp_path / "out"
    with RunFolder(out).locked():
        RunFolder(out).begin({})
        result = fit(tickets, out, *more)
    assert result.exit_code == 1
    assert "another process is writing to" in result.stderr
    assert [path.name for path in out.iterdir()] == ["checkpoint.json"]


def test_interrupted_before_training_nothing_is_left(tickets, tmp_path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("caot.runs.fitting.CAOT.fit", fail)
    result = fit(tickets, tmp_path / "out")
    assert result.exit_code == 130
    assert "nothing was written" in result.stderr
    assert not (tmp_path / "out").exists()


def test_resuming_other_settings_is_refused(tickets, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 20, press_control_c)
        fit(tickets, tmp_path / "out")
    for words, parts in (
        (("--seed", 1), "--seed was 0 and is 1"),
        (("-k", 4), "-k was 3 and is 4"),
        (("--min-confidence", 0.5), "--min-confidence was not given and is 0.5"),
        (("--language", "de", "--raw"), "--raw was not given and is given, --language was auto"),
        (("--examples", 2), "--examples was 5 and is 2"),
        (("--on-empty", "own-cluster"), "--on-empty was error and is own-cluster"),
    ):
        result = fit(tickets, tmp_path / "out", *words, "--resume")
        assert result.exit_code == 1
        assert parts in result.stderr
        assert (tmp_path / "out" / "checkpoint.safetensors").is_file()
    result = fit(tickets, tmp_path / "out", "-k", "auto", "--checkpoint-every", 7, "--resume")
    assert result.exit_code == 0, result.output
    assert run_json(tmp_path / "out")["settings"]["n_clusters"] == 3


def test_without_options_the_last_twenty_iterations_are_lost_at_most(
    tickets, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 47, press_control_c)
        assert "kept at iteration 40" in fit(tickets, tmp_path / "out").stderr


def test_there_must_be_something_to_resume(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "--resume")
    assert result.exit_code == 1
    assert "nothing to resume" in result.stderr


def test_a_full_disk_loses_nothing(tickets, tmp_path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("caot.runs.folder.write_table", fail)
        result = fit(tickets, tmp_path / "out")
    assert result.exit_code == 1
    assert "disk is full" in result.stderr
    assert "the training is kept" in result.stderr
    assert fit(tickets, tmp_path / "out", "--resume").exit_code == 0
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_a_failing_report_leaves_the_results(tickets, tmp_path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise RuntimeError("no ink")

    monkeypatch.setattr("caot.runs.fitting.report_data", fail)
    result = fit(tickets, tmp_path / "out")
    assert result.exit_code == 0
    assert "no ink" in result.stderr
    assert (tmp_path / "out" / "assignments.csv").is_file()
    assert "caot report" in run_json(tmp_path / "out")["warnings"][-1]


def test_an_existing_run_is_refused_before_anything_is_read(run, tmp_path):
    result = fit(tmp_path / "missing.csv", run)
    assert result.exit_code == 1
    assert "--force" in result.stderr


def test_force_replaces_the_run_and_nothing_else(tickets, run):
    (run / "notes.txt").write_text("mine")
    (run / "model" / "mine.txt").write_text("mine")
    stale = run / "model" / "stale.txt"
    stale.write_text("written by the run")
    record = (run / "run.json").read_text(encoding="utf-8")
    kept = record.replace('"files": [', '"files": ["model/stale.txt", "../tickets.csv", ')
    (run / "run.json").write_text(kept, encoding="utf-8")
    result = fit(tickets, run, "-k", 2, "--text", "subject", "--force")
    assert result.exit_code == 0, result.output
    assert (run / "notes.txt").read_text() == "mine"
    assert (run / "model" / "mine.txt").read_text() == "mine"
    assert not stale.exists()
    assert tickets.exists()  # a forged record reaches nothing outside
    assert run_json(run)["parameters"]["n_clusters"] == 2


def test_force_does_not_touch_a_folder_of_other_things(tickets, tmp_path):
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_text("cat")
    result = fit(tickets, other, "--force")
    assert result.exit_code == 1
    assert "other things" in result.stderr
    assert [path.name for path in other.iterdir()] == ["cat.jpg"]


def test_an_interrupted_replacement_keeps_the_old_run(tickets, run, monkeypatch):
    before = read_csv(run / "assignments.csv")
    with monkeypatch.context() as patch:
        interrupt_at(patch, 20, press_control_c)
        assert fit(tickets, run, "--seed", 3, "--force").exit_code == 130
    assert read_csv(run / "assignments.csv") == before
    assert (run / "run.json").is_file()
    shutil.rmtree(run)


def test_an_interrupted_demo_is_run_again(small_demo, tmp_path, monkeypatch):
    out = tmp_path / "caot-demo"
    with monkeypatch.context() as patch:
        interrupt_at(patch, 47, press_control_c)
        result = caot(*small_demo)
        assert result.exit_code == 130
        assert "run it again" in result.stderr
        assert "--" not in result.stderr  # neither --resume, which it lacks, nor --force
        assert not out.exists()
    assert caot(*small_demo).exit_code == 0
    before = read_csv(out / "assignments.csv")
    with monkeypatch.context() as patch:
        interrupt_at(patch, 47, press_control_c)
        assert caot(*small_demo, "--force").exit_code == 130
    assert read_csv(out / "assignments.csv") == before
    assert not (out / "checkpoint.safetensors").exists()


def test_a_demo_interrupted_at_its_report_needs_force(small_demo, monkeypatch):
    def fail(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("caot.runs.fitting.report_data", fail)
        result = caot(*small_demo)
    assert result.exit_code == 130
    assert "run it again with --force" in result.stderr
    assert caot(*small_demo, "--force").exit_code == 0


def test_a_demo_does_not_go_on_with_an_interrupted_run(small_demo, tickets, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 20, press_control_c)
        fit(tickets, tmp_path / "caot-demo")
    result = caot(*small_demo)
    assert result.exit_code == 1
    assert "begin anew with --force" in result.stderr
    assert "--resume" not in result.stderr
    assert (tmp_path / "caot-demo" / "checkpoint.safetensors").is_file()
