"""What is measured of vectors while contrast changes them, and that the page quotes the record."""

import json

import numpy as np
import pytest

from benchmarks import contrast

PAGE = contrast.OUTPUT.parents[1] / "README.md"


def test_vectors_in_few_directions_are_told_from_scattered_ones():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    apart = np.eye(3, 24, dtype=np.float32)[truth] + 0.01 * rng.standard_normal((120, 24))
    scattered = rng.standard_normal((120, 24)).astype(np.float32)
    tight, loose = contrast.measures(apart, truth), contrast.measures(scattered, truth)
    assert tight["accuracy"] == 1.0 > loose["accuracy"]
    assert tight["directions"] < 4
    assert 15 < loose["directions"] <= 24
    assert tight["mean_cosine"] == pytest.approx(1 / 3, abs=0.05)
    assert loose["mean_cosine"] < 0.05


def test_the_page_quotes_the_record():
    record = json.loads(contrast.OUTPUT.read_text(encoding="utf-8"))
    assert set(record["variants"]) == set(contrast.VARIANTS)
    page = PAGE.read_text(encoding="utf-8")
    for row in contrast.rows(record):
        assert row in page
