"""Run folders from Python: fit, read again, and what is not one."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from caot.runs import Describing, PartStarted, RunError, RunFolder, RunSettings, fit_run, table_of
from caot.runs.publishing import own_file, publish
from caot.runs.reporting import result_of
from caot.runs.resuming import check_same
from tests.estimator_corpus import corpus, model_folder

TEXTS, TOPICS = corpus()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = RunFolder.prepare(tmp_path_factory.mktemp("runs") / "a" / "run")
    table = table_of({"words": TEXTS, "topic": TOPICS.tolist()}, "words")
    settings = RunSettings(3, encoder=str(model_folder()), finetune="none", max_iter=3)
    events = []
    record = fit_run(
        table, folder, settings, callbacks=(events.append,), true_labels=TOPICS.tolist()
    )
    return folder, record, events


def test_what_was_written_is_read_again(made):
    folder, record, _ = made
    opened = RunFolder.open(folder.path)
    assert opened.record == dataclasses.replace(
        record, **{name: getattr(opened.record, name) for name in ("settings", "timings")}
    )
    assert opened.table().texts == tuple(TEXTS)
    assert opened.table().frame["topic"].tolist() == TOPICS.tolist()
    model = opened.model()
    assert np.array_equal(opened.labels(), model.labels_)
    assert opened.history().loss.shape == (record.training["n_iter"],)
    result = result_of(opened, Describing())
    assert result.description == opened.description()


def test_texts_beside_numbers_are_read_again_as_they_were_clustered(tmp_path):
    words = pd.Series([404, *TEXTS[1:-1], None], dtype=object)
    table = table_of({"words": words, "topic": TOPICS.tolist()}, "words")
    own = {"on_empty": "own-cluster"}
    settings = RunSettings(3, encoder=str(model_folder()), finetune="none", max_iter=3, **own)
    folder = RunFolder.prepare(tmp_path / "run")
    fit_run(table, folder, settings)
    assert folder.table().texts == table.texts == ("404", *TEXTS[1:-1], "")
    assert folder.table().frame["words"].isna().sum() == 1


def test_observers_hear_of_every_part(made):
    _, record, events = made
    parts = [event.name for event in events if isinstance(event, PartStarted)]
    assert parts == ["check", "prepare", "describe", "write", "report"]
    assert set(parts) <= set(record.timings)
    assert 0 < record.training["scores"]["accuracy"] <= 1


@pytest.mark.parametrize("name", ["../out.txt", "/etc/passwd", "", "model"])
def test_a_record_names_nothing_outside_its_folder(name, tmp_path):
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "out.txt").touch()
    assert own_file(tmp_path / "run", name) is None


def test_publishing_removes_what_is_replaced_and_keeps_the_rest(tmp_path):
    folder, fresh = tmp_path / "run", tmp_path / "run" / ".new"
    for path in (folder / "model" / "deep" / "old", folder / "kept", fresh / "model" / "new"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    publish(fresh, folder, ["model/deep/old", "gone"])
    assert (folder / "model" / "new").read_text() == "new"
    assert (folder / "kept").is_file()
    assert not (folder / "model" / "deep").exists()


def test_what_is_rewritten_keeps_its_record_until_the_new_one_is_there(tmp_path, monkeypatch):
    folder, fresh = tmp_path / "run", tmp_path / "run" / ".new"
    fresh.mkdir(parents=True)
    for path in (folder / "run.json", folder / "table", fresh / "run.json", fresh / "table"):
        path.write_text(str(path.parent == fresh))

    def interrupted(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(fresh), "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            publish(fresh, folder, ())
    assert (folder / "run.json").read_text() == "False"
    publish(fresh, folder, ())
    assert (folder / "run.json").read_text() == (folder / "table").read_text() == "True"


def test_the_record_of_an_earlier_run_goes_before_its_files(tmp_path, monkeypatch):
    folder, fresh = tmp_path / "run", tmp_path / "run" / ".new"
    fresh.mkdir(parents=True)
    (folder / "run.json").touch()
    (folder / "old").touch()
    gone = []
    monkeypatch.setattr(type(fresh), "unlink", lambda path, missing_ok: gone.append(path.name))
    publish(fresh, folder, ["old"])
    assert gone == ["run.json", "old"]


def test_what_is_no_run_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="is a file"):
        RunFolder.prepare(tmp_path / "file")
    with pytest.raises(RunError, match="not a run folder"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match="damaged"):
        _ = RunFolder.open(tmp_path).record
    (tmp_path / "run.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RunError, match="not written by caot"):
        _ = RunFolder.open(tmp_path).record
    (tmp_path / "run.json").write_text('{"format_version": 1}', encoding="utf-8")
    with pytest.raises(RunError, match="lacks created"):
        _ = RunFolder.open(tmp_path).record


@pytest.mark.parametrize(
    ("languages", "stop_words"),
    [(("auto",), "auto"), (("none",), None), (("de", "English"), ["de", "English"])],
)
def test_languages_become_stop_words(languages, stop_words):
    assert Describing(languages).stop_words == stop_words
    with pytest.raises(RunError, match="stands alone"):
        Describing(("auto", "de"))


@pytest.mark.parametrize(("value", "offline"), [("0", False), ("1", True), ("true", True)])
def test_choosing_k_reads_the_offline_switch_as_the_hub_does(value, offline, tmp_path, monkeypatch):
    seen = []

    def suggest(_texts, **more):
        seen.append(more["local_files_only"])
        raise RunError("seen")

    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    monkeypatch.setattr("caot.runs.fitting.suggest_for", suggest)
    settings = RunSettings("auto", encoder=str(model_folder()))
    with pytest.raises(RunError, match="seen"):
        fit_run(table_of({"words": TEXTS}, "words"), RunFolder(tmp_path / "run"), settings)
    assert seen == [offline]


def test_a_chosen_k_goes_on_as_auto_and_as_the_number():
    begun = {"n_clusters": 7, "settings": {"n_clusters": "auto", "raw": False}}
    for value in ("auto", 7):
        check_same(begun, {"n_clusters": value, "raw": False})
    with pytest.raises(RunError, match="-k was 7 and is 8"):
        check_same(begun, {"n_clusters": 8, "raw": False})


def test_what_differs_is_named_as_an_option():
    begun = {"n_clusters": 7, "settings": {"describing": {"n_examples": 5}}}
    with pytest.raises(RunError, match=r"settings \(--examples was 5 and is 2\): resume"):
        check_same(begun, {"n_clusters": 7, "describing": {"n_examples": 2}})


def test_one_process_at_a_time_fits_in_a_folder(tmp_path):
    folder, table = RunFolder(tmp_path / "run"), table_of({"words": TEXTS}, "words")
    with folder.locked(), pytest.raises(RunError, match="another process is writing"):
        fit_run(table, folder, RunSettings(3, encoder=str(model_folder())))
    assert not folder.path.exists()


def test_the_lock_of_a_process_that_died_holds_nobody_up(tmp_path):
    (tmp_path / ".lock").touch()
    with RunFolder.prepare(tmp_path).locked():
        assert (tmp_path / ".lock").is_file()
