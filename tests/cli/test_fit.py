"""``caot fit``: what it reads, what it writes, what it says."""

import gzip
import hashlib
import json

import pandas as pd
import pytest

from caot import CAOT, load_model
from caot.threads import n_threads
from tests.cli.commands import TEXTS, K, caot, fit, read_csv, run_json, write_corpus
from tests.estimator_corpus import model_folder

OURS = ["cluster", "label", "confidence", "second_cluster", "second_confidence"]


def test_the_run_folder_is_complete(kept_run):
    names = {path.name for path in kept_run.iterdir()}
    assert names == {
        "model",
        "assignments.csv",
        "assignments.parquet",
        "clusters.csv",
        "clusters.jsonl",
        "history.npz",
        "report.html",
        "run.json",
    }


def test_assignments_keep_rows_columns_and_order(kept_run):
    rows = read_csv(kept_run / "assignments.csv")
    assert list(rows[0]) == ["ticket", "subject", "topic", *OURS]
    assert [row["subject"] for row in rows] == TEXTS
    frame = pd.read_parquet(kept_run / "assignments.parquet")
    assert frame["ticket"].tolist() == [row["ticket"] for row in rows]
    assert frame["cluster"].tolist() == [int(row["cluster"]) for row in rows]


def test_assignments_are_what_the_saved_model_predicts(kept_run):
    frame = pd.read_parquet(kept_run / "assignments.parquet")
    model = CAOT.from_pretrained(kept_run / "model")
    assert frame["cluster"].tolist() == model.predict(TEXTS).tolist()
    assert frame["confidence"].to_numpy() == pytest.approx(model.predict_proba(TEXTS).max(axis=1))


def test_clusters_tell_size_label_keywords_and_examples(kept_run):
    lines = (kept_run / "clusters.jsonl").read_text(encoding="utf-8").splitlines()
    clusters = [json.loads(line) for line in lines]
    assert sum(one["size"] for one in clusters) == len(TEXTS)
    assert len(clusters) == K
    assert all(set(one["examples"]) <= set(TEXTS) and one["keywords"] for one in clusters)
    labels = {row["cluster"]: row["label"] for row in read_csv(kept_run / "assignments.csv")}
    assert labels == {str(one["cluster"]): one["label"] for one in clusters}
    assert [row["label"] for row in read_csv(kept_run / "clusters.csv")] == [
        one["label"] for one in clusters
    ]


def test_run_json_has_what_a_rerun_needs(kept_run):
    record = run_json(kept_run)
    source = kept_run.parent / "tickets.csv"
    assert record["input"]["name"] == "tickets.csv"
    assert record["input"]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert record["input"]["text_columns"] == ["subject"]
    assert record["parameters"]["n_clusters"] == K
    assert record["parameters"]["random_state"] == 0
    assert record["counts"]["texts"] == len(TEXTS)
    assert record["training"]["n_iter"] + record["training"]["n_iter_saved"] == 400 + 80
    assert {"prepare", "interactive", "describe", "write", "report"} <= set(record["timings"])
    assert record["imbalance"]["uniformity"] > 0
    assert "torch" in record["versions"]
    assert record["threads"] == n_threads()
    assert "model/config_caot.json" in record["files"]


def test_json_is_one_document_and_progress_goes_to_stderr(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "--json", "--min-confidence", 1.0)
    document = json.loads(result.stdout)
    assert document["folder"] == str(tmp_path / "out")
    assert document["run"]["counts"]["without_cluster"] > 0
    assert "the texts are in the column 'subject'" in result.stderr
    assert "clustering: " in result.stderr
    assert "loss" in result.stderr
    rows = read_csv(tmp_path / "out" / "assignments.csv")
    assert {row["label"] for row in rows if row["cluster"] == "-1"} == {""}


