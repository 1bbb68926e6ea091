"""How time and memory grow with the number of texts; every size runs in a process of its own.

A data set grows by its published views: rows are the texts, then their views, then the texts again.
Encoding is measured apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed_corpus import Corpus, Source, Vectors
from benchmarks.speed_memory import peak_mb
from caot import CAOT
from caot.baselines import make_method
from caot.encoders import load_encoder
from caot.training import Event, Finished, StageStarted

# The published times of a fixed number of steps for 20, 40 and 80 thousand texts, as ratios.
PUBLISHED_GROWTH = (1.0, 1.10, 1.35)
PUBLISHED_RIVALS = {"rstc": (1.0, 1.67, 2.63)}
OURS = "caot"
MEMORY_LIMIT_GB = 8.0

# Which view stands for the text and which are its views, part by part of the rows.
_PARTS = ((0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1))
_FILES = ("text.npy", "first.npy", "second.npy")
_WRITTEN_TOGETHER = 50_000
_ROOT = Path(__file__).resolve().parents[1]

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GrowthAgenda:
    """Sizes, as multiples of the data set, and the size of the memory-mapped vectors."""

    data: str = "stackoverflow"
    n_texts: int | None = None
    copies: Sequence[int] = (1, 2, 4)
    max_iter: int = 300
    rounds: int = 3
    rivals: Sequence[str] = ("rstc", "sccl")
    n_encoded: int = 2000
    mapped_shape: tuple[int, int] = (1_000_000, 384)
    mapped_clusters: int = 50
    mapped_iter: int = 200


def measure(source: Source, agenda: GrowthAgenda) -> Record:
    """Measure the growth of a fit on embeddings, encoding, and vectors larger than memory."""
    corpus = source.corpus(agenda.data).sample(agenda.n_texts)
    rate = encoding_rate(source, corpus, agenda.n_encoded)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = source.embed(corpus.texts, *corpus.views)
        for file, vectors in zip(_FILES, columns, strict=True):
            np.save(folder / file, vectors)
        ours, *others = (
            _measure_method(method, folder, corpus.n_clusters, agenda, rate)
            for method in (OURS, *agenda.rivals)
        )
    sizes, peaks = ([row[key] for row in ours["rows"]] for key in ("n_texts", "peak_mb"))
    return {
        "what": "CAOT on the embeddings of three views, a fixed number of iterations, each size in "
        "a process of its own; seconds are medians; encoding_seconds is the time to encode all "
        "three views at the measured rate; rivals learn a linear map of the same embeddings",
        "data": agenda.data,
        "max_iter": agenda.max_iter,
        "rounds": agenda.rounds,
        "texts_encoded_per_second": rate,
        **ours,
        "published_growth": PUBLISHED_GROWTH,
        "rivals": {
            method: {**found, "published_growth": PUBLISHED_RIVALS.get(method)}
            for method, found in zip(agenda.rivals, others, strict=True)
        },
        **memory_slope(sizes, peaks),
        "mapped": measure_mapped(agenda),
    }


def _measure_method(
    method: str, folder: Path, n_clusters: int, agenda: GrowthAgenda, rate: float
) -> Record:
    """Return a row for each size, and both growths, of a method on the embeddings in a folder."""
    rows = []
    for copies in agenda.copies:
        task = {
            "method": method, "copies": copies, "n_clusters": n_clusters,
            "max_iter": agenda.max_iter,
        }  # fmt: skip
        runs = [_in_own_process("grown", folder, task) for _ in range(agenda.rounds)]
        rows.append(_summary(runs, rate))
    times, steps = ([row[key] for row in rows] for key in ("seconds", "training_seconds"))
    return {
        "rows": rows,
        "growth": [value / times[0] for value in times],
        "training_growth": [value / steps[0] for value in steps],
    }


def memory_slope(sizes: Sequence[int], peaks: Sequence[float]) -> Record:
    """Return kB a text by a line fit to peaks in MB, and how well the line fits."""
    slope = 1024 * float(np.polyfit(sizes, peaks, 1)[0])
    fits = float(np.corrcoef(sizes, peaks)[0, 1] ** 2) if np.ptp(peaks) > 0 else None
    return {"kb_per_text": slope, "r_squared": fits}


def encoding_rate(source: Source, corpus: Corpus, n_texts: int) -> float:
    """Return how many texts a second the encoder encodes."""
    encoder = load_encoder(source.encoder)
    texts = corpus.distinct().sample(n_texts).texts
    encoder.encode(texts[:64])
    start = time.perf_counter()
    encoder.encode(texts)
    return len(texts) / (time.perf_counter() - start)


def measure_mapped(agenda: GrowthAgenda) -> Record:
    """Fit on memory-mapped vectors in a temporary file, which goes afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_clustered(folder / _FILES[0], agenda.mapped_shape, agenda.mapped_clusters)
        task = {
            "method": OURS, "n_clusters": agenda.mapped_clusters, "max_iter": agenda.mapped_iter
        }  # fmt: skip
        run = _in_own_process("mapped", folder, task)
    peak_gb = run["peak_mb"] * 2**20 / 1e9
    return {
        "shape": agenda.mapped_shape,
        "n_clusters": agenda.mapped_clusters,
        "max_iter": agenda.mapped_iter,
        "peak_gb": peak_gb,
        "limit_gb": MEMORY_LIMIT_GB,
        "limit_met": peak_gb < MEMORY_LIMIT_GB,
        **run,
    }


