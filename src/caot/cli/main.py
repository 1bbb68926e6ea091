"""The command ``caot`` and its subcommands."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from caot.cli import bench, demo, describe, evaluate, export, fit, info, predict, report, suggest_k

_HELP = "Find out what is in short texts: clusters, their names, and a page to show to others."

_EPILOG = """
Examples:

  caot demo

  caot fit tickets.csv --text subject -k 20 -o tickets-run

  caot predict tickets-run new.csv -o new-clusters.csv
"""
_EXIT_CODES = (
    "Exit codes: 0 done, 1 an error that the message tells how to put right, 2 wrong usage, 3 a "
    "fault of caot, 130 interrupted (fit goes on with --resume), 141 the reader of a pipe left, "
    "143 terminated."
)

app = typer.Typer(
    name="caot",
    help=_HELP,
    epilog=f"{_EPILOG}\n{_EXIT_CODES}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _module, _command in (
    (fit, fit.fit),
    (predict, predict.predict),
    (describe, describe.describe),
    (report, report.report),
    (evaluate, evaluate.evaluate),
    (suggest_k, suggest_k.suggest_k),
    (export, export.export),
    (demo, demo.demo),
    (info, info.info),
):
    _name = _command.__name__.replace("_", "-")
    app.command(_name, epilog=_module.EXAMPLES)(_command)
app.add_typer(bench.app, name="bench")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"caot {metadata.version('caot')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Parse what stands before the subcommand."""
