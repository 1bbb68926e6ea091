"""Prediction for many texts: ours against sentence-transformers with K-means, and against padding.

All contenders label the same distinct texts and take turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks.speed_corpus import Corpus, Source
from benchmarks.speed_public import PaddedEncoder
from benchmarks.transport import interleaved
from caot import CAOT
from caot.acceleration import Trial, accelerate
from caot.encoders import TransformerEncoder
from caot.encoders.batching import evaluation_mode
from caot.encoders.export import BackendNotAvailable
from caot.encoders.exported import BACKENDS, Backend
from caot.inputs import read_inputs
from caot.prediction import Encodes, predict_stream, probabilities

SENTENCE = "SentenceTransformer.encode, K-means"
PADDED = "padded to 32, file order"
TORCH = "caot, torch"

# How many times faster than each of the two, by what runs our encoder.
REQUIRED = {SENTENCE: {"torch": 1.0, "exported": 1.3}, PADDED: {"torch": 2.0, "exported": 2.0}}
MIN_AGREEMENT = 0.995
# As many texts together as sentence-transformers takes by default.
_BATCH = 32

Record = dict[str, Any]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PredictionAgenda:
    """On how many texts the extras are compared with torch, and all are timed."""

    data: str = "stackoverflow"
    n_texts: int | None = None
    n_compared: int = 1000
    n_timed: int = 2000
    max_iter: int = 300
    rounds: int = 3
    backends: Sequence[Backend] = BACKENDS


def measure(source: Source, agenda: PredictionAgenda) -> Record:
    """Fit with a frozen encoder, then time the labelling of texts."""
    corpus = source.corpus(agenda.data).sample(agenda.n_texts)
    compared, timed = split(corpus, agenda)
    model = CAOT(
        corpus.n_clusters, encoder=source.encoder, finetune="none", max_iter=agenda.max_iter
    ).fit(corpus.texts, views=corpus.views)
    exported, trials = accelerated(model, compared.texts, agenda.backends)
    calls: dict[str, Callable[[], Labels]] = {
        SENTENCE: sentence_labels(source, model, corpus, timed.texts),
        PADDED: lambda: padded_labels(model, timed.texts),
        TORCH: lambda: stream_labels(model, timed.texts, None),
    }
    for backend, encoder in exported.items():
        calls[f"caot, {backend}"] = _streamed(model, timed.texts, encoder)
    seconds = interleaved(calls, agenda.rounds)
    own = calls[TORCH]()
    return {
        "what": "texts to labels; ratios are medians over rounds in which the contenders take "
        "turns; same_labels compares with caot on torch",
        "data": agenda.data,
        "n_texts": len(timed),
        "n_clusters": corpus.n_clusters,
        "n_compared": len(compared),
        "rounds": agenda.rounds,
        "n_threads": torch.get_num_threads(),
        "required": REQUIRED,
        "min_agreement": MIN_AGREEMENT,
        "contenders": {
            name: _row(name, seconds, len(timed))
            | {"same_labels": None if name == SENTENCE else float(np.mean(call() == own))}
            for name, call in calls.items()
        },
        "trials": [_trial(trial) for trial in trials],
    }


def split(corpus: Corpus, agenda: PredictionAgenda) -> tuple[Corpus, Corpus]:
    """Return texts to compare labels on, and others to time.

    They are distinct, as we would encode equal ones once, and lie in the order of the file.
    """
    distinct = corpus.distinct()
    order = np.random.default_rng(0).permutation(len(distinct))
    compared, rest = np.split(order, [agenda.n_compared])
    return distinct.take(np.sort(compared)), distinct.take(np.sort(rest[: agenda.n_timed]))


def accelerated(
    model: CAOT, texts: Sequence[str], backends: Sequence[Backend]
) -> tuple[dict[str, Encodes], list[Trial]]:
    """Return the installed backends whose labels agree with torch's, and all that was tried."""
    encoders: dict[str, Encodes] = {}
    trials: list[Trial] = []
    for backend in backends:
        try:
            chosen = accelerate(model, texts, backend=backend, min_agreement=MIN_AGREEMENT)
        except BackendNotAvailable as error:
            trials.append(Trial(backend, math.nan, math.nan, False, str(error)))
            continue
        trials.extend(chosen.trials)
        if chosen.backend == backend:
            encoders[backend] = chosen.encoder
    return encoders, trials


def sentence_labels(
    source: Source, model: CAOT, corpus: Corpus, texts: Sequence[str]
) -> Callable[[], Labels]:
    """Return a call of ``encode`` with its defaults, followed by K-means on the same embeddings."""
    encoder = model.encoder_
    assert isinstance(encoder, TransformerEncoder)
    sentence = encoder.module
    (vectors,) = source.embed(corpus.texts)
    clusters = KMeans(corpus.n_clusters, n_init=1, random_state=0).fit(vectors)

    def label() -> Labels:
        found: Labels = clusters.predict(sentence.encode(list(texts)))
        return found

    return label


def padded_labels(model: CAOT, texts: Sequence[str]) -> Labels:
    """Label the texts as they come, each padded to 32 tokens, by the networks of the model."""
    encoder = model.encoder_
    assert isinstance(encoder, TransformerEncoder)
    padded = PaddedEncoder.of(encoder)
    parts = []
    with evaluation_mode(encoder.module), torch.inference_mode():
        for start in range(0, len(texts), _BATCH):
            part = read_inputs(texts[start : start + _BATCH], on_empty="error")
            shares = probabilities(model, padded(part.values).numpy(), part)
            parts.append(shares.argmax(axis=1))
    return np.concatenate(parts)


def stream_labels(model: CAOT, texts: Sequence[str], encoder: Encodes | None) -> Labels:
    """Label the texts by ``predict_stream`` with its defaults."""
    return np.concatenate([part.labels for part in predict_stream(model, texts, encoder=encoder)])


def _streamed(model: CAOT, texts: Sequence[str], encoder: Encodes) -> Callable[[], Labels]:
    return lambda: stream_labels(model, texts, encoder)


def _row(name: str, seconds: Mapping[str, NDArray[np.float64]], n_texts: int) -> Record:
    taken = seconds[name]
    row: Record = {"texts_per_second": n_texts / float(np.median(taken)), "speedup": {}}
    kind = None if name in (SENTENCE, PADDED) else "torch" if name == TORCH else "exported"
    met = {}
    for other in (SENTENCE, PADDED):
        speedup = float(np.median(seconds[other] / taken))
        row["speedup"][other] = speedup
        if kind is not None:
            met[other] = speedup >= REQUIRED[other][kind]
    return row | {"required_met": met or None}


def _trial(trial: Trial) -> Record:
    """Return a trial for JSON, which has no NaN."""
    known = {"agreement": trial.agreement, "speed_ratio": trial.speed_ratio}
    return {
        "backend": trial.backend,
        "accepted": trial.accepted,
        "reason": trial.reason,
        **{name: None if math.isnan(value) else value for name, value in known.items()},
    }
