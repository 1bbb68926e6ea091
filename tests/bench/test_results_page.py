"""The page of results is what the records say."""

from pathlib import Path

import pytest

from caot.bench.records import read_records
from caot.bench.report import write_report

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
        assert 0 < record.content["scores"]["accuracy"] <= 1
        assert record.content["config"]["random_state"] == record.cell.seed
