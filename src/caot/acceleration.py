"""Faster prediction by an exported graph, used only where its labels are the model's own."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from caot.encoders import ChunkedEncoder, TransformerEncoder
from caot.encoders.export import (
    GRAPH_FILE,
    INT8_FILE,
    BackendNotAvailable,
    export_onnx,
    graph_fingerprint,
    quantise_onnx,
)
from caot.encoders.exported import (
    BACKENDS,
    Backend,
    ExportedEncoder,
    check_backend,
    require_backend,
)
from caot.extras import install_hint
from caot.inputs import read_inputs
from caot.prediction import Encodes, FittedModel, encode_by, probabilities, text_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from caot.encoders import Encoder
    from caot.inputs import Inputs

logger = logging.getLogger("caot.acceleration")

TORCH: Literal["torch"] = "torch"

# How often each encoder is timed, alternately; the fastest time counts.
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """How a backend did on the sample.

    Parameters
    ----------
    backend : str
        Which one.
    agreement : float
        Share of the sample's texts that get the model's own label; NaN if it could not run.
    speed_ratio : float
        The model's own encoding time divided by the backend's, tokenising included.
    accepted : bool
        Whether the backend may take the model's place.
    reason : str
        Why, or why not.
    """

    backend: str
    agreement: float
    speed_ratio: float
    accepted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Accelerated:
    """The encoder to predict with, and how it was chosen.

    Parameters
    ----------
    encoder : object
        Goes into ``predict_stream(..., encoder=...)``; the model's own if nothing better was found.
    backend : str
        What it runs on; "torch" is the model's own.
    agreement : float
        Share of the sample's texts that get the model's own label.
    speed_ratio : float
        How many times faster than the model's own encoder it was on the sample.
    trials : tuple of Trial
        All that was tried.
    """

    encoder: Encodes
    backend: str
    agreement: float
    speed_ratio: float
    trials: tuple[Trial, ...]


def accelerate(
    model: FittedModel,
    sample_texts: Iterable[str],
    *,
    backend: Backend | Literal["auto"] = "auto",
    min_agreement: float = 0.995,
    batch_size: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Accelerated:
    """Return a faster encoder for prediction, if one gives the model's labels on a sample.

    Parameters
    ----------
    model
        A fitted model.
    sample_texts
        Texts like those to come. A thousand tell an agreement of 99.5 % from 99 %; few do not.
    backend
        "onnx", "onnx-int8", "openvino" or "openvino-int8", used if its labels agree; or "auto":
        the fastest of the installed ones whose labels agree, if it is faster than torch.
    min_agreement
        The least share of the sample that must keep its label.
    batch_size
        Texts that are encoded together; None is as many as each encoder itself takes, as in
        ``predict_stream``.
    folder
        A saved model: graphs that lie in it are used if they fit the model, others are added if it
        can be written to.

    Raises
    ------
    BackendNotAvailable
        When a backend is named and its package is missing, or "auto" finds none.
    """
    if not 0 <= min_agreement <= 1:
        msg = f"min_agreement must lie between 0 and 1, got {min_agreement}"
        raise ValueError(msg)
    candidates = _candidates(backend)
    encoder = text_encoder(model)
    own = "own-cluster" if model.has_own_cluster_ else "error"
    sample = read_inputs(sample_texts, on_empty=own)
    gate = _Gate(model, encoder, sample, min_agreement, batch_size, backend == "auto")
    if not isinstance(encoder, TransformerEncoder) or encoder.device.type != "cpu":
        trials = [_failed(name, _why_not(encoder)) for name in candidates]
        return gate.choose([(trial, None) for trial in trials])
    with tempfile.TemporaryDirectory() as scratch:
        places = [Path(place) for place in (folder, scratch) if place is not None]
        tried = [gate.run(name, partial(_open, encoder, places, name)) for name in candidates]
    return gate.choose(tried)


@dataclass(frozen=True, slots=True)
class _Gate:
    """Compares encoders with the model's own on a sample."""

    model: FittedModel
    encoder: Encodes
    sample: Inputs
    min_agreement: float
    batch_size: int | None
    is_auto: bool

    def run(self, backend: str, open_it: Callable[[], Encodes]) -> tuple[Trial, Encodes | None]:
        """Try a backend; what goes wrong in it is a reason not to use it."""
        try:
            candidate = open_it()
            expected, own_time, found, time_taken = self._compare(candidate)
        except BackendNotAvailable:
            raise
        except Exception as error:
            return _failed(backend, str(error)), None
        agreement = float(np.mean(expected == found))
        ratio = own_time / time_taken
        agrees = agreement >= self.min_agreement
        accepted = agrees and (ratio > 1 or not self.is_auto)
        reason = f"{agreement:.2%} of {len(found)} labels agree, {ratio:.2f} times torch's speed"
        if not agrees:
            reason += f"; at least {self.min_agreement:.2%} must agree"
        return Trial(backend, agreement, ratio, accepted, reason), candidate

    def choose(self, tried: list[tuple[Trial, Encodes | None]]) -> Accelerated:
        """Return the fastest accepted backend, or the model's own encoder, and say which."""
        trials = tuple(trial for trial, _ in tried)
        for trial in trials:
            logger.info("%s: %s", trial.backend, trial.reason)
        accepted = [(t, e) for t, e in tried if t.accepted and e is not None]
        if accepted:
            best, encoder = max(accepted, key=lambda pair: pair[0].speed_ratio)
            logger.info("prediction runs on %s: %s", best.backend, best.reason)
            return Accelerated(encoder, best.backend, best.agreement, best.speed_ratio, trials)
        reasons = "; ".join(f"{trial.backend}: {trial.reason}" for trial in trials)
        # Who left the choice to us got an answer; who named a backend does not get it.
        level = logging.INFO if self.is_auto else logging.WARNING
        logger.log(level, "prediction stays on torch. %s", reasons)
        return Accelerated(self.encoder, TORCH, 1.0, 1.0, trials)

    def _compare(
        self, candidate: Encodes
    ) -> tuple[NDArray[np.int64], float, NDArray[np.int64], float]:
        """Return labels and time of the model's own encoder, and of the candidate."""
        times: dict[int, float] = {}
        vectors: dict[int, NDArray[np.float32]] = {}
        # Alternately, so that a busy moment of the machine does not decide.
        for _ in range(_ROUNDS):
            for place, encoder in enumerate((self.encoder, candidate)):
                started = time.perf_counter()
                vectors[place] = encode_by(encoder, self.sample.values, self.batch_size)
                taken = time.perf_counter() - started
                times[place] = min(taken, times.get(place, taken))
        return self._labels(vectors[0]), times[0], self._labels(vectors[1]), times[1]

    def _labels(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        if not np.isfinite(vectors).all():
            msg = "its vectors are not finite"
            raise ValueError(msg)
        shares = probabilities(self.model, vectors, self.sample)
        return cast("NDArray[np.int64]", shares.argmax(axis=1))


def _candidates(backend: str) -> list[Backend]:
    """Return the backends to try: the named one, or all that are installed."""
    if backend != "auto":
        check_backend(backend)
        named = cast("Backend", backend)
        require_backend(named)
        return [named]
    installed: list[Backend] = []
    for name in BACKENDS:
        try:
            require_backend(name)
        except BackendNotAvailable:
            continue
        installed.append(name)
    if not installed:
        msg = f"no backend is installed: {install_hint('onnx')} or {install_hint('openvino')}"
        raise BackendNotAvailable(msg)
    return installed


def _open(encoder: TransformerEncoder, places: list[Path], backend: Backend) -> ExportedEncoder:
    """Open the graph in the first of the places that holds it or can be written to."""
    place, *others = places
    try:
        path = ensure_graph(encoder, place, int8=backend.endswith("int8"))
    except OSError:
        if not others:
            raise
        return _open(encoder, others, backend)
    return ExportedEncoder.open(encoder, path, backend=backend)


def ensure_graph(encoder: TransformerEncoder, folder: Path, *, int8: bool = False) -> Path:
    """Return the graph in a model folder, exported anew unless it fits the encoder."""
    path = folder / (INT8_FILE if int8 else GRAPH_FILE)
    if path.is_file() and graph_fingerprint(path) == encoder.fingerprint:
        return path
    if int8:
        return quantise_onnx(ensure_graph(encoder, folder), path)
    return export_onnx(encoder, path)


def _why_not(encoder: Encoder) -> str:
    """Say why an encoder has no graph."""
    if isinstance(encoder, ChunkedEncoder):
        return "the encoder reads in chunks, which graphs do not"
    if not isinstance(encoder, TransformerEncoder):
        return "the encoder is not a transformer"
    return "the encoder is not on CPU"


def _failed(backend: str, reason: str) -> Trial:
    return Trial(backend, float("nan"), float("nan"), False, reason)
