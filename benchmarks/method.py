"""The method on benchmark data: one JSON record a cell of data set, pseudo-labels, layers and seed.

Run as ``python -m benchmarks.method --data-dir DIR``, where DIR holds ``short-text/``. Only missing
cells run; labels score results and never reach a fit. ``--table`` prints what the records say.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.records import machine, print_table, write_record
from caot import CAOT, Variant, __version__
from caot.encoders import EmbeddingCache, load_encoder
from caot.kmeans import kmeans
from caot.metrics import score
from caot.training import Event, Finished, StageStarted, TargetsMade

RESULTS = Path(__file__).parent / "results" / "method"
METHODS = ("kmeans", "prediction", "balanced", "adaptive", "consistent")
VIEWS = ("text1_10", "text2_10")
PACKAGES = ("numpy", "scikit-learn", "torch", "transformers", "sentence-transformers")


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: which data, which pseudo-labels, which layers learn, which seed."""

    data: str
    method: str
    finetune: str
    seed: int
    max_iter: int | None = None
    time_budget: str | None = None
    mode: str = "default"
    encoder_rate: float | None = None

    @property
    def path(self) -> Path:
        """Where its record lies."""
        parts = [self.data, self.method, f"finetune-{self.finetune}"]
        if self.mode != "default":
            parts.append(self.mode)
        if self.max_iter is not None:
            parts.append(f"iter-{self.max_iter}")
        if self.time_budget is not None:
            parts.append(f"within-{self.time_budget}")
        if self.encoder_rate is not None:
            parts.append(f"rate-{self.encoder_rate:g}")
        return RESULTS / f"{'.'.join(parts)}.seed-{self.seed}.json"


class LastLabels:
    """Observes every sample's last pseudo-label; −1 where it never had one."""

    def __init__(self, n_samples: int) -> None:
        self.labels = np.full(n_samples, -1, dtype=np.int64)

    def __call__(self, event: Event) -> None:
        """Take note of new targets."""
        if isinstance(event, TargetsMade):
            self.labels[event.rows] = event.labels


class Clock:
    """Observes how long the stages take: what comes before training, and after it, apart."""

    def __init__(self) -> None:
        self._marks = [("before training", time.perf_counter())]

    def __call__(self, event: Event) -> None:
        """Take note of the time when something begins."""
        if isinstance(event, StageStarted):
            self._marks.append((event.stage.value, time.perf_counter()))
        elif isinstance(event, Finished):
            self._marks.append(("labels", time.perf_counter()))

    def seconds_by_stage(self) -> dict[str, float]:
        """Return the seconds of each stage until now."""
        ends = [*(mark for _, mark in self._marks[1:]), time.perf_counter()]
        return {name: end - start for (name, start), end in zip(self._marks, ends, strict=True)}


def run(cell: Cell, data_dir: Path) -> dict[str, Any]:
    """Run a cell and return its record."""
    path = data_dir / "short-text" / f"{cell.data}.csv.gz"
    table = pd.read_csv(path, keep_default_na=False, dtype={"text": str})
    table = table[table["text"].str.strip() != ""]
    truth = table["label"].to_numpy()
    texts = table["text"].tolist()
    n_clusters = int(truth.max()) + 1
    started = time.perf_counter()
    if cell.method == "kmeans":
        vectors = EmbeddingCache().get(load_encoder("auto"), texts)
        embedded = time.perf_counter()
        labels = kmeans(vectors, n_clusters, n_init=10, random_state=cell.seed).labels
        outcome: dict[str, Any] = {"seconds_after_encoding": time.perf_counter() - embedded}
    else:
        outcome, labels = _fit(cell, texts, [table[v].tolist() for v in VIEWS], truth, n_clusters)
    return {
        "cell": asdict(cell),
        "encoder": "all-MiniLM-L6-v2 (embedded)",
        "views": list(VIEWS),
        "n_samples": len(texts),
        "n_clusters": n_clusters,
        "scores": score(truth, labels).as_dict(),
        "seconds": time.perf_counter() - started,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "caot": __version__,
        "machine": machine(*PACKAGES),
        **outcome,
    }


