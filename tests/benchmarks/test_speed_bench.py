"""The speed benchmark runs at a tiny size, and compares what it says it compares."""

import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import (
    speed,
    speed_corpus,
    speed_fits,
    speed_growth,
    speed_memory,
    speed_plot,
    speed_prediction,
    speed_public,
    speed_steps,
)
from caot.encoders import load_encoder
from caot.training import Networks, Schedule, TrainingConfig
from caot.transport import ConsistentTransport
from tests.tiny_models import tiny_bert_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_bert_folder(tmp_path_factory.mktemp("encoder")))


def some_outliers(task, seed):
    labels = task.corpus.labels.copy()
    labels[::4] = -1
    return speed_fits.Fitted(labels, {})


MAPPED = {"method": "caot", "n_clusters": 3, "max_iter": 2}


@pytest.fixture(scope="module")
def quick(folder, tmp_path_factory):
    """Run all parts; no second process, no export and no BERTopic, which cost too much here."""
    output = tmp_path_factory.mktemp("bench")
    plot = output / "images" / "speed.png"
    agenda = replace(speed.QUICK, prediction=replace(speed.QUICK.prediction, backends=()))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CAOT_DATA", raising=False)
        patch.setattr(speed, "QUICK", agenda)
        patch.setattr(speed_fits, "fit_bertopic", some_outliers)
        patch.setattr(speed_fits.importlib.util, "find_spec", lambda name: name)
        patch.setattr(speed_growth, "_in_own_process", speed_growth.fit)
        places = ["--output", str(output), "--plot", str(plot)]
        speed.main(["--quick", "--encoder", folder, *places])
    return speed.known_records(output), plot


def test_every_part_leaves_a_record_that_names_command_and_machine(quick):
    assert set(quick[0]) == set(speed.PARTS)
    for part, record in quick[0].items():
        assert record["command"].endswith(f"--parts {part}")
        assert record["machine"]["versions"]["torch"] == torch.__version__
        assert record["benchmark_seconds"] > 0


def test_steps_are_compared_with_public_code(quick):
    record = quick[0]["steps"]
    assert [entry["data"] for entry in record["data"]] == ["stackoverflow", "tweet"]
    for entry in record["data"]:
        rows = entry["contenders"]
        assert rows[speed_steps.PUBLIC]["speedup"] == 1
        assert list(rows)[1:] == [speed_steps.ALL, speed_steps.TOP, speed_steps.FROZEN]
        for name, row in rows.items():
            low, high = row["speedup_quartiles"]
            assert 0 < low <= row["speedup"] <= high
            assert 0 < row["transport_share"] < 1
            if name in speed_steps.REQUIRED:
                assert row["required_met"] is (row["speedup"] >= speed_steps.REQUIRED[name])
        assert entry["lower_layers_once"]["milliseconds_per_text"] > 0


def test_lower_layers_make_a_step_slower_in_all(quick):
    for entry in quick[0]["steps"]["data"]:
        rows = entry["contenders"]
        without = rows[speed_steps.PUBLIC]["milliseconds"] / rows[speed_steps.TOP]["milliseconds"]
        assert entry["lower_layers_once"]["speedup_with_its_part"] < without


def test_prediction_gives_the_same_labels_padded_and_packed(quick):
    record = quick[0]["prediction"]
    rows = record["contenders"]
    assert rows[speed_prediction.PADDED]["same_labels"] == 1
    assert rows[speed_prediction.SENTENCE]["speedup"][speed_prediction.SENTENCE] == 1
    assert rows[speed_prediction.SENTENCE]["required_met"] is None
    assert set(rows[speed_prediction.TORCH]["required_met"]) == set(speed_prediction.REQUIRED)


def test_fits_show_time_and_accuracy_side_by_side(quick):
    record = quick[0]["fits"]
    assert [entry["n_texts"] for entry in record["sizes"]] == [100, 200]
    assert record["missing"] == []
    for entry in record["sizes"]:
        rows = entry["contenders"]
        assert list(rows) == [
            speed_fits.KMEANS,
            speed_fits.OURS_VECTORS,
            speed_fits.OURS,
            speed_fits.BERTOPIC,
        ]
        assert rows[speed_fits.BERTOPIC]["without_cluster"] == 0.25
        assert rows[speed_fits.BERTOPIC]["n_found"] == record["n_clusters"]
        assert rows[speed_fits.KMEANS]["without_cluster"] == 0
        assert all(0 < row["accuracy"] <= 1 and row["seconds"] > 0 for row in rows.values())


