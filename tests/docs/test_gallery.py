"""The gallery quotes what its script computes."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks/results/gallery.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "docs/make_gallery.py"), run_name="gallery")


def row(values):
    return " | ".join(f"{100 * value:.1f} %" for value in values)


@pytest.mark.parametrize("toy", ["imbalance", "neighbours"])
def test_record_is_what_the_script_computes(script, toy):
    for name, result in script[toy]().solve().items():
        recorded = RECORD[toy]["solvers"][name]
        assert script[toy]().accuracy(result) == pytest.approx(recorded["accuracy"], abs=0.006)
        np.testing.assert_allclose(result.column_mass, recorded["column_mass"], atol=1e-4)


@pytest.mark.parametrize("toy", ["imbalance", "neighbours"])
@pytest.mark.parametrize("score", ["accuracy", "mean_accuracy"])
def test_page_quotes_the_scores(toy, score):
    assert row(rows[score] for rows in RECORD[toy]["solvers"].values()) in PAGE


@pytest.mark.parametrize("setting", ["uniformity", "consistency"])
def test_page_quotes_the_settings(setting):
    assert " | ".join(RECORD[setting]) in PAGE
    assert row(RECORD[setting].values()) in PAGE


@pytest.mark.parametrize("toy", ["imbalance", "neighbours"])
def test_consistent_transport_is_the_most_accurate(toy):
    solvers = RECORD[toy]["solvers"]
    for score in ("accuracy", "mean_accuracy"):
        assert max(solvers, key=lambda name: solvers[name][score]) == "consistent"


def test_every_picture_exists_and_is_light():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE)
    assert len(pictures) == 3
    for name in pictures:
        path = ROOT / "docs" / name
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 200_000


def test_pictures_can_be_drawn(script, tmp_path):
    script["draw_labels"](script["imbalance"](), tmp_path / "labels.png")
    script["draw_plans"]([script["neighbours"]()], tmp_path / "plans.png")
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 2
