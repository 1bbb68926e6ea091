"""The section on speed quotes the records."""

from pathlib import Path

import pytest

from benchmarks import speed_page

PAGE = Path(speed_page.__file__).with_name("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "rows", ["step_rows", "prediction_rows", "fit_rows", "growth_rows", "rival_rows"]
)
def test_the_page_has_every_row(rows):
    found = getattr(speed_page, rows)()
    assert len(found) >= 2
    for row in found:
        assert row in PAGE


def test_the_page_tells_of_a_million_rows():
    mapped = speed_page.record("growth")["mapped"]
    assert f"{mapped['seconds']:.0f} s and {mapped['peak_mb'] / 1024:.2f} GB" in PAGE
