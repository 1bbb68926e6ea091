"""``caot fit --method``: every method makes a run that all other commands can use."""

import json
import subprocess
import sys

import numpy as np
import pytest

from caot import CAOT, load_model
from caot.baselines import METHODS
from caot.metrics import clustering_accuracy
from caot.persistence import ModelFormatError
from caot.runs import RUN_METHODS, RunError, RunFolder, RunSettings
from tests.baselines.test_rivals import libraries  # noqa: F401 - a fixture
from tests.cli.commands import TEXTS, K, caot, read_csv, run_json, write_corpus
from tests.estimator_corpus import corpus, model_folder
from tests.tiny_models import tiny_translator

RIVALS = [name for name, method in METHODS.items() if method.libraries]
NAMES = [name for name in METHODS if name not in RIVALS]
WORDS_ALONE = ("tfidf", "stcc", "self-train")
SETS = {
    "stcc": ("n_word_features=8", "min_count=1"),
    "self-train": ("n_word_features=8", "min_count=1", "hidden=[16]", "pretrain_iter=5"),
    "rstc": ("n_solves=2",),
    "fnscc": ("n_neighbors=5",),
}


def words_of(name, folder):
    """Return the options of a quick fit by a method."""
    words = ["--method", name, "-k", K, "--offline"]
    if name not in WORDS_ALONE:
        words += ["--encoder", model_folder()]
    if METHODS[name].learns:
        words += ["--max-iter", 5]
    if METHODS[name].learns and name not in WORDS_ALONE:
        words += ["--finetune", "none"]
    sets = SETS.get(name, ())
    if name == "back-trans":
        place = tiny_translator(folder / "translator")
        sets = (f"translator={place}", f"back_translator={place}")
    return [*words, *(word for pair in sets for word in ("--set", pair))]


@pytest.fixture(scope="module", params=NAMES)
def method_run(request, tmp_path_factory):
    """Return the name of a method, and a run of it, which tests may add to."""
    folder = tmp_path_factory.mktemp(request.param)
    source = write_corpus(folder / "tickets.csv")
    words = words_of(request.param, folder)
    result = caot("fit", source, "--text", "subject", "-o", folder / "run", *words)
    assert result.exit_code == 0, result.output
    return request.param, folder / "run"


def test_a_run_of_any_method_is_complete_and_says_what_it_is(method_run):
    name, run = method_run
    record, trains = run_json(run), METHODS[name].learns
    assert record["method"] == record["settings"]["method"] == name
    assert record["counts"]["clusters_used"] <= record["counts"]["clusters_asked"] == K
    assert record["imbalance"] == {}
    assert ("n_iter" in record["training"]) == trains == (run / "history.npz").is_file()
    assert "n_iter_saved" not in record["training"]
    page = (run / "report.html").read_text(encoding="utf-8")
    assert METHODS[name].title in page
    assert ('id="training"' in page) == trains


def test_any_run_predicts_what_it_was_fitted_to(method_run, tickets, tmp_path):
    _, run = method_run
    fitted = [row["cluster"] for row in read_csv(run / "assignments.csv")]
    for model in (run, run / "model"):
        output = tmp_path / f"{model.name}.csv"
        result = caot("predict", model, tickets, "--text", "subject", "-o", output)
        assert result.exit_code == 0, result.output
        assert [row["cluster"] for row in read_csv(output)] == fitted
    labels = load_model(run / "model").predict(TEXTS).tolist()
    assert list(map(str, labels)) == fitted


def test_any_run_is_described_reported_evaluated_and_exported(method_run, tmp_path):
    name, run = method_run
    for words in (
        ("describe", run, "--examples", 2),
        ("report", run, "--title", "Anew"),
        ("evaluate", run, "--labels", "topic"),
        ("export", run, "atlas", "-o", tmp_path / "atlas.parquet"),
    ):
        result = caot(*words, "--json")
        assert result.exit_code == 0, result.output
        json.loads(result.stdout)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Anew" in page
    assert ('id="training"' in page) == METHODS[name].learns


