"""``caot fit``: from a file to a run folder."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caot.cli import fit_options as own
from caot.cli import options, values
from caot.cli.clusters import cluster_table, run_document
from caot.cli.errors import guarded
from caot.cli.progress import shown
from caot.cli.screen import Screen

if TYPE_CHECKING:
    from caot.io import TextTable
    from caot.runs import RunFolder, RunRecord, RunSettings

EXAMPLES = """
Examples:

  caot fit tickets.csv --text subject -k 20 -o tickets-run

  caot fit tickets.csv --text subject --text body --id ticket_id -k auto

  caot fit tickets.csv --text subject -k 20 --method sccl --set temperature=0.2

  zcat log.jsonl.gz | caot fit - -k 30 --time-budget 10min -o log-run

After Ctrl-C: the same command with --resume
"""


def fit(
    source: options.Input,
    *,
    n_clusters: own.Clusters,
    output: own.Output = None,
    method: own.Method = "caot",
    method_settings: own.MethodSettings = None,
    text: options.TextColumns = None,
    id_column: own.IdColumn = None,
    format: options.Format = None,  # noqa: A002 - the option's name
    encoding: options.Encoding = "utf-8",
    no_header: options.NoHeader = False,
    encoder: options.EncoderName = "auto",
    finetune: own.FineTune = "auto",
    imbalance: own.Imbalance = "auto",
    min_confidence: options.MinConfidence = None,
    on_empty: own.OnEmpty = "error",
    max_iter: own.MaxIter = None,
    max_length: options.MaxLength = None,
    max_chunks: options.MaxChunks = None,
    time_budget: own.TimeBudget = None,
    seed: options.Seed = 0,
    language: options.Languages = None,
    examples: options.Examples = None,
    raw: options.Raw = False,
    llm_url: options.LlmUrl = None,
    llm_model: options.LlmModel = None,
    send_texts: options.SendTexts = False,
    device: own.Device = None,
    offline: options.Offline = False,
    resume: own.Resume = False,
    force: options.Force = False,
    checkpoint_every: own.CheckpointEvery = 20,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Cluster the texts of a file and write a run folder with model, tables and report."""
    values.go_offline(offline)
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        k = values.n_clusters(n_clusters)
        values.method(method, k, resume=resume)
        given: dict[str, Any] = {
            "n_clusters": k,
            "method": method,
            "method_settings": values.method_settings(method_settings),
            "encoder": encoder,
            "finetune": values.finetune(finetune),
            "imbalance": values.imbalance(imbalance),
            "max_iter": max_iter,
            "max_length": max_length,
            "max_chunks": max_chunks,
            "on_empty": on_empty,
            "time_budget": time_budget,
            "device": device,
            "random_state": seed,
            "min_confidence": min_confidence,
            "endpoint": values.endpoint(llm_url, llm_model, send_texts),
            "describing": values.describing(language, examples),
            "raw": raw,
            "checkpoint_every": checkpoint_every,
        }
        from caot.io import read_table
        from caot.runs import RunFolder

        settings = values.early_run_settings(given)
        folder = RunFolder.prepare(output or default_folder(source), force=force, resume=resume)
        header = not no_header
        table = read_table(
            source, text=text, id_column=id_column, format=format, encoding=encoding, header=header
        )
        screen.note(f"{len(table):,} texts in {table.source}")
        settings = settings or values.run_settings(given)  # torch comes in here, if not before
        record = _run(screen, table, folder, settings, source, resume=resume)
        show(screen, folder, record)


def _run(
    screen: Screen,
    table: TextTable,
    folder: RunFolder,
    settings: RunSettings,
    source: str,
    *,
    resume: bool,
) -> RunRecord:
    """Fit with a progress display; after Ctrl-C say how to go on."""
    from caot.runs import fit_run

    piped = source == "-"
    path = None if piped else source
    try:
        with shown(screen) as callbacks:
            return fit_run(table, folder, settings, callbacks=callbacks, resume=resume, source=path)
    except KeyboardInterrupt as interrupt:
        how = _how_to_go_on(folder, settings.method, piped=piped)
        raise type(interrupt)(how) from None
    except Exception as error:
        if folder.checkpoint_path.is_file() and not resume:
            how = _go_on_with(piped=piped)
            error.add_note(f"the training is kept; when that is put right, {how}")
        raise


def show(screen: Screen, folder: RunFolder, record: RunRecord) -> None:
    """Print the clusters and where everything lies."""
    description = folder.description()
    counts = record.counts
    title = f"{counts['texts']:,} texts in {counts['clusters_used']} clusters"
    screen.show(cluster_table(description, title))
    saved = record.training.get("n_iter_saved")
    if saved:
        screen.show(f"{saved} iterations were saved: {record.training['end_reason']}.")
    _show_missing_and_renamed(screen, record)
    screen.show(f"Assignments  {folder.path / 'assignments.csv'}")
    if folder.report_path.is_file():
        screen.show(f"Report       {folder.report_path}")
    screen.json(run_document(folder, record, description))


def _show_missing_and_renamed(screen: Screen, record: RunRecord) -> None:
    """Say how many texts have no cluster, and what our columns are called if not as usual."""
    missing, least = record.counts["without_cluster"] or 0, record.settings["min_confidence"]
    if missing or least is not None:
        have = "text has" if missing == 1 else "texts have"
        why = "they are noise to the method" if least is None else ""
        why = why or f"the confidence is below {least:g}"
        screen.show(f"{missing:,} {have} no cluster: {why}.")
    renamed = [f"{name} is {now}" for name, now in record.columns.items() if name != now]
    if renamed:
        screen.show(f"The input has columns of these names already, ours: {', '.join(renamed)}.")


def default_folder(source: str) -> Path:
    """Return the folder of a run whose user named none: tickets-run for tickets.csv.gz."""
    if source == "-":
        return Path("caot-run")
    return Path(f"{Path(source).name.split('.')[0] or 'caot'}-run")


def _how_to_go_on(folder: RunFolder, method: str, *, piped: bool) -> str:
    from caot.runs import RUN_METHODS

    if not RUN_METHODS[method].resumes:
        return f"interrupted, nothing was written; {method} keeps no checkpoints: run it again"
    if not folder.checkpoint_path.is_file():
        return "interrupted before training began, nothing was written: run the command again"
    from caot.runs.resuming import kept_iteration

    kept = kept_iteration(folder.checkpoint_path)
    where = "" if kept is None else f" at iteration {kept}"
    return f"interrupted; the training is kept{where} in {folder.path}, {_go_on_with(piped=piped)}"


def _go_on_with(*, piped: bool) -> str:
    given = [word for word in sys.argv[1:] if word not in ("--resume", "--force", "-f")]
    how = "pipe the same input again into" if piped else "go on with"
    return f"{how}: {shlex.join(['caot', *given, '--resume'])}"
