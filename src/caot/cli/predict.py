"""``caot predict``: the clusters of new texts, streamed."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caot.cli import options
from caot.cli.errors import guarded
from caot.cli.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from caot.clusterer import TextClusterer
    from caot.io import TextTable
    from caot.prediction import Encodes
    from caot.runs import RunFolder

EXAMPLES = """
Examples:

  caot predict tickets-run new.csv -o new-clusters.csv

  cat new.jsonl | caot predict tickets-run - --output-format jsonl | grep refund

  caot predict tickets-run a-million.csv.gz -o out.parquet --fast
"""

CHUNK_ROWS = 4096
MODEL_FILE = "config_caot.json"  # of `caot.persistence`, which brings in torch


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A run folder, or the folder of a model.", show_default=False
        ),
    ],
    source: options.Input,
    *,
    output: Annotated[str, typer.Option("-o", "--output", help="A file, or - for stdout.")] = "-",
    text: options.TextColumns = None,
    format: options.Format = None,  # noqa: A002 - the option's name
    encoding: options.Encoding = "utf-8",
    no_header: options.NoHeader = False,
    output_format: Annotated[
        str | None, typer.Option(help="csv, tsv, jsonl or parquet; the extension's by default.")
    ] = None,
    min_confidence: options.MinConfidence = None,
    on_empty: Annotated[
        Literal["error", "no-cluster"],
        typer.Option(help="Empty texts: error, or no-cluster, which is -1."),
    ] = "error",
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Run on ONNX or OpenVINO where that gives the same clusters."),
    ] = False,
    raw: options.Raw = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Add the clusters of a model to a file of any size, in constant memory."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        _check_output(output, as_json=as_json, force=force)
        from caot.io import TableWriter, iter_tables

        target = TableWriter(output, format=output_format, raw=raw)
        folder = _run_folder(model)
        trained_on = () if folder is None else tuple(folder.record.input["text_columns"])
        tables = iter_tables(
            source,
            text=text,
            format=format,
            encoding=encoding,
            header=not no_header,
            preferred=trained_on,
            chunk_rows=CHUNK_ROWS,
        )
        first = next(tables)
        if not text:
            _tell_of_columns(screen, first, trained_on)
        saved = _open(model, folder, min_confidence)  # after what is quickly found wrong
        encoder = _accelerated(saved, first.texts) if fast else None
        n_texts = 0
        with target as writer:
            for table in _accepted(chain([first], tables), saved, source, on_empty):
                writer.write(_with_clusters(saved, table, encoder))
                n_texts += len(table)
        screen.note(f"{n_texts:,} texts written to {'stdout' if output == '-' else output}")
        screen.json({"texts": n_texts, "output": output})


@dataclass(frozen=True, slots=True)
class _Saved:
    """A model, its clusters' labels, where it lies, and the least confidence."""

    model: TextClusterer
    labels: Mapping[int, str]
    folder: Path
    min_confidence: float | None


def _run_folder(path: Path) -> RunFolder | None:
    """Return the folder of a run, None for that of a model alone."""
    from caot.runs import RunFolder

    return None if (path / MODEL_FILE).is_file() else RunFolder.open(path)


def _tell_of_columns(screen: Screen, table: TextTable, trained_on: tuple[str, ...]) -> None:
    """Say where the texts come from if not from where the run's came."""
    if not trained_on or table.text_columns == trained_on:
        return
    found, wanted = (", ".join(map(repr, names)) for names in (table.text_columns, trained_on))
    said = (
        f"the run was fitted to texts in {wanted}, which {table.source} does not have: those in "
        f"{found} are taken; name others with --text"
    )
    if len(table.frame.columns) == 1:  # nothing else could be meant
        screen.note(said)
    else:
        screen.warn(said)


def _open(path: Path, folder: RunFolder | None, min_confidence: float | None) -> _Saved:
    from caot import load_model

    if folder is None:
        model = load_model(path)
        _require_texts(model, path)
        return _Saved(model, {}, path, min_confidence)
    if min_confidence is None:
        min_confidence = folder.record.settings["min_confidence"]
    return _Saved(folder.model(), folder.description().labels, folder.model_path, min_confidence)


