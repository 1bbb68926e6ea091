"""A backend takes the model's place only when its labels agree with the model's."""

import logging
import shutil
import sys

import numpy as np
import pytest

from caot import acceleration
from caot.acceleration import accelerate, ensure_graph
from caot.encoders.export import GRAPH_FILE, INT8_FILE, BackendNotAvailable, ExportError
from caot.encoders.exported import BACKENDS, ExportedEncoder
from caot.extras import install_hint
from caot.files import NotWritableError
from caot.prediction import predict_stream
from tests.estimator_corpus import corpus, quick
from tests.exported_graphs import PACKAGES, fitted_model, folder_with_graphs, needs_extras


@pytest.fixture(scope="module")
def texts():
    return corpus(n_per_topic=40, seed=1)[0]


@pytest.fixture(scope="module")
def fitted():
    return fitted_model()


@pytest.fixture(scope="module")
def folder():
    return folder_with_graphs()


@pytest.fixture
def no_export(monkeypatch):
    def fail(*_args):
        pytest.fail("exported although the graph was there")

    monkeypatch.setattr(acceleration, "export_onnx", fail)
    monkeypatch.setattr(acceleration, "quantise_onnx", fail)


@needs_extras
@pytest.mark.usefixtures("no_export")
@pytest.mark.parametrize("backend", BACKENDS)
def test_labels_equal_the_models(fitted, folder, texts, backend, caplog):
    # What int8 rounds away depends on the processor, and a tiny model has little to spare.
    least = 0.95 if backend.endswith("int8") else 0.995
    with caplog.at_level(logging.INFO, "caot"):
        found = accelerate(fitted, texts, backend=backend, folder=folder, min_agreement=least)
    assert found.backend == backend, found
    assert found.agreement >= least
    assert found.speed_ratio > 0
    assert isinstance(found.encoder, ExportedEncoder)
    assert f"prediction runs on {backend}: " in caplog.text
    (part,) = predict_stream(fitted, texts, encoder=found.encoder)
    assert np.mean(part.labels == fitted.predict(texts)) >= least


@needs_extras
def test_auto_takes_the_fastest_that_agrees(fitted, folder, texts, monkeypatch):
    speeds = {"onnx": 1.5, "onnx-int8": 9.0, "openvino": 2.0, "openvino-int8": 0.5}

    def compare(gate, candidate):
        labels = np.arange(4)
        others = np.zeros(4) if candidate.backend == "onnx-int8" else labels
        return labels, speeds[candidate.backend], others, 1.0

    monkeypatch.setattr(acceleration._Gate, "_compare", compare)
    found = accelerate(fitted, texts, folder=folder)
    assert found.backend == "openvino"
    assert found.speed_ratio == 2.0
    accepted = {trial.backend: trial.accepted for trial in found.trials}
    assert accepted == {
        "onnx": True,
        "onnx-int8": False,
        "openvino": True,
        "openvino-int8": False,
    }
    speeds.update(dict.fromkeys(speeds, 0.9))
    assert accelerate(fitted, texts, folder=folder).backend == "torch"
    assert accelerate(fitted, texts, backend="onnx", folder=folder).backend == "onnx"


class Damaged(ExportedEncoder):
    """Gives every second text the vector of its neighbour."""

    def encode(self, inputs, batch_size=16, progress=False):
        vectors = super().encode(inputs, batch_size, progress)
        vectors[::2] = np.roll(vectors, 50, axis=0)[::2]
        return vectors


@needs_extras
def test_damaged_backend_is_refused(fitted, folder, texts, monkeypatch, caplog):
    monkeypatch.setattr(acceleration, "ExportedEncoder", Damaged)
    with caplog.at_level(logging.INFO, "caot"):
        found = accelerate(fitted, texts, backend="onnx", folder=folder)
    assert found.backend == "torch"
    assert found.encoder is fitted.encoder_
    assert (found.agreement, found.speed_ratio) == (1, 1)
    (trial,) = found.trials
    assert trial.agreement < 0.9
    assert not trial.accepted
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert "prediction stays on torch. onnx: " in record.message
    assert "at least 99.50% must agree" in record.message
    low = accelerate(fitted, texts, backend="onnx", folder=folder, min_agreement=0.1)
    assert low.backend == "onnx"
    assert low.agreement == trial.agreement


