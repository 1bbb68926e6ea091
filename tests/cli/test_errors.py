"""What users get wrong is said in one sentence with the way out, and an exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from caot.baselines.making import RivalNotInstalled
from caot.cli.errors import explained
from caot.cli.values import require_device
from caot.encoders.export import BackendNotAvailable, ExportError
from caot.runs import RunError, RunFolder
from tests.cli.commands import TEXTS, caot, fit, write_corpus

MULTILINGUAL = "paraphrase-multilingual"


def fails(result, *parts, code=1):
    """Check the exit code and that the sentence on stderr names all parts."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    for part in parts:
        assert part in result.stderr


def test_an_unknown_column_names_the_nearest(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "--text", "subjet")
    fails(result, "no column 'subjet'", "did you mean 'subject'?", "ticket, subject, topic")
    assert not (tmp_path / "out").exists()


def test_no_such_file(tmp_path):
    fails(fit(tmp_path / "tikets.csv", tmp_path / "out"), "there is no file", "check the path")


def test_wrong_encoding_names_the_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("text\nfine words\ncafé con leche\n".encode("latin-1"))
    fails(fit(path, tmp_path / "out"), "line 3", "--encoding")


def test_empty_texts_are_counted_by_row(tmp_path):
    path = write_corpus(tmp_path / "t.csv", subject=[TEXTS[0], " ", *TEXTS[2:]])
    result = fit(path, tmp_path / "out", "--text", "subject")
    fails(result, "rows 2", "--on-empty own-cluster")
    assert not (tmp_path / "out").exists()


def test_more_clusters_than_distinct_texts(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "-k", 4, "--text", "topic")
    fails(result, "3 distinct texts", "at most 3")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("-k", "many"), ("neither a number nor auto",)),
        (("--finetune", "some"), ("top layers",)),
        (("--imbalance", "odd"), ("penalty weight",)),
        (("--min-confidence", 2), ("--min-confidence",)),
        (("--llm-url", "https://api.example.org/v1", "--llm-model", "m"), ("--send-texts",)),
        (("--send-texts",), ("--llm-url",)),
        (
            ("--llm-url", "http://example.org/v1", "--llm-model", "m", "--send-texts"),
            ("--llm-url", "https"),
        ),
    ],
)
def test_wrong_usage_is_code_2(words, parts, tickets, tmp_path):
    fails(fit(tickets, tmp_path / "out", *words), *parts, code=2)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("-k", 1), ("at least 2",)),
        (("--language", "klingon"), ("klingon", "auto, or none")),
        (("--time-budget", "soon"), ("--time-budget must be", "10min")),
        (("--device", "abacus"), ("--device must be a name",)),
        (("--imbalance", "-1"), ("--imbalance must be",)),
    ],
)
def test_wrong_settings_are_code_1(words, parts, tickets, tmp_path):
    fails(fit(tickets, tmp_path / "out", *words, "--quiet"), *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("fit", "-k", 1), ("at least 2",)),
        (("fit", "-k", 3, "--time-budget", "soon"), ("--time-budget must be", "10min")),
        (("fit", "-k", 3, "--device", "abacus"), ("--device must be a name",)),
        (("fit", "-k", 3, "--device", "mps:7"), ("this machine does not have",)),
        (("fit", "-k", 3, "--imbalance", "-1"), ("--imbalance must be",)),
        (("fit", "-k", 3, "--finetune", "0"), ("--finetune must be",)),
        (("fit", "-k", 3, "--encoder", "./none"), ("There is no folder './none'",)),
        (("fit", "-k", 3, "--encoder", "."), ("could not be loaded", "config.json")),
        (("fit", "-k", 3, "--encoder", "paper", "--offline"), ("distilbert", "Download it once")),
        (("fit", "-k", 3, "--language", "klingon"), ("klingon",)),
        (("suggest-k", "--encoder", "./none"), ("There is no folder './none'",)),
        (("suggest-k", "--values", "1,5"), ("1 is too low: 2 is the least",)),
        (("predict", "RUN", "--output-format", "xls"), ("'xls'", "csv")),
        (("predict", "RUN", "-o", "out.docx"), ("docx", "csv")),
    ],
)
def test_wrong_options_are_told_before_anything_is_read(words, parts, kept_run, tmp_path):
    command, *more = (kept_run if word == "RUN" else word for word in words)
    place = 1 if command == "predict" else 0
    result = caot(command, *more[:place], "gone.csv", *more[place:])
    assert result.exit_code in (1, 2)
    for part in parts:
        assert part in result.stderr
    assert "gone.csv" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_other_seeds_need_the_encoder_of_the_run(run, monkeypatch):
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    record["parameters"]["encoder"] = "./moved"
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    monkeypatch.setattr(RunFolder, "model", lambda _: pytest.fail("the model was loaded"))
    fails(caot("evaluate", run, "--seeds", 1), "There is no folder './moved'")


