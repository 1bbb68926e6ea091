"""The results of the page that compares the methods, from the records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from caot.bench import paper
from caot.bench.cells import Cell
from caot.bench.methods import METHODS
from caot.bench.records import read_records
from caot.bench.suites import EIGHT, SUITES
from caot.bench.summaries import Results

CELLS = Path(__file__).parent / "results" / "cells"
GROUPS: Mapping[str, Sequence[str]] = {
    "few and broad": ("agnews", "searchsnippets"),
    "twenty, even": ("stackoverflow", "biomedical"),
    "many, uneven": ("googlenews-ts", "googlenews-t", "googlenews-s", "tweet"),
    "all eight": EIGHT,
}


def method_rows() -> list[str]:
    """Return a row for each method of the suite: mean accuracy by kind of data, and the paper's."""
    results = Results(read_records(CELLS))
    kinds = {cell.method: replace(cell, seed=0) for cell in SUITES["methods"].at("quick")}
    return [_row(results, kinds[name]) for name in METHODS if name in kinds]


def _row(results: Results, kind: Cell) -> str:
    method = METHODS[kind.method]
    found = {data: results.summary(replace(kind, dataset=data)) for data in EIGHT}
    known = {data: part.mean for data, part in found.items() if part is not None}
    printed = paper.MAIN.get(method.paper or "", {})
    columns = [
        *(_mean(known, data) for data in GROUPS.values()),
        _mean({data: part.accuracy for data, part in printed.items()}, EIGHT),
    ]
    return f"| {method.title} | {' | '.join(columns)} |"


def _mean(known: Mapping[str, float], data: Sequence[str]) -> str:
    """Return the mean over data sets if all of them are known."""
    if not all(name in known for name in data):
        return "–"
    return f"{mean(known[name] for name in data):.1f}"


def main() -> None:
    """Print all rows, to be put into the page."""
    print("\n".join(method_rows()))


if __name__ == "__main__":
    main()