def test_growth_has_a_size_a_row_and_all_iterations(quick):
    record = quick[0]["growth"]
    assert [row["n_texts"] for row in record["rows"]] == [200, 400, 800]
    assert record["growth"][0] == record["training_growth"][0] == 1
    assert len(record["growth"]) == len(record["published_growth"]) == 3
    parts = ("before_training_seconds", "training_seconds", "after_training_seconds")
    for row in [*record["rows"], record["mapped"]]:
        assert sum(row[part] for part in parts) == pytest.approx(row["seconds"])
        assert row["n_iter"] >= 5
        # The kernel counts pages for each thread apart, so that a peak may sink by some of them.
        assert row["peak_mb"] > 0.99 * row["before_fit_mb"] > 0
    assert set(record["rivals"]) == {"rstc", "sccl"}
    for rival in record["rivals"].values():
        assert [row["n_texts"] for row in rival["rows"]] == [200, 400, 800]
        assert rival["rows"][0]["n_iter"] == 5
        assert rival["growth"][0] == 1
    assert record["mapped"]["limit_met"]
    assert record["mapped"]["n_texts"] == record["mapped"]["shape"][0]


def test_picture_shows_whatever_parts_have_a_record(quick, tmp_path):
    records, plot = quick
    assert plot.read_bytes().startswith(b"\x89PNG")
    speed_plot.plot_records({"growth": records["growth"]}, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size < plot.stat().st_size


def test_quick_run_writes_nothing_unless_told(folder, monkeypatch, capsys):
    monkeypatch.setattr(speed, "run", lambda part, source, agenda: {"encoder": source.encoder})
    monkeypatch.setattr(speed, "print_part", lambda part, record: None)
    monkeypatch.setattr(speed, "write_record", lambda *_: pytest.fail("a record was written"))
    monkeypatch.setattr(speed, "plot_records", lambda *_: pytest.fail("a picture was drawn"))
    speed.main(["--quick", "--encoder", folder, "--parts", "fits"])
    assert "no records" in capsys.readouterr().out


def test_full_run_needs_data(monkeypatch, capsys):
    monkeypatch.delenv("CAOT_DATA", raising=False)
    with pytest.raises(SystemExit):
        speed.main([])
    assert "CAOT_DATA" in capsys.readouterr().err


def test_cache_folder_is_put_back(monkeypatch):
    monkeypatch.setenv("CAOT_CACHE", "before")
    with speed.cache_at("during"):
        assert os.environ["CAOT_CACHE"] == "during"
    assert os.environ["CAOT_CACHE"] == "before"
    monkeypatch.delenv("CAOT_CACHE")
    with speed.cache_at("during"):
        pass
    assert "CAOT_CACHE" not in os.environ


def test_peak_memory_of_a_process_is_its_own():
    """Without that of the process that started it, which Linux adds to ``ru_maxrss``."""
    assert speed_memory.peak_mb() > 100  # torch is here
    code = "from benchmarks.speed_memory import peak_mb; print(peak_mb())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=speed.ROOT)
    assert 1 < float(done.stdout) < 100


def test_process_is_told_what_to_fit_and_tells_what_it_found(tmp_path, monkeypatch, capsys):
    def run_here(command, **_):
        assert command[:3] == [sys.executable, "-m", "benchmarks.speed_growth"]
        with warnings.catch_warnings():
            speed_growth.main(command[3:])
        return subprocess.CompletedProcess(command, 0, capsys.readouterr().out, "")

    speed_growth.write_clustered(tmp_path / "text.npy", (300, 8), 3)
    monkeypatch.setattr(speed_growth.subprocess, "run", run_here)
    record = speed_growth._in_own_process("mapped", tmp_path, MAPPED)
    assert record["n_texts"] == 300
    assert record["seconds"] > record["training_seconds"] > 0


def test_failed_process_says_why(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "no such file")
    monkeypatch.setattr(speed_growth.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="no such file"):
        speed_growth._in_own_process("mapped", tmp_path, MAPPED)


def test_padded_encoder_gives_our_vectors(folder):
    encoder = load_encoder(folder)
    texts = speed_corpus.toy_corpus("toy", 8).texts
    encoder.module.eval()
    with torch.no_grad():
        vectors = speed_public.PaddedEncoder.of(encoder)(texts).numpy()
    np.testing.assert_allclose(vectors, encoder.encode(texts), atol=1e-5)


def test_public_step_encodes_three_padded_views_twice_and_learns(folder, monkeypatch):
    encoder = speed_public.PaddedEncoder.of(load_encoder(folder))
    corpus = speed_corpus.toy_corpus("toy", 40)
    schedule = Schedule(10, 0, 0, batch_size=16)
    config = TrainingConfig(n_clusters=corpus.n_clusters, schedule=schedule)
    networks = Networks(16, config)
    trainer = speed_public.PublicTrainer(corpus, encoder, networks, config, ConsistentTransport())
    shapes, graphs = [], []

    def note(module, arguments, keywords, output):
        shapes.append(tuple(keywords["input_ids"].shape))
        graphs.append(output.last_hidden_state.requires_grad)

    encoder.model.register_forward_hook(note, with_kwargs=True)
    before = [weight.detach().clone() for weight in encoder.model.encoder.layer[0].parameters()]
    trainer.step()
    assert shapes == [(16, speed_public.PADDED_LENGTH)] * 6
    assert all(graphs)
    after = encoder.model.encoder.layer[0].parameters()
    assert all(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_timed_transport_gives_the_solver_s_result():
    log_prob = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 12))
    timed = speed_steps.TimedTransport(ConsistentTransport())
    result = timed(log_prob, np.ones((12, 12)))
    expected = ConsistentTransport()(log_prob, np.ones((12, 12)))
    np.testing.assert_array_equal(result.plan, expected.plan)
    assert len(timed.seconds) == 1
    assert timed.seconds[0] > 0


