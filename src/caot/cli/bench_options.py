"""Options of ``caot bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Suites: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="SUITE", help="As caot bench list shows them.")
]
Budget: TypeAlias = Annotated[
    str,
    typer.Option(help="frozen (networks alone), quick (top two layers), or paper (needs a GPU)."),
]
Data: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="NAME|FILE", help="Only these data sets, or your file."),
]
Methods: TypeAlias = Annotated[
    list[str] | None, typer.Option("--method", help="Only these methods.")
]
Variants: TypeAlias = Annotated[
    list[str] | None, typer.Option("--variant", help="Only these variants.")
]
Encoders: TypeAlias = Annotated[
    list[str] | None, typer.Option("--encoder", help="Only these encoders.")
]
Seeds: TypeAlias = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="These seeds instead of the budget's.")
]
Jobs: TypeAlias = Annotated[int, typer.Option(min=1, help="Runs at a time; they share the cores.")]
TimeLimit: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TIME", help="A run that takes longer is ended.")
]
Retry: TypeAlias = Annotated[
    bool, typer.Option("--retry", help="Run those again that did not end well.")
]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Only list what is missing.")]
DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The folder of the benchmark data; CAOT_DATA by default."),
]
Results: TypeAlias = Annotated[Path, typer.Option("--results", help="The folder of the records.")]
Cache: TypeAlias = Annotated[
    Path | None, typer.Option(help="Where embeddings are kept; CAOT_CACHE by default.")
]