def _require_texts(model: TextClusterer, path: Path) -> None:
    from caot.encoders import reads_vectors
    from caot.runs import RunError

    if reads_vectors(model.encoder_):
        msg = f"the model of {path} was fitted on vectors: load it in Python and pass vectors"
        raise RunError(msg)


def _accelerated(saved: _Saved, texts: tuple[str, ...]) -> Encodes:
    from caot.acceleration import accelerate
    from caot.prediction import text_encoder

    sample = [text for text in texts if text.strip()][:1000]
    if not sample:  # nothing to compare encoders on
        return text_encoder(saved.model)
    return accelerate(saved.model, sample, folder=saved.folder).encoder


def _accepted(
    tables: Iterator[TextTable], saved: _Saved, source: str, on_empty: str
) -> Iterator[TextTable]:
    """Give the tables one by one; raise at the first that has empty texts which are refused."""
    n_before = 0
    for table in tables:
        rows = [n_before + row + 1 for row in _without_text(saved, table).tolist()]
        if rows and on_empty == "error":
            if Path(source).is_file():  # a pipe may never end
                rows += _later_rows(tables, saved, n_before + len(table))
            raise _empty_rows_error(rows, table.source)
        yield table
        n_before += len(table)


def _without_text(saved: _Saved, table: TextTable) -> NDArray[np.int64]:
    """Return the rows whose texts the model cannot read."""
    import numpy as np

    from caot.texts import empty_rows

    if saved.model.has_own_cluster_:
        return np.array([], dtype=np.int64)
    return np.flatnonzero(empty_rows(list(table.texts)))


def _later_rows(tables: Iterator[TextTable], saved: _Saved, n_before: int) -> list[int]:
    """Return the rows without text that are still to come, counted from 1."""
    rows: list[int] = []
    for table in tables:
        rows += [n_before + row + 1 for row in _without_text(saved, table).tolist()]
        n_before += len(table)
    return rows


def _empty_rows_error(rows: list[int], source: str) -> ValueError:
    from caot.io import TableError
    from caot.texts import listed

    are = "text is" if len(rows) == 1 else "texts are"
    return TableError(
        f"{len(rows):,} {are} empty in {source}, in row{'s' * (len(rows) > 1)} {listed(rows)} "
        "(counted from 1, a header left out): fill or remove them, or let them have no cluster "
        "with --on-empty no-cluster"
    )


def _with_clusters(saved: _Saved, table: TextTable, encoder: Encodes | None) -> pd.DataFrame:
    """Return the rows with our columns beside theirs; those without text have no cluster."""
    import numpy as np

    from caot.io import add_columns
    from caot.prediction import predict_stream

    rows = np.setdiff1d(np.arange(len(table)), _without_text(saved, table))
    clusters, seconds = np.full(len(table), -1), np.full(len(table), -1)
    confidence, second_confidence = np.zeros((2, len(table)), dtype=np.float32)
    for part in predict_stream(
        saved.model,
        [table.texts[row] for row in rows.tolist()],
        min_confidence=saved.min_confidence,
        encoder=encoder,
        chunk_size=CHUNK_ROWS,
    ):
        place = rows[part.start : part.start + len(part)]
        clusters[place], confidence[place] = part.labels, part.confidence
        seconds[place], second_confidence[place] = part.second_labels, part.second_confidence
    return add_columns(
        table.frame,
        {
            "cluster": clusters,
            "label": [saved.labels.get(cluster, "") for cluster in clusters.tolist()],
            "confidence": confidence,
            "second_cluster": seconds,
            "second_confidence": second_confidence,
        },
    )


def _check_output(output: str, *, as_json: bool, force: bool) -> None:
    if output == "-":
        if as_json:
            msg = "--json and the table both go to stdout: name a file with -o"
            raise typer.BadParameter(msg, param_hint="--json")
        return
    if Path(output).is_file() and not force:
        msg = f"{output} exists: choose another file, or replace it with --force"
        raise FileExistsError(msg)
