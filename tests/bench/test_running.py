"""A cell runs without labels and leaves a whole record, whatever happens."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import caot
from caot.bench import methods, running
from caot.bench.methods import Method
from caot.bench.records import CellStatus, config_hash, read_record, read_records, write_record
from caot.bench.running import RunPlace, cell_hash, run_cell
from caot.bench.views import views_of
from caot.estimator import CAOT
from tests.bench.corpus import cell, write_data
from tests.estimator_corpus import model_folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("CAOT_CACHE", str(tmp_path / "cache"))
    return RunPlace(None, tmp_path / "cache", 1)


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "topics.csv")


def test_a_record_holds_what_is_needed_to_judge_and_repeat_it(data, place):
    record = run_cell(cell(data), place)
    assert record["status"] == "done", record
    scores = record["scores"]
    assert scores["n_clusters_used"] <= 3
    assert {"accuracy", "nmi_geometric", "nmi_arithmetic", "ari"} <= set(scores)
    stages = ["before training", "warm-up", "head start", "interactive", "after training"]
    assert list(record["seconds_by_stage"]) == stages
    assert record["n_iter"] == 12 + 80
    assert record["pseudo_labelled"] == 36
    assert record["config"]["random_state"] == 0
    assert record["config_hash"] == cell_hash(cell(data), 3)
    assert record["peak_memory_mb"] > 50
    assert record["n_parameters"]["networks"] > 0
    assert len(record["data_sha256"]) == 64
    assert record["views"] == "text1/text2"
    assert {"caot", "torch"} <= set(record["versions"])
    assert record["machine"]["threads"] == 1
    assert set(record["representation"]) == {"projection"}
    json.dumps(record, default=str)


def test_labels_cannot_reach_a_fit(data, tmp_path, place):
    """The same texts with other labels give the same clusters, bit for bit."""
    other = write_data(tmp_path / "shifted.csv", shift=1)
    for method in ("kmeans", "tfidf", "sccl", "rstc", "caot", "caot-faithful"):
        left, right = run_cell(cell(data, method), place), run_cell(cell(other, method), place)
        assert left["data_sha256"] != right["data_sha256"]
        assert left["labels_sha256"] == right["labels_sha256"]


def test_a_method_is_given_texts_views_and_observers_alone(data, place, monkeypatch):
    seen = {}

    class Spy:
        def fit(self, X, y=None, *, views=None, callbacks=()):
            seen.update(X=X, y=y, views=views, callbacks=callbacks)
            self.labels_ = np.arange(len(X)) % 3
            return self

        def get_params(self, deep=True):
            return {}

    monkeypatch.setattr(
        running, "find_method", lambda _name: Method("spy", None, lambda _cell, _k: Spy(), False)
    )
    assert run_cell(cell(data, "spy"), place)["status"] == "done"
    truth = np.repeat([0, 1, 2], 12)
    assert seen["y"] is None
    assert all(isinstance(text, str) for text in seen["X"])
    held = [value for part in seen["callbacks"] for value in vars(part).values()]
    assert not any(np.array_equal(value, truth) for value in held)


def test_without_pseudo_labels_kmeans_on_the_representations_is_reported(data, place):
    frozen = run_cell(cell(data, variant="without-pseudo-labels"), place)
    kmeans = run_cell(cell(data, "kmeans"), place)
    # A frozen encoder leaves the representations as they were.
    assert frozen["labels_sha256"] == kmeans["labels_sha256"]
    assert "pseudo_label_scores" not in frozen
    assert frozen["n_iter"] == 12 + 80
    learned = run_cell(cell(data, variant="without-pseudo-labels", finetune="1"), place)
    assert set(learned["representation"]) == {"projection", "encoder"}


def test_failures_are_recorded_without_paths_of_the_machine(data, place, monkeypatch):
    def fail(*_args, **_more):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(CAOT, "fit", fail)
    record = run_cell(cell(data), place)
    assert record["status"] == CellStatus.FAILED
    assert record["error"] == "RuntimeError: out of luck"
    assert "in fit_without_labels" in record["traceback"]
    from pathlib import Path

    import caot

    assert str(Path(caot.__file__).parents[1]) not in record["traceback"]


def test_an_encoder_that_is_not_at_hand_is_no_failure(data, place):
    record = run_cell(cell(data, encoder="nobody/has-this-model"), place)
    assert record["status"] == CellStatus.NOT_RUN
    assert "has-this-model" in record["error"]
    assert str(Path(caot.__file__).parents[2]) not in record["error"]


def test_feature_curves_are_kept_where_the_paper_draws_them(data, place, monkeypatch):
    monkeypatch.setattr(running, "_FEATURE_CURVES", (str(data),))
    points = run_cell(cell(data), place)["ns"]
    assert [point["iteration"] for point in points][:: len(points) - 1] == [0, 91]
    assert all(point["value"] is None or point["value"] > 0 for point in points)


@pytest.mark.parametrize("method", ["sccl", "rstc", "scpcl", "fnscc", "cc"])
def test_any_method_that_trains_on_views_is_measured(method, data, place, monkeypatch):
    monkeypatch.setattr(running, "_FEATURE_CURVES", (str(data),))
    monkeypatch.setattr(running, "_DRAWN", (method,))
    watched = run_cell(cell(data, method), place)
    assert watched["status"] == "done", watched
    assert [point["iteration"] for point in watched["ns"]][:: len(watched["ns"]) - 1] == [0, 11]
    assert all(point["value"] is None or 0 < point["value"] <= 1 for point in watched["ns"])
    assert set(watched["representation"]) == {"projection", "encoder"}
    assert watched["n_parameters"]["networks"] > 0
    assert watched["n_parameters"]["encoder"] > 0
    assert ("pseudo_label_scores" in watched) == (method == "rstc")
    stages = list(watched["seconds_by_stage"])
    assert (stages[0], stages[-2:]) == ("before training", ["interactive", "after training"])
    monkeypatch.setattr(running, "_FEATURE_CURVES", ())
    alone = run_cell(cell(data, method), place)
    assert alone["labels_sha256"] == watched["labels_sha256"]  # watching changes nothing
    assert "ns" not in alone


@pytest.mark.parametrize("method", ["stcc", "simcse", "esimcse"])
def test_methods_without_given_views_are_measured_too(method, data, place, monkeypatch):
    monkeypatch.setattr(running, "_FEATURE_CURVES", (str(data),))
    record = run_cell(cell(data, method), place)
    assert record["status"] == "done", record
    assert record["views"] is None
    assert set(record["representation"]) == {"encoder"}
    assert record["n_iter"] > 0


@pytest.mark.parametrize(("method", "part"), [("back-trans", "translation"), ("evoc", "rivals")])
def test_what_a_method_lacks_is_no_failure(method, part, data, place, monkeypatch):
    monkeypatch.setitem(sys.modules, "evoc", None)
    record = run_cell(cell(data, method), place)
    assert record["status"] == CellStatus.NOT_RUN
    assert part in record["error"]


def test_views_are_made_once_and_found_again(tmp_path, monkeypatch):
    from caot.bench.datasets import load_data
    from caot.encoders import load_encoder

    path = write_data(tmp_path / "plain.csv", views=False)
    asked = []

    def tiny(_name):
        asked.append(_name)
        return load_encoder(model_folder())

    monkeypatch.setattr("caot.bench.views.load_encoder", tiny)
    data = load_data(str(path))
    made, again = views_of(data, tmp_path), views_of(data, tmp_path)
    assert made.views == again.views
    assert asked == ["auto"]
    assert made.name.startswith("Substitute(")
    assert made.views[0] != made.views[1]


def test_no_views_are_made_for_methods_that_take_none(tmp_path, place, monkeypatch):
    monkeypatch.setattr("caot.bench.views.load_encoder", None)
    path = write_data(tmp_path / "plain.csv", views=False)
    assert run_cell(cell(path, "kmeans"), place)["status"] == "done"
    assert run_cell(cell(path, "caot", variant="noise-views"), place)["status"] == "done"


def test_images_get_features(tmp_path, place):
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], 20)
    images = rng.integers(0, 40, (40, 12, 12), dtype=np.uint8)
    images[kinds == 0, 3, :] = 255
    images[kinds == 1, :, 8] = 255
    np.savez(tmp_path / "i.npz", x=images, y=kinds)
    record = run_cell(cell(tmp_path / "i.npz", "kmeans", encoder="auto"), place)
    assert record["status"] == "done", record
    assert record["scores"]["accuracy"] > 0.9
    assert "not the paper's extractor" in record["features"]


def test_records_are_read_as_they_were_written(tmp_path, data, place):
    content = run_cell(cell(data, "kmeans"), place)
    path = cell(data, "kmeans").path(tmp_path / "results")
    write_record(path, {**content, "odd": float("nan"), "array": np.arange(2)})
    record = read_record(path)
    assert record.cell == cell(data, "kmeans")
    assert record.is_done
    assert record.content["odd"] is None
    assert record.content["array"] == [0, 1]
    (path.parent / "other.json").write_text("{}")
    (path.parent / "broken.json").write_text("{")
    assert [r.cell for r in read_records(tmp_path / "results")] == [record.cell]
    assert record.score("accuracy") == 100 * content["scores"]["accuracy"]


def test_a_hash_follows_the_settings():
    assert config_hash({"a": 1, "b": 2}) == config_hash({"b": 2, "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})
    assert methods.plain_parameters(CAOT(3))["n_clusters"] == 3
