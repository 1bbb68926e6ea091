"""``caot export``: a run for other programs."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caot.cli import options
from caot.cli.errors import guarded
from caot.cli.screen import Screen

if TYPE_CHECKING:
    from caot.runs import RunFolder

EXAMPLES = """
Examples:

  caot export tickets-run onnx

  caot export tickets-run atlas -o atlas.parquet && embedding-atlas atlas.parquet --text subject
  --x projection_x --y projection_y
"""


def export(
    run: options.Run,
    to: Annotated[
        Literal["onnx", "atlas"],
        typer.Argument(
            metavar="onnx|atlas",
            help="The encoder as an ONNX graph, or a table for Embedding Atlas.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="By default onnx/model.onnx in the run's model, or atlas.parquet beside you.",
        ),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Write the encoder as ONNX, or the texts with clusters and a map for Embedding Atlas."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.runs import RunFolder

        folder = RunFolder.open(run)
        path = output or _usual_place(folder, to)
        if path.exists() and not force:
            msg = f"{path} exists: choose another file with -o, or replace it with --force"
            raise FileExistsError(msg)
        if to == "onnx":
            _write_onnx(folder, path)
        else:
            _write_atlas(folder, path)
        screen.show(f"Written  {path}")
        screen.json({"kind": to, "path": str(path)})


def _usual_place(folder: RunFolder, to: str) -> Path:
    if to == "atlas":
        return Path("atlas.parquet")
    return folder.model_path / "onnx" / "model.onnx"


def _write_onnx(folder: RunFolder, path: Path) -> None:
    from caot.encoders import TransformerEncoder
    from caot.encoders.export import export_onnx
    from caot.runs import RunError

    encoder = folder.model().encoder_
    if not isinstance(encoder, TransformerEncoder):
        msg = (
            f"the vectors of the model of {folder.path} do not come from a transformer alone, and "
            "ONNX takes nothing else: fit with --method caot or kmeans, or export to atlas"
        )
        raise RunError(msg)
    export_onnx(encoder, path)


def _write_atlas(folder: RunFolder, path: Path) -> None:
    from caot.io import add_columns, write_table
    from caot.report import project
    from caot.runs.reporting import result_of

    result = result_of(folder)
    seed = int(folder.record.parameters["random_state"])
    places = project(result.embeddings, seed, labels=result.labels)
    columns = {"projection_x": places[:, 0], "projection_y": places[:, 1]}
    write_table(add_columns(result.assignments(), columns), path)
