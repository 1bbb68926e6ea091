"""The recommended range of K beside the true number of classes, on the benchmark data.

Run as ``python -m benchmarks.suggest_k --data-dir DIR``, where DIR holds ``short-text/``; writes
``benchmarks/results/suggest-k.json``. The rule was chosen on the sets named in ``CHOSEN_ON``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.records import machine, print_table, write_record
from caot import __version__
from caot.encoders import EmbeddingCache, load_encoder
from caot.kmeans import kmeans
from caot.metrics import adjusted_rand
from caot.suggest import KSuggestion, suggest_k

OUTPUT = Path(__file__).parent / "results" / "suggest-k.json"
CHOSEN_ON = ("stackoverflow", "searchsnippets", "tweet")
UNSEEN = ("agnews", "biomedical", "googlenews-s", "googlenews-t", "googlenews-ts")
PACKAGES = ("numpy", "scikit-learn", "torch", "transformers", "sentence-transformers")


def run(data: str, data_dir: Path, seeds: Sequence[int]) -> dict[str, Any]:
    """Suggest K for a data set with each seed; labels only judge the answer."""
    path = data_dir / "short-text" / f"{data}.csv.gz"
    table = pd.read_csv(path, keep_default_na=False, dtype={"text": str})
    table = table[table["text"].str.strip() != ""]
    truth = table["label"].to_numpy()
    true_k = int(truth.max()) + 1
    vectors = EmbeddingCache().get(load_encoder("auto"), table["text"].tolist())
    runs = []
    for seed in seeds:
        started, cpu = time.perf_counter(), time.process_time()
        suggestion = suggest_k(vectors, random_state=seed)
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        runs.append(
            {
                "seed": seed,
                **suggestion.as_dict(),
                "holds_true_k": suggestion.low <= true_k <= suggestion.high,
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
            }
        )
        print(data, _line(suggestion, true_k), flush=True)
    ari = {
        k: adjusted_rand(truth, kmeans(vectors, k, n_init=1, random_state=0).labels)
        for k in sorted({true_k, *(r["best"] for r in runs)})
    }
    return {
        "n_samples": len(table),
        "true_k": true_k,
        "rule_chosen_on_it": data in CHOSEN_ON,
        "runs": runs,
        "kmeans_ari_by_k": {str(k): value for k, value in ari.items()},
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _line(suggestion: KSuggestion, true_k: int) -> str:
    return f"K {true_k}: {suggestion.low} to {suggestion.high}, best {suggestion.best}"


def print_records(record: Mapping[str, Any]) -> None:
    """Print each seed's range and best K beside the true K."""
    rows = []
    for data, entry in record["data"].items():
        ranges = [f"{r['low']}–{r['high']} ({r['best']})" for r in entry["runs"]]
        held = sum(r["holds_true_k"] for r in entry["runs"])
        seen = "yes" if entry["rule_chosen_on_it"] else "no"
        rows.append([data, seen, str(entry["true_k"]), ", ".join(ranges), f"{held}/{len(ranges)}"])
    header = ["data", "rule chosen on it", "true K", "range (best), a seed each", "holds true K"]
    print_table("Recommended K, all-MiniLM-L6-v2, no labels", header, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every data set and write the record, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("CAOT_DATA"))
    parser.add_argument("--datasets", nargs="+", default=[*CHOSEN_ON, *UNSEEN])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(3)))
    parser.add_argument("--table", action="store_true", help="print the record and end")
    options = parser.parse_args(arguments)
    if not options.table:
        if options.data_dir is None:
            parser.error("name the data folder with --data-dir or CAOT_DATA")
        found = {d: run(d, Path(options.data_dir), options.seeds) for d in options.datasets}
        about = {"command": "python -m benchmarks.suggest_k", "caot": __version__}
        encoder = {"encoder": "all-MiniLM-L6-v2 (embedded)", "machine": machine(*PACKAGES)}
        write_record(OUTPUT, {**about, **encoder, "data": found})
    print_records(json.loads(OUTPUT.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