@pytest.mark.parametrize("name", ["kmeans", "self-train", "sccl"])
def test_other_seeds_are_of_the_same_method(name, tickets, tmp_path):
    words = words_of(name, tmp_path)
    caot("fit", tickets, "--text", "subject", "-o", tmp_path / "run", "-q", *words)
    result = caot("evaluate", tmp_path / "run", "--seeds", 1, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["stability"]["mean"] > 0


@pytest.mark.usefixtures("libraries")
def test_a_method_may_find_k_and_noise(tmp_path, monkeypatch):
    texts, _ = corpus(16)
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(texts), encoding="utf-8")
    words = ("--method", "evoc", "-k", "auto", "--encoder", model_folder(), "--offline")
    result = caot("fit", lines, "-o", tmp_path / "run", *words)
    assert result.exit_code == 0, result.output
    assert "1 text has no cluster" in result.stdout
    record = run_json(tmp_path / "run")
    assert record["counts"]["clusters_asked"] is None
    assert record["counts"]["clusters_used"] == 3
    assert record["counts"]["without_cluster"] == 1
    for command in (("report",), ("describe",), ("evaluate",)):
        assert caot(*command, tmp_path / "run").exit_code == 0
    assert RunFolder.open(tmp_path / "run").model().predict(texts[:1])[0] == -1


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("bertopic", ("-k", 3)),
        ("bertopic", ("-k", 3, "--set", "clustering=kmeans")),
        ("bertopic", ("-k", "auto")),
        ("umap-hdbscan", ("-k", "auto")),
        ("evoc", ("-k", 3)),
    ],
)
def test_adapters_make_runs_that_predict(method, words, tmp_path):
    texts, topics = corpus(16)
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(texts), encoding="utf-8")
    words = ("--method", method, *words, "--encoder", model_folder(), "--offline")
    result = caot("fit", lines, "-o", tmp_path / "run", *words)
    assert result.exit_code == 0, result.output
    folder = RunFolder.open(tmp_path / "run")
    np.testing.assert_array_equal(folder.model().predict(texts), folder.labels())
    found = folder.labels() >= 0
    assert clustering_accuracy(topics[found], folder.labels()[found]) > 0.6


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("-m", "kmeans", "--imbalance", "severe"), ("--imbalance", "'kmeans'", "caot, scpcl")),
        (("-m", "tfidf", "--encoder", "some/model"), ("--encoder", "'tfidf'", "leave it out")),
        (("-m", "agglomerative", "--time-budget", "1min"), ("--time-budget", "'agglomerative'")),
        (("-m", "sccl", "--set", "consistency=3"), ("no setting 'consistency'", "'sccl'")),
        (("-m", "sccl", "--set", "temprature=3"), ("did you mean 'temperature'",)),
        (("-m", "sccl", "--set", "temperature=hot"), ("temperature must be a number",)),
        (("-m", "sccl", "--set", "temperature=0"), ("temperature must be a number above 0",)),
        (("-m", "rstc", "--set", "uniformity=balanced"), ("uniformity must be 'auto' or a num",)),
        (("-m", "esimcse", "--set", "repetition=2"), ("repetition must be a number from 0 to 1",)),
        (("-m", "stcc", "--set", "n_bits=-3"), ("n_bits must be an integer of at least 1",)),
        (("-m", "sccl", "--set", "cache_memory=much"), ("cache_memory",)),
        (("-m", "sccl", "--set", "encoder=x"), ("use --encoder",)),
        (("-m", "k-means"), ("no method 'k-means'", "did you mean 'kmeans'")),
        (("-m", "kmeans", "--resume"), ("'kmeans'", "cannot be resumed", "--force")),
        (("-m", "back-trans"), ("needs a translation model", "--set translator=")),
        (("--set", "consistency=-1"), ("consistency must",)),
        (("--set", "consistancy=1"), ("did you mean 'consistency'",)),
        (("--set", "epsilon=hot"), ("wrong kind", "check epsilon=hot")),
        (("--set", "variant=3"), ("caot.Variant, got int", "check variant=3")),
        (("--set", 'variant={"strat": 1}'), ("no choice 'strat'", "start")),
    ],
)
def test_what_a_method_cannot_do_is_told_before_anything_is_read(words, parts, tmp_path):
    result = caot("fit", "gone.csv", "-k", K, "-o", tmp_path / "out", *words)
    assert result.exit_code == 1, result.output
    for part in parts:
        assert part in result.stderr
    assert "gone.csv" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_setting_of_its_own_is_a_pair():
    result = caot("fit", "gone.csv", "-k", K, "--set", "temperature")
    assert result.exit_code == 2
    assert "NAME=VALUE" in result.stderr


