"""Options of ``caot fit`` alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Clusters: TypeAlias = Annotated[
    str, typer.Option("-k", "--clusters", metavar="N|auto", help="How many clusters.")
]
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The run folder; by default named after the input."),
]
Method: TypeAlias = Annotated[
    str,
    typer.Option("-m", "--method", metavar="NAME", help="caot, or another that caot info lists."),
]
MethodSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method's own; repeat it."),
]
IdColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column of the ids, which the report shows."),
]
FineTune: TypeAlias = Annotated[
    str, typer.Option(metavar="WHAT", help="auto, all, none, or how many top layers learn.")
]
Imbalance: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="LEVEL", help="auto, balanced, slight, imbalanced, severe, or the penalty weight."
    ),
]
OnEmpty: TypeAlias = Annotated[
    Literal["error", "own-cluster"],
    typer.Option(help="Empty texts: error, or own-cluster, which holds them all."),
]
MaxIter: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Iterations of the training.")]
TimeBudget: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TIME", help="Such as 90s, 10min or 2h.")
]
Device: TypeAlias = Annotated[str | None, typer.Option(help="cpu, cuda, ...; the best by default.")]
Resume: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Go on with the run that was interrupted there.")
]
CheckpointEvery: TypeAlias = Annotated[int, typer.Option(min=1, hidden=True)]
