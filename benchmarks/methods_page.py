"""The results of the page that compares the methods, from the records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TypeAlias

from caot.bench import paper
from caot.bench.cells import Cell
from caot.bench.methods import METHODS
from caot.bench.paper import Printed
from caot.bench.records import read_records
from caot.bench.suites import EIGHT, SUITES
from caot.bench.summaries import Results
from caot.bench.variants import find_variant

CELLS = Path(__file__).parent / "results" / "cells"
PAGE = Path(__file__).parents[1] / "docs" / "comparison.md"
HEADER = "| method | few and broad |"  # how the table of results begins
GROUPS: Mapping[str, Sequence[str]] = {
    "few and broad": ("agnews", "searchsnippets"),
    "twenty, even": ("stackoverflow", "biomedical"),
    "many, uneven": ("googlenews-ts", "googlenews-t", "googlenews-s", "tweet"),
    "all eight": EIGHT,
}
_NOT_KNOWN = "–"

Accuracies: TypeAlias = Mapping[str, float]


def method_rows() -> list[str]:
    """Return a row for each method of the suite: mean accuracy by kind of data, and the paper's."""
    results = Results(read_records(CELLS))
    cells = SUITES["methods"].at("quick")
    kinds = dict.fromkeys(replace(cell, dataset="", seed=0) for cell in cells)
    order = list(METHODS)
    return [_row(results, kind) for kind in sorted(kinds, key=lambda one: order.index(one.method))]


def _row(results: Results, kind: Cell) -> str:
    method = METHODS[kind.method]
    found, kmeans = (_accuracies(results, cell) for cell in (kind, Cell("", "kmeans")))
    printed = _printed(paper.MAIN.get(method.paper or "", {}))
    untrained = _printed(paper.REPRESENTATIONS["untrained"])
    columns = [
        *(_mean(found, data) for data in GROUPS.values()),
        _gain(found, kmeans, list(printed) or EIGHT),
        _mean(printed, EIGHT),
        _gain(printed, untrained, list(printed)),
    ]
    variant = "" if kind.variant == "full" else f", {find_variant(kind.variant).title}"
    return f"| {method.title}{variant} | {' | '.join(columns)} |"


def _accuracies(results: Results, kind: Cell) -> Accuracies:
    """Return the mean accuracy of a kind of run by data set, where there are records."""
    found = {data: results.summary(replace(kind, dataset=data)) for data in EIGHT}
    return {data: part.mean for data, part in found.items() if part is not None}


def _printed(row: Mapping[str, Printed]) -> Accuracies:
    return {data: part.accuracy for data, part in row.items()}


def _mean(known: Accuracies, data: Sequence[str]) -> str:
    """Return the mean over data sets if all of them are known."""
    if not all(name in known for name in data):
        return _NOT_KNOWN
    return f"{mean(known[name] for name in data):.1f}"


def _gain(known: Accuracies, other: Accuracies, data: Sequence[str]) -> str:
    """Return how far one lies above another on average over data sets, if all are known."""
    if not data or known == other or not all(name in known and name in other for name in data):
        return _NOT_KNOWN
    return f"{mean(known[name] - other[name] for name in data):+.1f}"


def with_rows(page: str, rows: Sequence[str]) -> str:
    """Return the page with other rows in its table of results."""
    before, header, table = page.partition(HEADER)
    if not header:
        msg = f"the page has no table that begins with {HEADER!r}"
        raise ValueError(msg)
    lines = table.partition("\n\n")
    names, rule, *_ = lines[0].split("\n")
    return before + header + "\n".join([names, rule, *rows]) + lines[1] + lines[2]


def main() -> None:
    """Write the rows into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_rows(page, method_rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
