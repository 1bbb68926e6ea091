"""Peak memory of a fit with a frozen encoder: texts in, megabytes out, a process for each size.

Run as ``python -m benchmarks.memory --data-dir DIR``; writes ``benchmarks/results/memory.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.records import machine, print_table, write_record
from caot import CAOT

OUTPUT = Path(__file__).parent / "results" / "memory.json"
PACKAGES = ("numpy", "torch", "transformers", "sentence-transformers")


def peak_mb() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit(data_dir: Path, n_texts: int) -> dict[str, float]:
    """Fit on the first texts of a shuffled StackOverflow; return the peak before and after."""
    path = data_dir / "short-text" / "stackoverflow.csv.gz"
    table = pd.read_csv(path, keep_default_na=False).sample(n_texts, random_state=0)
    imported = peak_mb()
    model = CAOT(20, finetune="none", max_iter=20)
    model.fit(table["text"], views=(table["text1_10"], table["text2_10"]))
    return {"n_texts": n_texts, "before_fit_mb": imported, "peak_mb": peak_mb()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("CAOT_DATA"))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 4000, 12000])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.data_dir is None:
        parser.error("name the data folder with --data-dir or CAOT_DATA")
    if options.one is not None:
        print(json.dumps(fit(Path(options.data_dir), options.one)))
        return
    command = [sys.executable, "-m", "benchmarks.memory", "--data-dir", str(options.data_dir)]
    rows = []
    for size in options.sizes:
        done = subprocess.run(
            [*command, "--one", str(size)], check=True, capture_output=True, text=True
        )
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    first, last = rows[0], rows[-1]
    slope = (last["peak_mb"] - first["peak_mb"]) / (last["n_texts"] - first["n_texts"]) * 1024
    write_record(
        OUTPUT,
        {
            "command": "python -m benchmarks.memory",
            "what": "CAOT(20, finetune='none', max_iter=20), views given, all-MiniLM-L6-v2",
            "rows": rows,
            "kb_per_text": slope,
            "machine": machine(*PACKAGES),
        },
    )
    header = ["texts", "before the fit, MB", "peak, MB"]
    cells = [
        [f"{r['n_texts']:,}", f"{r['before_fit_mb']:.0f}", f"{r['peak_mb']:.0f}"] for r in rows
    ]
    print_table(f"Peak memory; {slope:.1f} kB a text", header, cells)


if __name__ == "__main__":
    main()
