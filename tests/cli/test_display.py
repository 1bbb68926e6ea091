"""Help comes at once, and progress is shown where somebody looks."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import caot
from caot.cli.progress import shown
from caot.cli.screen import Screen, make_table
from caot.runs import PartStarted
from caot.training import EndReason, Finished, Stage, StepDone

# The package itself may bring in what it likes; the command line must not.
SCRIPT = """
import sys, types
package = types.ModuleType("caot")
package.__path__ = [sys.argv[1]]
sys.modules["caot"] = package
from typer.testing import CliRunner
from caot.cli import app
result = CliRunner().invoke(app, ["--help"])
assert "suggest-k" in result.output, result.output
heavy = {"torch", "pandas", "numpy", "sklearn", "transformers", "pyarrow"}
print(sorted(heavy & set(sys.modules)))
"""


def test_help_imports_nothing_heavy():
    place = str(Path(caot.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, place], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def step(iteration):
    return StepDone(iteration, 20, Stage.WARM_UP, 1.25, 1.0, 0.25, float("nan"), None)


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (False, False), (True, True)])
def test_progress_has_stage_loss_and_iterations(terminal, quiet):
    screen = Screen(quiet=quiet)
    stream = io.StringIO()
    screen.err = Console(file=stream, force_terminal=terminal, width=120)
    with shown(screen) as callbacks:
        for event in (PartStarted("prepare"), *map(step, range(20))):
            for callback in callbacks:
                callback(event)
        for callback in callbacks:
            callback(Finished(20, EndReason.COMPLETED))
            callback(PartStarted("describe"))
    written = stream.getvalue()
    if quiet:
        assert written == ""
        return
    assert "describing the clusters" in written
    if not terminal:
        lines = written.splitlines()
        assert lines[0] == "encoding the texts"
        assert lines[1] == "warm-up: 2 of 20 iterations, loss 1.25, at most 0 s left"
        assert len(lines) == 13
        assert "\x1b" not in written


def test_tables_obey_nothing_in_a_text():
    stream = io.StringIO()
    Console(file=stream, width=80).print(make_table("", ("a",), [("[red]x[/] \x1b[2J\ud800",)]))
    assert "[red]x[/]" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
