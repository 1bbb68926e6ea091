"""The page that compares the methods quotes the records."""

from pathlib import Path

from benchmarks import methods_page
from caot.bench.suites import EIGHT

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"


def test_the_page_has_every_row():
    page = PAGE.read_text(encoding="utf-8")
    rows = methods_page.method_rows()
    assert len(rows) > 15
    for row in rows:
        assert row in page, "put the rows that python -m benchmarks.methods_page prints there"


def test_every_data_set_is_of_one_kind():
    *kinds, everything = methods_page.GROUPS.values()
    assert sorted(name for kind in kinds for name in kind) == sorted(everything) == sorted(EIGHT)
