"""The commands that follow a fit."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.commands import TEXTS, caot, fit, read_csv, run_json, write_corpus


def test_predict_streams_and_agrees_with_the_fit(kept_run, tickets, monkeypatch):
    monkeypatch.setattr("caot.cli.predict.CHUNK_ROWS", 7)
    result = caot("predict", kept_run, tickets, "--text", "subject", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    found, fitted = read_csv(Path("out.csv")), read_csv(kept_run / "assignments.csv")
    for name in ("ticket", "subject", "cluster", "label", "second_cluster"):
        assert [row[name] for row in found] == [row[name] for row in fitted]
    again = caot("predict", kept_run, tickets, "-o", "out.csv")
    assert again.exit_code == 1
    assert "--force" in again.stderr


def test_predict_takes_the_columns_of_the_fit(kept_run, tmp_path):
    # Alone, "title" would be taken for the text.
    source = write_corpus(tmp_path / "new.csv", title=["quite another thing"] * len(TEXTS))
    result = caot("predict", kept_run, source, "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert "fitted to" not in result.stderr
    fitted = [row["cluster"] for row in read_csv(kept_run / "assignments.csv")]
    assert [row["cluster"] for row in read_csv(Path("out.csv"))] == fitted
    guessed = caot("predict", kept_run / "model", source, "-o", "guessed.csv")
    assert "the texts are in the column 'title'" in guessed.stderr


def test_predict_says_that_it_guesses(kept_run, tmp_path):
    source = tmp_path / "new.csv"
    source.write_text(f"id,words\n1,{TEXTS[0]}\n", encoding="utf-8")
    result = caot("predict", kept_run, source)
    assert result.exit_code == 0, result.output
    assert "warning: the run was fitted to texts in 'subject'" in result.stderr
    assert "'words' are taken" in result.stderr
    assert "fitted to" not in caot("predict", kept_run, source, "--text", "words").stderr


def test_the_name_of_a_models_file_is_that_of_the_library():
    from caot.cli.predict import MODEL_FILE
    from caot.persistence import CONFIG_FILE

    assert MODEL_FILE == CONFIG_FILE


def test_a_file_without_header_loses_no_text(kept_run, tmp_path):
    source = tmp_path / "bare.csv"
    source.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    warned = caot("predict", kept_run, source, "-o", "short.csv")
    assert "--no-header" in warned.stderr
    result = caot("predict", kept_run, source, "--no-header", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert [row["column_1"] for row in read_csv(Path("out.csv"))] == TEXTS
    assert fit(source, tmp_path / "bare", "--no-header").exit_code == 0
    assert run_json(tmp_path / "bare")["counts"]["texts"] == len(TEXTS)


def test_predict_is_a_pipe(kept_run):
    lines = "".join(json.dumps({"n": i, "text": text}) + "\n" for i, text in enumerate(TEXTS))
    result = caot("predict", kept_run, "-", "--output-format", "jsonl", "-q", stdin=lines.encode())
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["n"] for row in rows] == list(range(len(TEXTS)))
    fitted = [int(row["cluster"]) for row in read_csv(kept_run / "assignments.csv")]
    assert [row["cluster"] for row in rows] == fitted


def test_predict_of_a_model_folder_and_empty_texts(kept_run, tmp_path):
    lines = f"{TEXTS[0]}\n\n{TEXTS[1]}\n".encode()
    refused = caot("predict", kept_run, "-", "--format", "txt", stdin=lines)
    assert refused.exit_code == 1
    assert "1 text is empty in stdin, in row 2 (" in refused.stderr
    words = ("-", "--format", "txt", "--on-empty", "no-cluster", "-q")
    result = caot("predict", kept_run / "model", *words, stdin=lines)
    clusters = [line.split(",")[1] for line in result.stdout.splitlines()]
    assert clusters[2] == "-1"
    assert "-1" not in (clusters[1], clusters[3])


@pytest.mark.parametrize("n_empty", [3, 12])
def test_predict_counts_all_empty_texts_of_a_file(n_empty, kept_run, tmp_path, monkeypatch):
    monkeypatch.setattr("caot.cli.predict.CHUNK_ROWS", 4)
    texts = list(TEXTS[: 3 * n_empty])
    texts[1::3] = [" "] * n_empty
    source = tmp_path / "new.txt"
    source.write_text("\n".join(texts), encoding="utf-8")
    result = caot("predict", kept_run, source, "-o", "out.csv")
    assert result.exit_code == 1
    assert f"{n_empty} texts are empty" in result.stderr
    assert "in rows 2, 5, 8" in result.stderr
    assert ("and 2 more" in result.stderr) == (n_empty == 12)
    assert "--on-empty no-cluster" in result.stderr
    assert not Path("out.csv").exists()


def test_predict_does_not_wait_for_the_end_of_a_pipe(kept_run, monkeypatch):
    monkeypatch.setattr("caot.cli.predict.CHUNK_ROWS", 2)
    lines = f"{TEXTS[0]}\n\n{TEXTS[1]}\n\n".encode()
    result = caot("predict", kept_run, "-", "--format", "txt", stdin=lines)
    assert "1 text is empty in stdin, in row 2 (" in result.stderr


def test_predict_refuses_two_things_on_stdout(kept_run, tickets):
    assert caot("predict", kept_run, tickets, "--json").exit_code == 2


def test_describe_shows_and_describes_anew(run):
    before = caot("describe", run)
    assert before.exit_code == 0
    assert "keywords" in before.stdout
    result = caot("describe", run, "--examples", 2, "--language", "none", "--json")
    assert result.exit_code == 0, result.output
    lines = (run / "clusters.jsonl").read_text(encoding="utf-8").splitlines()
    assert {len(json.loads(line)["examples"]) for line in lines} == {2}
    assert run_json(run)["settings"]["describing"]["languages"] == ["none"]
    labels = {row["label"] for row in read_csv(run / "assignments.csv")}
    assert labels == {one["label"] for one in json.loads(result.stdout)["clusters"]}


def relabel(run):
    """Give the clusters the labels of a language model, as fit or describe would."""
    path = run / "clusters.jsonl"
    clusters = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    named = [{**one, "label": f"Name {one['cluster']}"} for one in clusters]
    path.write_text("".join(json.dumps(one) + "\n" for one in named), encoding="utf-8")
    record = run_json(run)
    record["settings"]["endpoint"] = {"base_url": "https://x.example/v1", "model": "clever"}
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")


def test_labels_of_a_language_model_stay_unless_words_change(run):
    relabel(run)
    for command in ("describe", "report"):
        result = caot(command, run, "--examples", 2)
        assert result.exit_code == 0, result.output
        rows = read_csv(run / "assignments.csv")
        assert {row["label"] for row in rows} == {f"Name {row['cluster']}" for row in rows}
        assert run_json(run)["settings"]["endpoint"]["model"] == "clever"
    result = caot("describe", run, "--language", "none")
    assert "the labels that clever wrote are replaced" in result.stderr
    assert not any(row["label"].startswith("Name") for row in read_csv(run / "assignments.csv"))
    assert run_json(run)["settings"]["endpoint"] is None


def test_labels_written_later_are_recorded(run, monkeypatch):
    monkeypatch.setattr(
        "caot.runs.describing.labels_from_endpoint",
        lambda description, _texts, **_more: description.with_labels({0: "Written"}),
    )
    words = ("--llm-url", "https://x.example/v1", "--llm-model", "clever", "--send-texts")
    assert caot("describe", run, *words).exit_code == 0
    clever = {"base_url": "https://x.example/v1", "model": "clever"}
    assert run_json(run)["settings"]["endpoint"] == clever
    # One that does not answer leaves the labels as they are, and is not named as their author.
    monkeypatch.setattr(
        "caot.runs.describing.labels_from_endpoint",
        lambda description, _texts, **_more: description,
    )
    assert caot("describe", run, *words[:3], "absent", "--send-texts").exit_code == 0
    labels = {row["label"] for row in read_csv(run / "assignments.csv")}
    assert "Written" in labels
    assert run_json(run)["settings"]["endpoint"] == clever


def test_report_is_drawn_again_with_its_training(run):
    (run / "report.html").unlink()
    result = caot("report", run, "--title", "Tickets <b>of May</b>")
    assert result.exit_code == 0, result.output
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Tickets &lt;b&gt;of May&lt;/b&gt;" in page
    assert "iterations of interactive" in page
    assert caot("report", run).exit_code == 0
    assert "Tickets &lt;b&gt;of May" in (run / "report.html").read_text(encoding="utf-8")
    record = run_json(run)
    del record["title"]  # as earlier versions wrote it
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert caot("report", run).exit_code == 0
    assert "of May" not in (run / "report.html").read_text(encoding="utf-8")


def test_suggest_k_recommends_a_range(tickets):
    from tests.estimator_corpus import model_folder

    words = ("suggest-k", tickets, "--text", "subject", "--encoder", model_folder(), "--offline")
    document = json.loads(caot(*words, "--values", "2,3,4,5", "--json").stdout)
    assert [point["n_clusters"] for point in document["curve"]] == [2, 3, 4, 5]
    assert document["low"] <= document["best"] <= document["high"]
    assert "Recommended" in caot(*words).stdout
    assert caot(*words, "--values", "two").exit_code == 2


def test_export_for_embedding_atlas(run):
    result = caot("export", run, "atlas", "-o", "atlas.parquet")
    assert result.exit_code == 0, result.output
    frame = pd.read_parquet("atlas.parquet")
    assert frame["subject"].tolist() == TEXTS
    assert frame[["projection_x", "projection_y"]].notna().all(axis=None)
    assert caot("export", run, "atlas", "-o", "atlas.parquet").exit_code == 1


def test_export_to_onnx_goes_to_the_model(run, monkeypatch):
    written = []
    monkeypatch.setattr(
        "caot.encoders.export.export_onnx", lambda encoder, path: written.append((encoder, path))
    )
    assert caot("export", run, "onnx").exit_code == 0
    assert [path for _, path in written] == [run / "model" / "onnx" / "model.onnx"]


def test_fast_prediction_uses_what_was_accelerated(kept_run, tickets, monkeypatch):
    from types import SimpleNamespace

    seen = []

    def accelerate(model, sample, *, folder):
        seen.append((len(sample), folder))
        return SimpleNamespace(encoder=model.encoder_)

    monkeypatch.setattr("caot.acceleration.accelerate", accelerate)
    result = caot("predict", kept_run, tickets, "--text", "subject", "--fast", "-q")
    assert result.exit_code == 0, result.output
    assert seen == [(len(TEXTS), kept_run / "model")]


def test_info_tells_what_is_at_hand():
    document = json.loads(caot("info", "--json").stdout)
    assert document["cores"] >= 1
    assert "torch" in document["versions"]
    assert document["offline_mode"]
    assert "ready to work offline" in caot("info").stdout


def test_demo_prints_clusters_accuracy_and_report(small_demo):
    result = caot(*small_demo)
    assert result.exit_code == 0, result.output
    assert "60 texts in " in result.stdout
    assert "of their true topic" in result.stdout
    assert "caot-demo/report.html" in result.stdout
    assert run_json(Path("caot-demo"))["training"]["scores"]