def _fit(
    cell: Cell, texts: list[str], views: list[list[str]], truth: NDArray[Any], n_clusters: int
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Fit without labels; score the last pseudo-label of every sample afterwards."""
    finetune: Any = int(cell.finetune) if cell.finetune.isdigit() else cell.finetune
    model = CAOT(
        n_clusters,
        finetune=finetune,
        max_iter=cell.max_iter,
        patience=0,  # all iterations, as the record's name says
        time_budget=cell.time_budget,
        learning_rate_encoder=cell.encoder_rate,
        mode=cell.mode,  # type: ignore[arg-type]
        variant=Variant(pseudo_labels=cell.method),  # type: ignore[arg-type]
        random_state=cell.seed,
    )
    last, clock = LastLabels(len(texts)), Clock()
    model.fit(texts, views=(views[0], views[1]), callbacks=[last, clock])
    known = last.labels >= 0
    history = model.history_
    outcome = {
        "pseudo_label_scores": score(truth[known], last.labels[known]).as_dict(),
        "pseudo_labelled": int(known.sum()),
        "n_iter": model.n_iter_,
        "seconds_by_stage": clock.seconds_by_stage(),
        "end_reason": model.end_reason_.name.lower(),
        "imbalance": asdict(model.imbalance_),
        "change_rate_last_50": float(history.change_rate[-50:].mean()),
        "transport": {
            "mean_outer": float(history.n_outer.mean()),
            "mean_inner": float(history.n_inner.mean()),
            "stopped_early": float(history.stopped_early.mean()),
            "collapsed": float(history.collapsed.mean()),
        },
    }
    return outcome, model.labels_


def cells(arguments: argparse.Namespace) -> list[Cell]:
    """Return the cells that the command line asks for, seed by seed."""
    return [
        Cell(
            data,
            method,
            arguments.finetune,
            seed,
            arguments.max_iter,
            arguments.time_budget,
            arguments.mode,
            arguments.encoder_rate,
        )
        for seed in arguments.seeds
        for data in arguments.datasets
        for method in arguments.methods
    ]


def print_records() -> None:
    """Print mean and spread of every group of records that differ by the seed alone."""
    rows = [[name, str(len(group)), *summary(group)] for name, group in record_groups().items()]
    header = ["records", "seeds", "accuracy", "NMI", "pseudo-label accuracy", "seconds", "peak MB"]
    print_table("Accuracy and NMI (geometric) in %, mean ± standard deviation", header, rows)


def record_groups() -> dict[str, list[dict[str, Any]]]:
    """Return the records, by what they share but the seed."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        groups.setdefault(path.name.split(".seed-")[0], []).append(
            json.loads(path.read_text(encoding="utf-8"))
        )
    return groups


def summary(group: Sequence[dict[str, Any]]) -> list[str]:
    """Return accuracy, NMI, pseudo-label accuracy, seconds and peak memory, as mean ± spread."""

    def show(values: list[float], digits: int = 2) -> str:
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return f"{statistics.mean(values):.{digits}f} ± {spread:.{digits}f}"

    targets = [100 * r["pseudo_label_scores"]["accuracy"] for r in group if "n_iter" in r]
    return [
        show([100 * r["scores"]["accuracy"] for r in group]),
        show([100 * r["scores"]["nmi_geometric"] for r in group]),
        show(targets) if targets else "",
        show([r["seconds"] for r in group], 0),
        show([r["peak_memory_mb"] for r in group], 0),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the missing cells, or print the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("CAOT_DATA"))
    parser.add_argument("--datasets", nargs="+", default=["stackoverflow"])
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--finetune", default="none")
    parser.add_argument("--mode", default="default", choices=("default", "faithful"))
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--time-budget")
    parser.add_argument("--encoder-rate", type=float)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--table", action="store_true", help="print the records and end")
    options = parser.parse_args(arguments)
    if options.table:
        print_records()
        return
    if options.data_dir is None:
        parser.error("name the data folder with --data-dir or CAOT_DATA")
    for cell in cells(options):
        if not cell.path.exists():
            record = run(cell, Path(options.data_dir))
            write_record(cell.path, record)
            print(cell.path.name, f"accuracy {record['scores']['accuracy']:.4f}", flush=True)


if __name__ == "__main__":
    main()
