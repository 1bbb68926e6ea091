"""The page that compares the methods quotes the records."""

import pytest

from benchmarks import methods_page
from caot.bench.suites import EIGHT


def test_the_page_is_made_from_the_records():
    page = methods_page.PAGE.read_text(encoding="utf-8")
    rows = methods_page.method_rows()
    assert len(rows) > 15
    assert page == methods_page.with_rows(page, rows), "make bench-report brings it up to date"
    assert rows[0] in page


def test_rows_take_the_place_of_rows_and_of_nothing_else():
    head = f"# Title\n\n| a |\n|---|\n| b |\n\n{methods_page.HEADER} x |\n|---|---|\n"
    page = f"{head}| old | 1 |\n\n## More\n\ntext\n"
    assert methods_page.with_rows(page, ["| new | 2 |", "| newer | 3 |"]) == (
        f"{head}| new | 2 |\n| newer | 3 |\n\n## More\n\ntext\n"
    )


def test_a_page_without_the_table_is_an_error():
    with pytest.raises(ValueError, match="no table"):
        methods_page.with_rows("# Title\n", [])


def test_every_data_set_is_of_one_kind():
    *kinds, everything = methods_page.GROUPS.values()
    assert sorted(name for kind in kinds for name in kind) == sorted(everything) == sorted(EIGHT)
