"""Run an exported graph in the place of the encoder it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import torch
from torch import nn

from caot.encoders.batching import encode_tokens
from caot.encoders.export import INPUTS, VECTORS, graph_fingerprint, need
from caot.encoders.protocol import Ragged, Tokens

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from caot.encoders.transformer import TransformerEncoder

    # From ids and mask, both (n, length), to vectors (n, width).
    Run: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]

Backend: TypeAlias = Literal["onnx", "onnx-int8", "openvino", "openvino-int8"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

# Small batches of similar length waste the least on padding and stay in the processor's cache.
BATCH_SIZE = 16


class ExportedEncoder:
    """Tokenises as an encoder does, and computes its vectors by an exported graph.

    It has what prediction needs, and cannot be trained.

    Parameters
    ----------
    encoder : TransformerEncoder
        The encoder that the graph was made from; its tokenizer is used.
    run : callable
        Maps ids and mask, both (n, length), to vectors (n, width).
    backend : str
        What runs the graph, as shown to users.
    """

    def __init__(self, encoder: TransformerEncoder, run: Run, *, backend: str) -> None:
        self.name = encoder.name
        self.width = encoder.width
        self.backend = backend
        self._encoder = encoder
        self._run = run
        self._pad = int(encoder.module.tokenizer.pad_token_id)

    @classmethod
    def open(
        cls,
        encoder: TransformerEncoder,
        path: str | os.PathLike[str],
        *,
        backend: Backend = "onnx",
        n_threads: int | None = None,
    ) -> ExportedEncoder:
        """Open a graph that was exported from `encoder`, for as many threads as torch uses.

        Raises
        ------
        BackendNotAvailable
            When a package is missing; the message names the extra.
        ValueError
            When the graph was exported from another encoder, or from it before it was trained.
        """
        check_backend(backend)
        start = _openvino_run if backend.startswith("openvino") else _onnx_run
        if graph_fingerprint(path) != encoder.fingerprint:
            msg = f"{path} was exported from other weights: export it again from {encoder.name}"
            raise ValueError(msg)
        run = start(Path(path), n_threads or torch.get_num_threads())
        return cls(encoder, run, backend=backend)

    @property
    def max_length(self) -> int | None:
        """The most tokens of a text that are read, special tokens included."""
        return self._encoder.max_length

    def prepare(self, inputs: Iterable[str]) -> Tokens:
        """Tokenise the texts as the original encoder does."""
        return self._encoder.prepare(inputs)

    def forward(self, batch: Ragged) -> Tensor:
        """Map n tokenised texts to vectors (n, width), padded to the longest of them."""
        if not isinstance(batch, Tokens):
            msg = f"forward takes Tokens, as prepare() returns them, got {type(batch).__name__}"
            raise TypeError(msg)
        return torch.from_numpy(self._run(*batch.padded(self._pad)))

    def encode(
        self,
        inputs: Iterable[str] | Tokens,
        batch_size: int = BATCH_SIZE,
        progress: bool = False,
    ) -> NDArray[np.float32]:
        """Encode texts, or tokens from `prepare`: each distinct text once. Returns (n, width)."""
        tokens = inputs if isinstance(inputs, Tokens) else self.prepare(inputs)
        return encode_tokens(
            self.forward,
            nn.Identity(),  # a graph has no mode
            tokens,
            width=self.width,
            batch_size=batch_size,
            progress=progress,
        )


def check_backend(backend: str) -> None:
    """Raise unless there is such a backend."""
    if backend not in BACKENDS:
        msg = f"there is no backend {backend!r}: choose one of {', '.join(map(repr, BACKENDS))}"
        raise ValueError(msg)


def require_backend(backend: Backend) -> None:
    """Raise, with the extra's name, unless all that making and running a graph needs is there."""
    for package in ("onnx", "onnxscript"):
        need(package, extra="onnx")
    if backend != "openvino":  # 8-bit graphs are made by ONNX Runtime
        need("onnxruntime", extra="onnx")
    if backend.startswith("openvino"):
        need("openvino", extra="openvino")


def _onnx_run(path: Path, n_threads: int) -> Run:
    runtime = need("onnxruntime", extra="onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors
    # Threads that wait busily for the next batch slow down all else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32]
        (vectors,) = session.run([VECTORS], dict(zip(INPUTS, (ids, mask), strict=True)))
        return vectors

    return run


def _openvino_run(path: Path, n_threads: int) -> Run:
    openvino = need("openvino", extra="openvino")
    core = openvino.Core()
    # Read from memory: a mapped file could not be replaced or removed on Windows.
    model = core.read_model(path.read_bytes(), b"")
    compiled = core.compile_model(
        model,
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": n_threads,
            "INFERENCE_PRECISION_HINT": "f32",  # its own choice may be half precision
        },
    )
    request = compiled.create_infer_request()

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        request.infer(dict(zip(INPUTS, (ids, mask), strict=True)), share_inputs=True)
        # A copy: the next batch overwrites the request's memory.
        vectors: NDArray[np.float32] = request.get_tensor(VECTORS).data.copy()
        return vectors

    return run
