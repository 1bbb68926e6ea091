"""``caot report``: the page of a run, drawn again."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
import dataclasses
from typing import Annotated

import typer

from caot.cli import options
from caot.cli.describe import describe_again
from caot.cli.errors import guarded
from caot.cli.screen import Screen

EXAMPLES = """
Examples:

  caot report tickets-run

  caot report tickets-run --title "Support in March" --examples 10 --language de
"""


def report(
    run: options.Run,
    *,
    title: Annotated[str | None, typer.Option(help="The heading of the page; it is kept.")] = None,
    language: options.Languages = None,
    examples: options.Examples = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Draw the report of a run again, with other examples or stop words if asked."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.runs import RunFolder
        from caot.runs.reporting import report_data, result_of

        folder = RunFolder.open(run)
        with folder.locked():
            if language or examples:
                result, record = describe_again(screen, folder, language, examples)
            else:
                result, record = result_of(folder), folder.record
            if title is not None:
                record = dataclasses.replace(record, title=title)
                record.write(folder.path)
            scores = record.training.get("scores")
            data = report_data(result, record, folder.history(), scores=scores)
            path = folder.write_report(data)
        screen.show(f"Report  {path}")
        screen.json({"report": str(path)})
