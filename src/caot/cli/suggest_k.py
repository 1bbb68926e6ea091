"""``caot suggest-k``: how many clusters there may be."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
from typing import TYPE_CHECKING, Annotated

import typer

from caot.cli import options, values
from caot.cli.errors import guarded
from caot.cli.screen import Screen, make_table

if TYPE_CHECKING:
    from rich.table import Table

    from caot.suggest import KSuggestion

EXAMPLES = """
Examples:

  caot suggest-k tickets.csv --text subject

  caot suggest-k tickets.csv --values 10,15,20,25,30
"""

_BAR = 30


def suggest_k(
    source: options.Input,
    *,
    text: options.TextColumns = None,
    format: options.Format = None,  # noqa: A002 - the option's name
    encoding: options.Encoding = "utf-8",
    no_header: options.NoHeader = False,
    k_values: Annotated[
        str | None,
        typer.Option("--values", metavar="K,K,...", help="The numbers of clusters to try."),
    ] = None,
    encoder: options.EncoderName = "auto",
    max_length: options.MaxLength = None,
    max_chunks: options.MaxChunks = None,
    seed: options.Seed = 0,
    offline: options.Offline = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Show a curve over K with stability and separation, and recommend a range.

    Vectors of texts are kept on this machine, so that a second look is quick.
    """
    values.go_offline(offline)
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        wanted = None
        if k_values is not None:
            wanted = values.numbers(k_values, "--values", least=2, example="10,20,30")
        values.require_encoder(encoder)
        from caot.io import read_table

        table = read_table(
            source, text=text, format=format, encoding=encoding, header=not no_header
        )
        from caot.runs import not_english, suggest_for  # torch comes in here
        from caot.runs.record import finite

        warning = not_english(table.texts, encoder)
        if warning is not None:
            screen.warn(warning)
        screen.note(f"{len(table):,} texts in {table.source}; encoding them")
        found = suggest_for(
            table.texts,
            encoder=encoder,
            max_length=max_length,
            max_chunks=max_chunks,
            k_values=wanted,
            random_state=seed,
            local_files_only=offline,
        )
        screen.show(_curve(found))
        screen.show(f"Recommended: {found.low} to {found.high}, best {found.best}. {found.reason}")
        screen.json(finite(found.as_dict()))


def _curve(found: KSuggestion) -> Table:
    top = max(point.score for point in found.curve) or 1.0
    rows = [
        (
            f"{'* ' if point.n_clusters == found.best else ''}{point.n_clusters}",
            f"{point.stability:.2f}",
            f"{point.silhouette:.2f}",
            f"{point.modularity:.2f}",
            f"{point.score:.2f}",
            "#" * round(_BAR * point.score / top),
        )
        for point in found.curve
    ]
    return make_table(
        "", ("K:", "stability:", "silhouette:", "modularity:", "score:", "curve"), rows
    )
