"""What contrast alone does to the vectors, step by step.

Run as ``python -m benchmarks.contrast --data-dir DIR``, where DIR holds ``short-text/``; writes
``benchmarks/results/contrast.json``. Labels only judge the vectors.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.records import machine, write_record
from caot import __version__
from caot.baselines.making import make_method
from caot.kmeans import kmeans
from caot.metrics import clustering_accuracy
from caot.training import Event, StepDone

OUTPUT = Path(__file__).parent / "results" / "contrast.json"
PACKAGES = ("numpy", "scikit-learn", "torch", "transformers", "sentence-transformers")
SAMPLES = 2000
AFTER = (1, 25, 50, 100, 200)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "SimCSE": ("simcse", {}),
    "ESimCSE": ("esimcse", {}),
    "ESimCSE, twin without momentum": ("esimcse", {"momentum": 0.0}),
    "SCL": ("scl", {}),
    "SCL, rate of the other methods": ("scl", {"learning_rate_encoder": 1e-4}),
}


class Watcher:
    """Measures the vectors after some of the steps."""

    def __init__(self, truth: NDArray[np.int64]) -> None:
        self.truth = truth
        self.points: list[dict[str, float]] = []

    def __call__(self, event: Event) -> None:
        """Take in an event."""
        if isinstance(event, StepDone) and event.iteration + 1 in AFTER:
            loss = {"iterations": event.iteration + 1, "loss": event.instance_loss}
            self.points.append(loss | measures(event.features(0), self.truth))


def measures(vectors: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
    """Return how well K-means finds the classes, the mean cosine, and how many directions count.

    The last is exp of the entropy of the spectrum of the centred unit vectors.
    """
    labels = kmeans(vectors, len(np.unique(truth)), n_init=10, random_state=0).labels
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centre = unit.mean(axis=0)
    spectrum = np.linalg.svd(unit - centre, compute_uv=False) ** 2
    share = spectrum[spectrum > 0] / spectrum.sum()
    return {
        "accuracy": clustering_accuracy(truth, labels),
        "mean_cosine": float(centre @ centre),
        "directions": float(np.exp(-(share * np.log(share)).sum())),
    }


def run(name: str, settings: Mapping[str, Any], table: pd.DataFrame) -> list[dict[str, float]]:
    """Return what happens to the vectors when a method trains the top two layers.

    None of them takes views of texts.
    """
    truth = table["label"].to_numpy()
    watcher = Watcher(truth)
    method = make_method(
        name, n_clusters=len(np.unique(truth)), finetune=2, max_iter=AFTER[-1], **settings
    )
    method.fit(table["text"].tolist(), callbacks=[watcher])
    return watcher.points


def rows(record: Mapping[str, Any]) -> list[str]:
    """Return the rows of the table on the page of the benchmarks."""
    found = []
    for name, points in record["variants"].items():
        for point in points:
            accuracy, cosine = f"{100 * point['accuracy']:.1f}", f"{point['mean_cosine']:.2f}"
            done, loss = f"{point['iterations']:.0f}", f"{point['loss']:.4f}"
            found.append(
                f"| {name} | {done} | {loss} | {accuracy} | {cosine} | {point['directions']:.0f} |"
            )
    return found


def main() -> None:
    """Run all variants and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("CAOT_DATA"))
    if (folder := parser.parse_args().data_dir) is None:
        parser.error("needs the folder of the benchmark data: --data-dir, or CAOT_DATA")
    table = pd.read_csv(Path(folder) / "short-text" / "agnews.csv.gz", keep_default_na=False)
    table = table.sample(SAMPLES, random_state=0)
    record = {
        "data": f"AgNews, {SAMPLES} texts",
        "version": __version__,
        "machine": machine(*PACKAGES),
        "variants": {label: run(name, own, table) for label, (name, own) in VARIANTS.items()},
    }
    write_record(OUTPUT, record)
    print(*rows(record), sep="\n")


if __name__ == "__main__":
    main()