def test_memory_slope_is_in_kilobytes_a_text():
    found = speed_growth.memory_slope([1024, 2048, 4096], [501.0, 502.0, 504.0])
    assert found["kb_per_text"] == pytest.approx(1)
    assert found["r_squared"] == pytest.approx(1)
    assert speed_growth.memory_slope([1, 2], [500.0, 500.0])["r_squared"] is None


def test_grown_rows_never_stand_beside_themselves():
    columns = [np.full((2, 1), value, dtype=np.float32) for value in range(3)]
    original, first, second = speed_growth.grown(columns, 4)
    assert original[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    rows = {tuple(row) for row in np.hstack([original, first, second]).tolist()}
    assert all(sorted(row) == [0, 1, 2] for row in rows)
    assert len(rows) == 4


def test_prediction_is_timed_on_distinct_texts_that_were_not_compared():
    corpus = speed_corpus.toy_corpus("toy", 60)
    twice = corpus.take(np.tile(np.arange(60), 2))
    agenda = speed_prediction.PredictionAgenda(n_compared=20, n_timed=25)
    compared, timed = speed_prediction.split(twice, agenda)
    assert len(set(timed.texts)) == len(timed) == 25
    assert len(compared) == 20
    assert not set(timed.texts) & set(compared.texts)
    places = [twice.texts.index(text) for text in timed.texts]
    assert places == sorted(places)


def test_backend_that_is_missing_or_disagrees_is_recorded_and_not_timed(monkeypatch):
    from caot.acceleration import Accelerated, Trial
    from caot.encoders.export import BackendNotAvailable

    def choose(model, texts, *, backend, min_agreement):
        if backend == "openvino":
            raise BackendNotAvailable("pip install")
        accepted = backend == "onnx"
        trial = Trial(backend, 1.0 if accepted else 0.9, 2.0, accepted, "because")
        return Accelerated("graph", backend if accepted else "torch", 1.0, 2.0, (trial,))

    monkeypatch.setattr(speed_prediction, "accelerate", choose)
    names = ("onnx", "onnx-int8", "openvino")
    encoders, trials = speed_prediction.accelerated(None, [], names)
    assert encoders == {"onnx": "graph"}
    assert [trial.accepted for trial in trials] == [True, False, False]
    records = [speed_prediction._trial(trial) for trial in trials]
    assert json.loads(json.dumps(records))[2]["agreement"] is None


def test_corpus_of_a_file_keeps_texts_and_views_together(tmp_path):
    import pandas as pd

    path = tmp_path / "short-text"
    path.mkdir()
    table = {"text": ["a b", " ", "null"], "label": [0, 1, 1]}
    table |= {"text1_10": ["a c", "x", "one"], "text2_10": ["d b", "y", "two"]}
    pd.DataFrame(table).to_csv(path / "toy.csv.gz", index=False)
    corpus = speed_corpus.Source(data_dir=tmp_path).corpus("toy")
    assert corpus.texts == ["a b", "null"]
    assert corpus.views == (["a c", "one"], ["d b", "two"])
    assert corpus.labels.tolist() == [0, 1]


@pytest.mark.parametrize("path", sorted(speed.RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_records_are_of_a_full_run(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert path.stem in speed.PARTS
    assert record["encoder"] == "auto"
    assert record["command"] == f"python -m benchmarks.speed --parts {path.stem}"
