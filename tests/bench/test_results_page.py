"""The page of results is what the records say."""

from pathlib import Path

import pytest

from caot.bench.cells import Cell
from caot.bench.records import read_records
from caot.bench.report import write_report
from caot.bench.running import is_current
from caot.bench.suites import EIGHT
from caot.bench.summaries import Results

ROOT = Path(__file__).parents[2]
CELLS = ROOT / "benchmarks" / "results" / "cells"


def test_the_page_is_made_from_the_records(tmp_path):
    made = write_report(CELLS, tmp_path / "results.md", ROOT / "benchmarks" / "findings.md")
    kept = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert made == kept, "make bench-report brings docs/results.md up to date"
    for picture in (tmp_path / "images" / "bench").iterdir():
        assert (ROOT / "docs" / "images" / "bench" / picture.name).is_file()


@pytest.mark.parametrize("record", read_records(CELLS), ids=lambda record: str(record.cell))
def test_a_record_lies_where_its_cell_says_and_tells_nothing_of_the_machine(record):
    path = record.cell.path(CELLS)
    text = path.read_text(encoding="utf-8")
    assert "/home/" not in text
    assert "/root" not in text
    assert record.content["versions"]["torch"]
    if record.is_done:
        assert is_current(record), "its cell has other settings now: run it again"
        assert 0 < record.content["scores"]["accuracy"] <= 1
        assert record.content["config"]["random_state"] == record.cell.seed


def test_the_readme_has_the_figures_of_the_records():
    results = Results(read_records(CELLS))
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    means = []
    for data in EIGHT:
        found = [results.summary(Cell(data, method)) for method in ("kmeans", "caot")]
        figures = " | ".join(f"{part.mean:.2f} ± {part.spread:.2f}" for part in found)
        assert any(line.endswith(f"| {figures} |") for line in lines), f"{data}: {figures}"
        means.append([part.mean for part in found])
    kmeans, ours = (f"{sum(column) / len(EIGHT):.2f}" for column in zip(*means, strict=True))
    assert any(f"The mean is {kmeans} for K-means and {ours} for `caot`" in line for line in lines)
