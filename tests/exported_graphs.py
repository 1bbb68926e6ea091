"""A fitted model saved with its graphs, made once per run: an export takes seconds."""

from __future__ import annotations

import importlib.util
import tempfile
from functools import cache
from pathlib import Path

import pytest

from caot import CAOT, Variant
from caot.encoders.export import GRAPH_FILE, INT8_FILE, export_onnx, quantise_onnx
from tests.estimator_corpus import corpus, quick_text

PACKAGES = ("onnx", "onnxscript", "onnxruntime", "openvino")
_absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
needs_extras = pytest.mark.skipif(
    bool(_absent), reason=f"caot[onnx,openvino] not installed: no {', '.join(_absent)}"
)

# Kept alive for the session; removed when Python ends.
_folder = tempfile.TemporaryDirectory(prefix="caot-graphs-")


@cache
def fitted_model() -> CAOT:
    """Return a model whose encoder is the tiny BERT, which normalises its vectors.

    It knows no words: they alone would tell the topics, whatever the graphs give.
    """
    variant = Variant(head_iter=60, kmeans_restarts=2, word_weight=0.0)
    return quick_text(variant=variant).fit(corpus()[0])


@cache
def folder_with_graphs() -> Path:
    """Return the folder of that model, with its float32 and its int8 graph."""
    model, folder = fitted_model(), Path(_folder.name) / "saved"
    model.save_pretrained(folder)
    export_onnx(model.encoder_, folder / GRAPH_FILE)
    quantise_onnx(folder / GRAPH_FILE, folder / INT8_FILE)
    return folder
