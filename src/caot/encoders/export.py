"""Write a text encoder, from token ids to vectors, as one ONNX graph."""

from __future__ import annotations

import copy
import logging
import tempfile
import warnings
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from caot.encoders.opening import default_prompt, transformer_of
from caot.extras import install_hint
from caot.files import atomic_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from types import ModuleType

    from torch import Tensor

    from caot.encoders.transformer import TransformerEncoder

# Where sentence-transformers looks for a graph inside a model folder, and its name for the input
# and output that both libraries read.
GRAPH_FILE = Path("onnx") / "model.onnx"
INT8_FILE = Path("onnx") / "model_int8.onnx"
INPUTS = ("input_ids", "attention_mask")
VECTORS = "sentence_embedding"
_OUTPUTS = ("last_hidden_state", VECTORS)

# A file of protocol buffers holds at most 2 GB; the weights must leave room for the graph.
_MOST_BYTES = 1_900_000_000

_FINGERPRINT = "caot.fingerprint"

# Texts of different lengths: nothing about the example may be taken for a rule.
_EXAMPLE = ["a text", "a second text, which is longer", "a third one"]


class BackendNotAvailable(ImportError):  # noqa: N818 - the name says what happened
    """A package of an extra is missing; the message says how to get it."""


class ExportError(RuntimeError):
    """A model that cannot be written as a graph."""


def need(package: str, *, extra: str) -> ModuleType:
    """Import a package of an extra, or say how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        msg = f"{name} cannot be imported ({error}): {install_hint(extra)}"
        raise BackendNotAvailable(msg, name=name) from error


def export_onnx(encoder: TransformerEncoder, path: str | os.PathLike[str]) -> Path:
    """Write transformer, pooling and all later modules to a float32 graph; return its path.

    The graph maps ``input_ids`` and ``attention_mask``, both int64 (n, length), to
    ``sentence_embedding`` (n, width) and ``last_hidden_state`` (n, length, hidden), for any n and
    length. In a model folder its place is ``onnx/model.onnx``. It remembers the encoder's
    fingerprint. The encoder is not changed; the file appears whole or not at all.

    Raises
    ------
    BackendNotAvailable
        When the packages of the extra ``onnx`` are missing.
    ExportError
        When the model does something that a graph cannot hold.
    """
    for package in ("onnx", "onnxscript"):
        need(package, extra="onnx")
    n_bytes = sum(weight.numel() * 4 for weight in encoder.module.parameters())
    if n_bytes > _MOST_BYTES:
        msg = f"{encoder.name} has {n_bytes / 1e9:.1f} GB of weights, an ONNX file holds 2 GB"
        raise ExportError(msg)
    graph = _Graph(encoder)
    ids, mask = encoder.prepare(_EXAMPLE).padded(encoder.module.tokenizer.pad_token_id)
    any_size = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(
                graph,
                (torch.from_numpy(ids), torch.from_numpy(mask)),
                input_names=INPUTS,
                output_names=_OUTPUTS,
                dynamic_shapes=dict.fromkeys(INPUTS, any_size),
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # the exporter raises errors of many kinds
        reason = str(error).strip().partition("\n")[0]
        msg = f"{encoder.name} cannot be exported ({type(error).__name__}: {reason})"
        raise ExportError(msg) from error
    if program is None:
        msg = f"{encoder.name} cannot be exported: the exporter returned nothing"
        raise ExportError(msg)
    proto = program.model_proto
    proto.metadata_props.add(key=_FINGERPRINT, value=encoder.fingerprint)
    target = Path(path)
    with atomic_file(target) as fresh:
        fresh.write_bytes(proto.SerializeToString())
        fresh.chmod(0o644)
    return target


def quantise_onnx(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Write a graph whose weights are 8-bit integers; return its path.

    Products with weights run on integers; activations are rounded anew for every batch. Weights
    have 7 bits: with 8, processors without VNNI instructions overflow.
    """
    quantization = need("onnxruntime.quantization", extra="onnx")
    onnx = need("onnx", extra="onnx")
    proto = onnx.load(source)
    # The exporter has folded and simplified the graph; without this mark the library asks for that
    # on the root logger.
    proto.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    target = Path(path)
    with tempfile.TemporaryDirectory() as folder, atomic_file(target) as fresh:
        made = Path(folder) / "model.onnx"
        quantization.quantize_dynamic(
            proto,
            made,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            weight_type=quantization.QuantType.QInt8,
        )
        fresh.write_bytes(made.read_bytes())
        fresh.chmod(0o644)
    return target


def graph_fingerprint(path: str | os.PathLike[str]) -> str | None:
    """Return the fingerprint of the encoder that a graph was exported from, if it has one.

    A file that is no graph, such as one that was cut short, has none.
    """
    onnx = need("onnx", extra="onnx")
    try:
        properties = onnx.load(path, load_external_data=False).metadata_props
    except Exception:
        return None
    return next((entry.value for entry in properties if entry.key == _FINGERPRINT), None)


class _Graph(nn.Module):
    """What is exported: a copy of the encoder's modules on the CPU, in evaluation mode."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        super().__init__()
        self.module = copy.deepcopy(encoder.module).to("cpu", torch.float32).eval()
        # Plain products and a softmax: what runtimes recognise and fuse.
        transformer_of(self.module).model.set_attn_implementation("eager")
        read = self.module.preprocess(["text"], prompt=default_prompt(self.module))
        self.constants = {k: read[k] for k in ("modality", "prompt_length") if k in read}
        self.width = encoder.width

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        features: dict[str, Any] = {"input_ids": input_ids, "attention_mask": attention_mask}
        features = self.module({**features, **self.constants})
        return features["token_embeddings"], features[VECTORS][:, : self.width]


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what the exporter says about its own libraries: users can do nothing about it."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
