"""Exported graphs give the encoder's vectors, and say what they need."""

import logging
import sys

import numpy as np
import pytest
import torch

from caot.encoders import TransformerEncoder
from caot.encoders import export as export_module
from caot.encoders.export import (
    GRAPH_FILE,
    INT8_FILE,
    BackendNotAvailable,
    ExportError,
    export_onnx,
    graph_fingerprint,
    need,
    quantise_onnx,
)
from caot.encoders.exported import BACKENDS, ExportedEncoder, require_backend
from caot.encoders.protocol import Activations
from caot.extras import install_hint
from tests.estimator_corpus import model_folder as tiny_model
from tests.exported_graphs import fitted_model, folder_with_graphs, needs_extras
from tests.tiny_models import FAMILIES


@pytest.fixture(scope="module")
def small():
    """Return a BERT of two layers that normalises."""
    return fitted_model().encoder_


@pytest.fixture(scope="module")
def model_folder():
    return folder_with_graphs()


@needs_extras
@pytest.mark.parametrize("backend", ["onnx", "openvino"])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_vectors_equal_the_encoders(small, model_folder, texts, backend, batch_size):
    exported = ExportedEncoder.open(small, model_folder / GRAPH_FILE, backend=backend)
    vectors = exported.encode(texts, batch_size=batch_size)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), 16)
    np.testing.assert_allclose(vectors, small.encode(texts), rtol=0, atol=1e-5)
    assert exported.name == small.name
    assert exported.width == small.width == 16
    assert exported.max_length == small.max_length
    assert exported.backend == backend


@needs_extras
def test_loaded_model_folder_uses_its_graph(model_folder, texts):
    loaded = TransformerEncoder.load(model_folder, device="cpu")
    exported = ExportedEncoder.open(loaded, model_folder / GRAPH_FILE)
    np.testing.assert_allclose(exported.encode(texts), loaded.encode(texts), rtol=0, atol=1e-5)


@needs_extras
@pytest.mark.parametrize("graph", [GRAPH_FILE, INT8_FILE])
def test_others_may_read_a_graph(model_folder, graph):
    assert (model_folder / graph).stat().st_mode & 0o777 == 0o644


@needs_extras
def test_graph_has_what_sentence_transformers_reads(model_folder):
    import onnx

    graph = onnx.load(model_folder / GRAPH_FILE).graph
    assert [value.name for value in graph.input] == ["input_ids", "attention_mask"]
    assert {value.name for value in graph.output} == {"last_hidden_state", "sentence_embedding"}
    assert str(GRAPH_FILE).replace("\\", "/") == "onnx/model.onnx"
    for value in graph.input:
        sizes = value.type.tensor_type.shape.dim
        assert all(size.dim_param for size in sizes), "any number of texts, any length"


@needs_extras
@pytest.mark.parametrize("backend", ["onnx-int8", "openvino-int8"])
def test_eight_bits_come_near(small, model_folder, texts, backend):
    exported = ExportedEncoder.open(small, model_folder / INT8_FILE, backend=backend)
    vectors, exact = exported.encode(texts), small.encode(texts)
    assert np.abs(vectors - exact).max() > 1e-6, "not rounded"
    cosines = np.sum(vectors * exact, axis=1) / (
        np.linalg.norm(vectors, axis=1) * np.linalg.norm(exact, axis=1)
    )
    assert cosines.min() > 0.99


@needs_extras
def test_tokens_and_repeated_texts(small, model_folder, texts):
    exported = ExportedEncoder.open(small, model_folder / GRAPH_FILE)
    vectors = exported.encode(exported.prepare(texts), batch_size=2)
    np.testing.assert_array_equal(vectors[2], vectors[5])
    with pytest.raises(TypeError, match="forward takes Tokens"):
        exported.forward(Activations(np.zeros((1, 4)), np.array([0, 1])))


@needs_extras
def test_graph_of_other_weights_is_refused(small, model_folder):
    other = TransformerEncoder.load(tiny_model(), device="cpu")  # before it was trained
    assert graph_fingerprint(model_folder / GRAPH_FILE) == small.fingerprint
    assert graph_fingerprint(model_folder / INT8_FILE) == small.fingerprint
    with pytest.raises(ValueError, match="exported from other weights"):
        ExportedEncoder.open(other, model_folder / GRAPH_FILE)
    with pytest.raises(ValueError, match="there is no backend 'tpu'"):
        ExportedEncoder.open(small, model_folder / GRAPH_FILE, backend="tpu")


@needs_extras
def test_threads_are_torchs(small, model_folder, monkeypatch):
    import onnxruntime

    seen = []
    true_session = onnxruntime.InferenceSession

    def session(path, options, **rest):
        seen.append(options.intra_op_num_threads)
        return true_session(path, options, **rest)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    ExportedEncoder.open(small, model_folder / GRAPH_FILE)
    ExportedEncoder.open(small, model_folder / GRAPH_FILE, n_threads=2)
    assert seen == [torch.get_num_threads(), 2]


@needs_extras
def test_failed_export_leaves_no_file_and_says_why(small, tmp_path, monkeypatch):
    def fail(*_args, **_settings):
        raise KeyError("some operator")

    monkeypatch.setattr(torch.onnx, "export", fail)
    with pytest.raises(ExportError, match=r"cannot be exported \(KeyError: 'some operator'\)"):
        export_onnx(small, tmp_path / "model.onnx")
    monkeypatch.setattr(export_module, "_MOST_BYTES", 10)
    with pytest.raises(ExportError, match="an ONNX file holds 2 GB"):
        export_onnx(small, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@needs_extras
def test_quantising_leaves_the_root_logger_alone(model_folder, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        quantise_onnx(model_folder / GRAPH_FILE, tmp_path / "int8.onnx")
    assert not [record for record in caplog.records if record.name == "root"]


@pytest.mark.parametrize(
    ("package", "extra"),
    [("onnxruntime", "onnx"), ("onnx", "onnx"), ("onnxscript", "onnx"), ("openvino", "openvino")],
)
def test_missing_package_names_the_extra(monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendNotAvailable) as caught:
        need(package, extra=extra)
    assert install_hint(extra) in str(caught.value)
    assert caught.value.name == package


@needs_extras
def test_openvino_alone_runs_without_onnxruntime(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    require_backend("openvino")
    for backend in set(BACKENDS) - {"openvino"}:
        with pytest.raises(BackendNotAvailable, match="onnxruntime"):
            require_backend(backend)


@needs_extras
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_exported(folder_of, tmp_path, texts, family):
    pooling = {"qwen3": "lasttoken", "xlmr": "cls"}.get(family, "mean")
    folder = folder_of(family, pooling=pooling, dense=14, truncate_dim=12)
    encoder = TransformerEncoder.load(folder, device="cpu")
    encoder.module.train()
    path = export_onnx(encoder, tmp_path / "model.onnx")
    assert encoder.module.training, "the encoder's mode stays as it was"
    expected = encoder.encode(texts)
    assert expected.shape == (len(texts), 12)
    for backend in ("onnx", "openvino"):
        vectors = ExportedEncoder.open(encoder, path, backend=backend).encode(texts, batch_size=2)
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-4)