def write_clustered(path: Path, shape: tuple[int, int], n_clusters: int) -> None:
    """Write random unit vectors around as many centres, part by part, as float32."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_clusters, shape[1]), dtype=np.float32)
    values = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    for start in range(0, shape[0], _WRITTEN_TOGETHER):
        part = values[start : start + _WRITTEN_TOGETHER]
        noise = rng.standard_normal(part.shape, dtype=np.float32)
        points = centres[rng.integers(n_clusters, size=len(part))] + noise
        part[:] = points / np.linalg.norm(points, axis=1, keepdims=True)
    values.flush()


class Stopwatch:
    """Observes when training begins and ends."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, event: Event) -> None:
        """Note the time of the first stage's start and of the end."""
        if isinstance(event, Finished) or (isinstance(event, StageStarted) and not self.times):
            self.times.append(time.perf_counter())


def grown(columns: Sequence[Vectors], copies: int) -> list[Vectors]:
    """Return the rows of ``copies`` parts, and their two views, from the embeddings of a set."""
    parts = [_PARTS[copy % len(_PARTS)] for copy in range(copies)]
    return [np.concatenate([columns[part[place]] for part in parts]) for place in range(3)]


def fit(kind: str, folder: Path, task: Record) -> Record:
    """Fit in this process, and return how long each part took and the memory it needed."""
    views = None
    if kind == "mapped":
        vectors = np.load(folder / _FILES[0], mmap_mode="r")
    else:
        columns = [np.load(folder / file) for file in _FILES]
        vectors, *others = grown(columns, task["copies"])
        views = (others[0], others[1])
        del columns
    # What is imported and compiled once would make large sizes look better than they are.
    _model(task["method"], 2, max_iter=2).fit(np.array(vectors[:40]))
    before, watch, start = peak_mb(), Stopwatch(), time.perf_counter()
    model = _model(task["method"], task["n_clusters"], task["max_iter"])
    model.fit(vectors, views=views, callbacks=[watch])
    end = time.perf_counter()
    return {
        "n_texts": len(vectors),
        "n_iter": model.n_iter_,
        "seconds": end - start,
        "before_training_seconds": watch.times[0] - start,  # K-means, above all
        "training_seconds": watch.times[1] - watch.times[0],
        "after_training_seconds": end - watch.times[1],
        "before_fit_mb": before,
        "peak_mb": peak_mb(),
    }


def _model(method: str, n_clusters: int, max_iter: int) -> Any:  # noqa: ANN401 - of any method
    if method != OURS:
        return make_method(method, n_clusters, max_iter=max_iter)
    # A fixed number of steps: patience would end some runs before others.
    return CAOT(n_clusters, max_iter=max_iter, patience=0)


def _summary(runs: Sequence[Record], rate: float) -> Record:
    """Return the medians of runs that differ by chance alone, and what encoding would add."""
    medians = {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
    counts = {key: int(medians[key]) for key in ("n_texts", "n_iter")}
    encoding = {"encoding_seconds": 3 * counts["n_texts"] / rate}
    return medians | counts | encoding


def _in_own_process(kind: str, folder: Path, task: Record) -> Record:
    command = [sys.executable, "-m", __name__, kind, str(folder), json.dumps(task)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=_ROOT)
    if done.returncode != 0:
        msg = f"the process that fits {task} ended with {done.returncode}:\n{done.stderr[-2000:]}"
        raise RuntimeError(msg)
    record: Record = json.loads(done.stdout.splitlines()[-1])
    return record


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit as ``measure`` asks, and print the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("grown", "mapped"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("task", type=json.loads)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # few iterations may leave clusters empty; costs are the same
    print(json.dumps(fit(options.kind, options.folder, options.task)))


if __name__ == "__main__":
    main()
