"""Every example is short and runs."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_in_under_sixty_lines(path, capsys):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_demo_shows_that_consistency_helps(capsys):
    demo = next(path for path in EXAMPLES if path.stem == "transport_demo")
    runpy.run_path(str(demo), run_name="__main__")
    rows = capsys.readouterr().out.splitlines()[3:]
    accuracy = [float(row.split("%")[0].split()[-1]) for row in rows]
    assert len(accuracy) == 4
    assert max(accuracy) == accuracy[3]