QUICK = """
import sys
for name in ("umap", "evoc", "bertopic"):
    sys.modules[name] = None
from typer.testing import CliRunner
from caot.cli import app
result = CliRunner().invoke(app, ["fit", "gone.csv", "-k", "auto", "--method", sys.argv[1]])
print(result.exit_code, "torch" in sys.modules, result.stderr)
"""


@pytest.mark.parametrize("name", RIVALS)
def test_a_missing_library_is_told_before_torch_is_imported(name):
    done = subprocess.run(
        [sys.executable, "-c", QUICK, name], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("1 False")
    assert '[rivals]"' in done.stdout


@pytest.mark.usefixtures("libraries")
def test_a_number_of_clusters_that_has_no_part_is_refused(tickets, tmp_path):
    result = caot("fit", tickets, "-k", 3, "--method", "umap-hdbscan", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "-k auto" in result.stderr


def test_an_interrupted_method_without_checkpoints_leaves_nothing(tickets, tmp_path, monkeypatch):
    def interrupt(*_more, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("caot.baselines.kmeans.kmeans", interrupt)
    words = words_of("kmeans", tmp_path)
    result = caot("fit", tickets, "--text", "subject", "-o", tmp_path / "run", *words)
    assert result.exit_code == 130
    assert "kmeans keeps no checkpoints: run it again" in result.stderr
    assert not (tmp_path / "run").exists()


def test_info_lists_the_methods_and_what_they_lack(monkeypatch):
    monkeypatch.setitem(sys.modules, "evoc", None)
    methods = json.loads(caot("info", "--json").stdout)["methods"]
    assert set(methods) == set(RUN_METHODS)
    assert methods["kmeans"] == methods["caot"] == "ready"
    assert "[rivals]" in methods["evoc"]
    assert "spherical-kmeans" in caot("info").stdout


def test_settings_that_caot_shares_are_left_to_the_methods_own_defaults():
    settings = RunSettings(4, method="sccl", max_iter=7, method_settings={"temperature": 0.2})
    model = settings.estimator(4)
    assert model.get_params()["batch_size"] == 400
    assert (model.get_params()["max_iter"], model.get_params()["temperature"]) == (7, 0.2)
    with pytest.raises(RunError, match="--set epsilon"):
        RunSettings(4, method="sccl", epsilon=0.5)


def test_a_caot_takes_settings_of_its_own_too(tickets, tmp_path):
    words = ("--encoder", model_folder(), "--finetune", "none", "--max-iter", 3, "--offline")
    words = (*words, "--text", "subject", "--set", "consistency=10", "-q", "-k", K)
    words = (*words, "--set", 'variant={"start": "kmeans"}')
    result = caot("fit", tickets, "-o", tmp_path / "run", *words)
    assert result.exit_code == 0, result.output
    parameters = run_json(tmp_path / "run")["parameters"]
    assert parameters["consistency"] == 10
    assert parameters["variant"]["start"] == "kmeans"


def test_a_model_of_another_method_is_no_caot(method_run):
    _, run = method_run
    with pytest.raises(ModelFormatError, match="load_model"):
        CAOT.from_pretrained(run / "model")