@needs_extras
def test_vectors_that_are_not_numbers_are_refused(fitted, folder, texts, monkeypatch):
    class Broken(ExportedEncoder):
        def encode(self, inputs, batch_size=16, progress=False):
            return super().encode(inputs, batch_size, progress) * np.nan

    monkeypatch.setattr(acceleration, "ExportedEncoder", Broken)
    found = accelerate(fitted, texts, backend="onnx", folder=folder, min_agreement=0.0)
    assert found.backend == "torch"
    assert "not finite" in found.trials[0].reason


@needs_extras
def test_failing_export_keeps_torch(fitted, texts, monkeypatch):
    def fail(*_args):
        raise ExportError("some operator is unknown")

    monkeypatch.setattr(acceleration, "export_onnx", fail)
    found = accelerate(fitted, texts, backend="onnx")
    assert found.backend == "torch"
    assert found.trials[0].reason == "some operator is unknown"
    assert np.isnan(found.trials[0].agreement)


@needs_extras
@needs_extras
def test_a_model_folder_that_cannot_be_written_to_gets_its_graph_elsewhere(
    fitted, folder, texts, tmp_path, monkeypatch
):
    asked = []

    def export(_encoder, path):
        asked.append(path.is_relative_to(tmp_path))
        if asked[-1]:
            raise NotWritableError(tmp_path)
        path.parent.mkdir()
        return shutil.copy(folder / GRAPH_FILE, path)

    monkeypatch.setattr(acceleration, "export_onnx", export)
    assert accelerate(fitted, texts, backend="onnx", folder=tmp_path).backend == "onnx"
    assert asked == [True, False]


@needs_extras
def test_stale_graph_is_made_anew(fitted, folder, monkeypatch):
    assert ensure_graph(fitted.encoder_, folder) == folder / GRAPH_FILE
    assert ensure_graph(fitted.encoder_, folder, int8=True) == folder / INT8_FILE
    asked = []
    monkeypatch.setattr(acceleration, "graph_fingerprint", lambda _path: "of other weights")
    monkeypatch.setattr(acceleration, "export_onnx", lambda _encoder, path: asked.append(path))
    ensure_graph(fitted.encoder_, folder)
    assert asked == [folder / GRAPH_FILE]


@needs_extras
def test_a_graph_that_was_cut_short_is_made_anew(fitted, tmp_path):
    path = ensure_graph(fitted.encoder_, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert ensure_graph(fitted.encoder_, tmp_path).read_bytes() == whole


@needs_extras
def test_errors_of_any_kind_keep_torch(fitted, folder, texts, monkeypatch):
    class BackendError(Exception):
        pass

    def fail(*_args, **_more):
        raise BackendError("the graph does not run")

    monkeypatch.setattr(acceleration.ExportedEncoder, "open", fail)
    found = accelerate(fitted, texts, backend="onnx", folder=folder)
    assert found.backend == "torch"
    assert found.trials[0].reason == "the graph does not run"


@needs_extras
def test_encoders_without_a_graph_stay(texts):
    model = quick().fit(corpus()[0])
    found = accelerate(model, texts, backend="onnx")
    assert found.encoder is model.encoder_
    assert "not a transformer" in found.trials[0].reason


@pytest.mark.parametrize(("backend", "package"), [("onnx", "onnxruntime"), ("openvino",) * 2])
def test_missing_package_names_the_extra(fitted, texts, monkeypatch, backend, package):
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, sys.modules[__name__])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendNotAvailable, match=package) as caught:
        accelerate(fitted, texts, backend=backend)
    assert install_hint(backend) in str(caught.value)


def test_auto_without_any_package(fitted, texts, monkeypatch):
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendNotAvailable, match="no backend is installed"):
        accelerate(fitted, texts)


def test_bad_settings(fitted, texts):
    with pytest.raises(ValueError, match="there is no backend 'tpu'"):
        accelerate(fitted, texts, backend="tpu")
    with pytest.raises(ValueError, match="min_agreement must lie between 0 and 1"):
        accelerate(fitted, texts, min_agreement=99.5)