def test_the_log_says_how_uneven_the_clusters_seem(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out")
    found = run_json(tmp_path / "out")["imbalance"]
    line = (
        f"imbalance: sizes of the first clusters vary by {found['coefficient']:.2f} "
        f"({found['level']}), penalty weight {found['uniformity']:.3g}"
    )
    assert line in result.stderr.splitlines()


def test_quiet_says_nothing(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "out" / "report.html").is_file()


def test_gzip_from_stdin_gives_the_same_clusters(quick_run, tmp_path):
    piped = gzip.compress((quick_run.parent / "tickets.csv").read_bytes())
    result = fit("-", tmp_path / "out", "--text", "subject", stdin=piped)
    assert result.exit_code == 0, result.output
    assert read_csv(tmp_path / "out" / "assignments.csv") == read_csv(quick_run / "assignments.csv")
    assert run_json(tmp_path / "out")["input"]["sha256"] is None


def test_empty_texts_get_a_cluster_of_their_own(tmp_path):
    source = write_corpus(tmp_path / "t.csv", subject=["  ", *TEXTS[1:-1], ""])
    result = fit(source, tmp_path / "out", "--text", "subject", "--on-empty", "own-cluster")
    assert result.exit_code == 0, result.output
    rows = read_csv(tmp_path / "out" / "assignments.csv")
    assert [row["cluster"] for row in (rows[0], rows[-1])] == [str(K)] * 2
    assert rows[0]["second_cluster"] == "-1"
    assert run_json(tmp_path / "out")["counts"]["empty"] == 2


def test_k_auto_is_found_and_recorded(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "-k", "auto", "--text", "subject")
    assert result.exit_code == 0, result.output
    assert "-k auto: K = " in result.stderr
    record = run_json(tmp_path / "out")
    assert record["settings"]["n_clusters"] == "auto"
    assert record["parameters"]["n_clusters"] >= 2


def test_several_columns_are_joined_and_named_ones_of_ours_step_aside(tmp_path):
    source = write_corpus(tmp_path / "t.csv", cluster=["mine"] * len(TEXTS))
    result = fit(source, tmp_path / "out", "--text", "topic", "--text", "subject")
    assert result.exit_code == 0, result.output
    rows = read_csv(tmp_path / "out" / "assignments.csv")
    assert {row["cluster"] for row in rows} == {"mine"}
    assert {row["cluster_caot"] for row in rows} <= {"0", "1", "2"}
    assert run_json(tmp_path / "out")["columns"]["cluster"] == "cluster_caot"
    assert "cluster is cluster_caot." in result.stdout


def test_texts_without_a_cluster_are_counted(tickets, tmp_path):
    result = fit(tickets, tmp_path / "out", "--min-confidence", 1.0)
    missing = run_json(tmp_path / "out")["counts"]["without_cluster"]
    assert f"{missing:,} texts have no cluster: the confidence is below 1." in result.stdout


@pytest.mark.parametrize("method", ["caot", "kmeans"])
def test_long_texts_are_read_in_chunks(method, tmp_path):
    long = [" ".join([text] * 20) for text in TEXTS]
    source = write_corpus(tmp_path / "t.csv", subject=long)
    words = ("fit", source, "--text", "subject", "--max-chunks", 3, "-k", "auto", "-m", method)
    result = caot(*words, "--encoder", model_folder(), "--offline", "-o", tmp_path / "run")
    assert result.exit_code == 0, result.output
    record = run_json(tmp_path / "run")
    assert record["parameters"]["max_chunks"] == record["settings"]["max_chunks"] == 3
    model = load_model(tmp_path / "run" / "model", device="cpu")
    assert model.encoder_.max_chunks == 3
    found = [int(row["cluster"]) for row in read_csv(tmp_path / "run" / "assignments.csv")]
    assert found == model.predict(long).tolist()


@pytest.mark.parametrize("command", [("fit", "-k", "auto"), ("suggest-k",)])
def test_numbers_of_clusters_are_compared_on_what_is_read(command, tickets, monkeypatch):
    def read(_spec, *, max_chunks, **_more):
        raise ValueError(f"read in {max_chunks} chunks")

    monkeypatch.setattr("caot.runs.inputs.load_encoder", read)
    words = (tickets, "--text", "subject", "--max-chunks", 3, "-e", model_folder())
    assert "read in 3 chunks" in caot(command[0], *words, *command[1:]).stderr


def test_without_output_the_folder_is_named_after_the_input():
    from caot.cli.fit import default_folder

    assert str(default_folder("data/tickets.csv.gz")) == "tickets-run"
    assert str(default_folder("-")) == "caot-run"
