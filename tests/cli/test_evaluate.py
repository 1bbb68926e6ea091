"""``caot evaluate``: with true labels, by itself, and by other seeds."""

import json

import numpy as np
import pandas as pd
import pytest

from caot import Variant
from caot.runs import RunFolder, RunSettings, fit_run, table_of
from tests.cli.commands import TEXTS, K, caot, fit, read_csv, write_corpus
from tests.estimator_corpus import model_folder


def made_in_python(folder, **settings):
    """Return a quick run with settings that the command line has no option for."""
    table = table_of({"subject": TEXTS}, "subject")
    quick = {"encoder": str(model_folder()), "finetune": "none", "max_iter": 5}
    fit_run(table, RunFolder.prepare(folder), RunSettings(K, **quick, **settings))
    return folder


def test_evaluate_with_labels_draws_the_confusion(run):
    result = caot("evaluate", run, "--labels", "topic", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    frame = pd.read_parquet(run / "assignments.parquet")
    counts = pd.crosstab(frame["topic"], frame["cluster"]).to_numpy()
    assert document["confusion"] == counts.tolist()
    assert 0 < document["scores"]["accuracy"] <= 1
    assert (run / "confusion.svg").read_text(encoding="utf-8").startswith("<svg")
    shown = caot("evaluate", run, "--labels", "topic").stdout
    for label in set(frame["label"]):
        assert label.split()[0] in shown
    wrong = caot("evaluate", run, "--labels", "topics")
    assert wrong.exit_code == 1
    assert "did you mean 'topic'?" in wrong.stderr


def test_a_picture_needs_labels_and_replaces_nothing_unasked(kept_run, tmp_path):
    assert caot("evaluate", kept_run, "--picture", "p.svg").exit_code == 2
    other = caot("evaluate", kept_run, "--labels", "topic", "--picture", tmp_path / "p.png")
    assert other.exit_code == 2
    assert "ends in .svg" in " ".join(other.stderr.split())
    picture = tmp_path / "p.svg"
    picture.write_text("mine", encoding="utf-8")
    words = ("evaluate", kept_run, "--labels", "topic", "--picture", picture)
    refused = caot(*words)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert picture.read_text(encoding="utf-8") == "mine"
    assert caot(*words, "--force").exit_code == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_evaluate_leaves_the_empty_texts_own_cluster_out(tmp_path):
    source = write_corpus(tmp_path / "t.csv", subject=["", *TEXTS[1:-1], ""])
    words = ("--text", "subject", "--on-empty", "own-cluster")
    assert fit(source, tmp_path / "out", *words).exit_code == 0
    document = json.loads(caot("evaluate", tmp_path / "out", "--json").stdout)
    found = [int(row["cluster"]) for row in read_csv(tmp_path / "out" / "assignments.csv")]
    sizes = [found.count(cluster) for cluster in range(K)]
    assert document["n_clusters_used"] == np.count_nonzero(sizes)
    assert document["largest_share"] == pytest.approx(max(sizes) / (len(TEXTS) - 2))
    assert document["without_cluster"] == 2
    assert "2 texts without a cluster were left out" in caot("evaluate", tmp_path / "out").stdout


def test_evaluate_without_labels_measures_the_run_itself(kept_run):
    document = json.loads(caot("evaluate", kept_run, "--json").stdout)
    assert -1 <= document["silhouette"] <= 1
    assert 0 < document["mean_confidence"] <= 1
    assert document["stability"] is None


def test_evaluate_fits_other_seeds(quick_run):
    result = caot("evaluate", quick_run, "--seeds", 2)
    assert "fitting with seed 2" in result.stderr
    assert "warning: only " in result.stderr  # of the library, in the command line's way
    assert "stability over seeds, lowest ARI" in result.stdout


def test_other_seeds_have_the_variant_of_the_run(tmp_path, monkeypatch):
    variant = Variant(start="kmeans", neighbour_weight=0.0, head_iter=3)
    run = made_in_python(tmp_path / "run", variant=variant)
    fitted = []
    monkeypatch.setattr("caot.estimator.CAOT._warn_about", lambda model, _: fitted.append(model))
    result = caot("evaluate", run, "--seeds", 2, "--json")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["stability"]["pairs"]) == 3
    assert [(model.variant, model.random_state) for model in fitted] == [(variant, 1), (variant, 2)]


def shouted(texts):
    return [text.upper() for text in texts], [f"{text} now" for text in texts]


def test_a_function_of_python_cannot_be_brought_back(tmp_path):
    run = made_in_python(tmp_path / "run", augmenter=shouted)
    result = caot("evaluate", run, "--seeds", 1, "--quiet")
    assert result.exit_code == 1
    assert "'shouted'" in result.stderr
    assert "fit with other seeds in Python" in result.stderr


def test_a_run_without_any_cluster_is_told_apart(tmp_path):
    made_in_python(tmp_path / "out", min_confidence=1.0)
    result = caot("evaluate", tmp_path / "out")
    assert result.exit_code == 1
    assert "has a cluster: predict with a lower --min-confidence" in " ".join(result.stderr.split())