def test_an_unknown_encoder_offline_says_how_to_get_it(tickets, tmp_path):
    words = ("fit", tickets, "-k", 3, "--encoder", "nobody/nothing", "--offline", "--quiet")
    fails(caot(*words, "-o", tmp_path / "out"), "nobody/nothing", "Download it once")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["describe", "report", "evaluate", "predict"])
def test_not_a_run_folder(command, tickets, tmp_path):
    more = (tickets,) if command == "predict" else ()
    fails(caot(command, tmp_path, *more), "not a run folder", "caot fit")
    fails(caot(command, tmp_path / "gone", *more), "there is no run folder")


def test_a_model_of_a_newer_version(run, tickets):
    path = run / "model" / "config_caot.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "format_version": 99}), encoding="utf-8")
    fails(caot("predict", run, tickets), "newer format", "use that version, or a later one")


def test_a_run_of_a_newer_version(run):
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**record, "format_version": 99}), encoding="utf-8")
    fails(caot("describe", run), "newer format", "use that version, or a later one")


def test_texts_in_another_language_name_a_multilingual_encoder(tmp_path):
    from caot.runs import not_english

    german = ["wo ist der Schlüssel für das neue Haus", "ich kann die Tür nicht mehr öffnen"] * 3
    warning = not_english(german, "auto")
    assert warning is not None
    assert "German" in warning
    assert MULTILINGUAL in warning
    assert not_english(german, "some/model") is None
    assert not_english(["where is the key of the house", "I can not open the door"], "auto") is None


QUICK = """
import sys
from typer.testing import CliRunner
from caot.cli import app
result = CliRunner().invoke(app, sys.argv[1:])
print(result.exit_code, "torch" in sys.modules, result.stderr)
"""


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("fit", "gone.csv", "-k", "3"), "there is no file gone.csv"),
        (("fit", "tickets.csv", "-k", "foo"), "neither a number nor auto"),
        (("fit", "tickets.csv", "-k", "3", "--text", "nope"), "no column 'nope'"),
        (("predict", "RUN", "gone.csv"), "there is no file gone.csv"),
        (("suggest-k", "tickets.csv", "--text", "nope"), "no column 'nope'"),
    ],
)
def test_what_is_quickly_found_wrong_is_told_before_torch_is_imported(
    words, part, kept_run, tickets
):
    given = [str(kept_run) if word == "RUN" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-c", QUICK, *given], capture_output=True, text=True, check=True
    )
    code, torch, *_ = done.stdout.split()
    assert code in ("1", "2")
    assert torch == "False"
    assert part in done.stdout


def test_a_fault_of_ours_is_told_from_an_error_of_the_user():
    assert explained(KeyError("x")) == (
        "a fault of caot (KeyError: 'x'): run again with CAOT_DEBUG=1 and report what it shows",
        3,
    )
    assert explained(ValueError("two\nlines \x1b[31m")) == ("two lines \ufffd[31m", 1)


@pytest.mark.parametrize("kind", [TypeError, ImportError, ModuleNotFoundError, RuntimeError])
def test_what_python_and_other_libraries_raise_unforeseen_is_a_fault(kind):
    sentence, code = explained(kind("no such thing"))
    assert code == 3
    assert sentence.startswith(f"a fault of caot ({kind.__name__}: no such thing)")


@pytest.mark.parametrize("kind", [BackendNotAvailable, ExportError, RivalNotInstalled, RunError])
def test_errors_of_our_own_are_for_the_user(kind):
    assert explained(kind("do this")) == ("do this", 1)


def test_torchs_lack_of_memory_is_told_as_such():
    import torch

    for error in (torch.OutOfMemoryError("x"), RuntimeError("... can't allocate memory: ...")):
        sentence, code = explained(error)
        assert "not enough memory" in sentence
        assert code == 1


def test_a_model_of_vectors_reads_no_texts(tickets):
    model = Path(__file__).parents[1] / "fixtures" / "model-v1-vectors"
    fails(caot("predict", model, tickets, "--text", "subject"), "fitted on vectors")


@pytest.mark.parametrize("kind", [AssertionError, RuntimeError])
def test_a_device_that_is_not_there(kind, monkeypatch):
    def absent(*_args, **_kwargs):
        raise kind("Torch not compiled with CUDA enabled")

    with monkeypatch.context() as patch:
        patch.setattr("torch.empty", absent)
        with pytest.raises(ValueError, match="does not have") as caught:
            require_device("cuda")
    assert explained(caught.value) == (
        "--device is 'cuda', which this machine does not have: leave --device out",
        1,
    )


@pytest.mark.parametrize("place", ["/proc/nowhere/out", "tickets.csv/out"])
def test_an_output_that_cannot_be_written(place, tickets, kept_run):
    fails(fit(tickets, place, "--quiet"), f"{place} cannot be written")
    words = ("predict", kept_run, tickets, "-o", f"{place}.csv", "--quiet")
    fails(caot(*words), f"{place}.csv cannot be written")


def test_version_and_help_of_every_command():
    assert caot("--version").stdout.startswith("caot ")
    for command in ("fit", "predict", "describe", "report", "evaluate", "suggest-k", "demo"):
        assert f"caot {command}" in caot(command, "--help").stdout
