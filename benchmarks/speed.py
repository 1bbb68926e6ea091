"""How fast training, prediction and whole fits are, and how they grow: ratios within one run.

``python -m benchmarks.speed --data-dir DIR``, where DIR holds ``short-text/``, measures all parts;
``--parts steps fits`` measures some. Every part leaves a JSON file under
``benchmarks/results/speed/``; the picture shows all parts that have one. ``--quick`` tries
everything at a tiny size, on toy texts if there is no data, and writes only where it is told to.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import speed_fits, speed_growth, speed_prediction, speed_steps
from benchmarks.records import machine, write_record
from benchmarks.speed_corpus import Source, tiny_encoder
from benchmarks.speed_fits import FitsAgenda
from benchmarks.speed_growth import GrowthAgenda
from benchmarks.speed_plot import plot_records
from benchmarks.speed_prediction import PredictionAgenda
from benchmarks.speed_report import print_part
from benchmarks.speed_steps import StepsAgenda
from caot import __version__
from caot.files import cache_folder

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "speed"
PLOT = ROOT / "docs" / "images" / "speed.png"
PARTS = ("steps", "prediction", "fits", "growth")
PACKAGES = (
    "numpy",
    "scikit-learn",
    "torch",
    "transformers",
    "sentence-transformers",
    "numba",
    "onnxruntime",
    "openvino",
    "bertopic",
    "umap-learn",
    "hdbscan",
)

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Agenda:
    """What each part measures."""

    steps: StepsAgenda = field(default_factory=StepsAgenda)
    prediction: PredictionAgenda = field(default_factory=PredictionAgenda)
    fits: FitsAgenda = field(default_factory=FitsAgenda)
    growth: GrowthAgenda = field(default_factory=GrowthAgenda)


FULL = Agenda()
QUICK = Agenda(
    steps=StepsAgenda(n_texts=120, rounds=2, settle_iter=5, n_lower=40, batch_size=20),
    prediction=PredictionAgenda(
        n_texts=200, n_compared=40, n_timed=80, max_iter=5, rounds=2, backends=("onnx",)
    ),
    fits=FitsAgenda(sizes=(100, 200), seeds=(0,), max_iter=5, warm_up=100),
    growth=GrowthAgenda(
        n_texts=200, max_iter=5, rounds=1, n_encoded=100, mapped_shape=(2000, 16), mapped_iter=5
    ),
)


def run(part: str, source: Source, agenda: Agenda) -> Record:
    """Measure one part."""
    parts: Mapping[str, Callable[[], Record]] = {
        "steps": lambda: speed_steps.measure(source, agenda.steps),
        "prediction": lambda: speed_prediction.measure(source, agenda.prediction),
        "fits": lambda: speed_fits.measure(source, agenda.fits),
        "growth": lambda: speed_growth.measure(source, agenda.growth),
    }
    # How busy the machine was with other things before.
    about = {"caot": __version__, "machine": machine(*PACKAGES), "load_average": _load()}
    start = time.perf_counter()
    measured = parts[part]()
    spent = time.perf_counter() - start
    return {
        "command": f"python -m benchmarks.speed --parts {part}",
        "encoder": source.encoder,
        **about,
        "benchmark_seconds": spent,
        **measured,
    }


def _load() -> float | None:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


@contextmanager
def cache_at(folder: str) -> Iterator[None]:
    """Let embeddings and lower layers be kept in a folder."""
    before = os.environ.get("CAOT_CACHE")
    os.environ["CAOT_CACHE"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["CAOT_CACHE"]
        else:
            os.environ["CAOT_CACHE"] = before


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    options = _options(arguments)
    output = options.output or (None if options.quick else RESULTS)
    plot = options.plot or (None if options.quick else PLOT)
    agenda = QUICK if options.quick else FULL
    records: dict[str, Record] = {}
    with ExitStack() as stack:
        source = _source(options, stack)
        stack.enter_context(warnings.catch_warnings())
        if options.quick:  # a few steps leave clusters empty
            warnings.simplefilter("ignore")
        for part in options.parts:
            records[part] = run(part, source, agenda)
            print_part(part, records[part])
            if output is not None:
                write_record(output / f"{part}.json", records[part])
    if plot is not None:
        plot_records(records if output is None else known_records(output), plot)
    print(f"\nWrote {output or 'no records'} and {plot or 'no picture'}")


def known_records(folder: Path) -> dict[str, Record]:
    """Return the records in a folder, by part."""
    paths = {part: folder / f"{part}.json" for part in PARTS}
    return {
        part: json.loads(path.read_text(encoding="utf-8"))
        for part, path in paths.items()
        if path.exists()
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("CAOT_DATA"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--encoder", help="a model id or folder; by default the embedded one")
    parser.add_argument("--output", type=Path, help=f"folder of the records; {RESULTS}")
    parser.add_argument("--plot", type=Path, help=f"the picture; {PLOT}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    options = parser.parse_args(arguments)
    if options.data_dir is None and not options.quick:
        parser.error("name the data folder with --data-dir or CAOT_DATA")
    return options


def _source(options: argparse.Namespace, stack: ExitStack) -> Source:
    """Settle encoder, data and cache; what is made for a quick run goes with ``stack``."""
    encoder = options.encoder
    folder = os.environ.get("CAOT_CACHE") or str(cache_folder())
    if options.quick:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        if options.data_dir is None and encoder is None:
            encoder = stack.enter_context(tiny_encoder())
    stack.enter_context(cache_at(folder))
    data_dir = None if options.data_dir is None else Path(options.data_dir)
    return Source(encoder or "auto", data_dir)


if __name__ == "__main__":
    main()
