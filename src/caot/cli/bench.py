"""``caot bench``: run the paper's experiments, and report what the records say."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caot.cli import bench_options as own
from caot.cli import options, values
from caot.cli.errors import USER_ERROR, guarded
from caot.cli.screen import Screen, make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caot.bench.cells import Cell
    from caot.bench.records import CellRecord
    from caot.bench.running import RunPlace

EXAMPLES = """
Examples:

  caot bench list

  caot bench datasets --data-dir data

  caot bench run main ablations --data-dir data --jobs 2

  caot bench run --data tickets.csv --method caot --method kmeans --seeds 0,1,2

  caot bench report -o docs/results.md
"""

app = typer.Typer(
    help="Run the paper's experiments, one record a run, and report what the records say.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

RESULTS = Path("benchmarks/results/cells")


@app.command("list")
def list_suites(quiet: options.Quiet = False, as_json: options.Json = False) -> None:
    """List suites, methods, variants and data sets."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.bench.datasets import DATASETS
        from caot.bench.methods import METHODS
        from caot.bench.suites import BUDGETS, SUITES
        from caot.bench.variants import VARIANTS

        rows = [
            (name, suite.title, *(len(suite.at(budget)) for budget in BUDGETS))
            for name, suite in SUITES.items()
        ]
        screen.show(make_table("", ("suite", "shows", *(f"{b}:" for b in BUDGETS)), rows))
        screen.show(f"Methods   {', '.join(METHODS)}")
        screen.show(f"Variants  {', '.join(VARIANTS)}, or parameter=value")
        screen.show(f"Data      {', '.join(DATASETS)}, or a file")
        screen.json(
            {
                "suites": {name: suite.title for name, suite in SUITES.items()},
                "methods": list(METHODS),
                "variants": list(VARIANTS),
                "datasets": list(DATASETS),
            }
        )


@app.command()
def run(
    suites: own.Suites = None,
    *,
    budget: own.Budget = "frozen",
    data: own.Data = None,
    method: own.Methods = None,
    variant: own.Variants = None,
    encoder: own.Encoders = None,
    seeds: own.Seeds = None,
    jobs: own.Jobs = 1,
    time_limit: own.TimeLimit = None,
    retry: own.Retry = False,
    dry: own.DryRun = False,
    data_dir: own.DataDir = None,
    results: own.Results = RESULTS,
    cache: own.Cache = None,
    offline: options.Offline = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Run the cells that have no record yet; interrupted, the same command goes on.

    Methods are given texts, never labels. Each run is a process of its own and leaves one record.
    The exit code is 1 if runs failed or ran out of time.
    """
    values.go_offline(offline)
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.bench.scheduling import check_cells, missing_cells, run_cells
        from caot.quantities import seconds

        limit = None if time_limit is None else seconds(time_limit)
        cells = _chosen(
            suites or [],
            budget,
            None if seeds is None else values.numbers(seeds, "--seeds", least=0, example="0,1,2"),
            data=data,
            methods=method,
            variants=variant,
            encoders=encoder,
        )
        check_cells(cells)
        left = missing_cells(cells, results, retry=retry)
        _note_records(screen, cells, left, results)
        if dry:
            _list(screen, left)
            return
        place = _place(left, data_dir, cache, jobs)
        left = _at_hand(left, place.data_dir, screen)
        counter = _Counter(screen, len(left))
        n_bad = run_cells(left, results, place, jobs=jobs, time_limit=limit, told=counter.tell)
        screen.json({"run": len(left), "not_done": n_bad, "results": str(results)})
        if n_bad:
            screen.warn(f"{n_bad} cells did not end well; their records say why")
        if counter.n_failed:
            raise typer.Exit(USER_ERROR)


@app.command()
def datasets(
    data_dir: own.DataDir = None, quiet: options.Quiet = False, as_json: options.Json = False
) -> None:
    """Show size, classes, length and imbalance of the data beside the paper's, and check them."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.bench.datasets import data_folder
        from caot.bench.statistics import dataset_rows

        rows = dataset_rows(data_folder(data_dir))
        names = ("data", "S:", "C:", "L:", "R:", "paper (S, C, L, R):", "check")
        screen.show(make_table("", names, [row.shown for row in rows]))
        screen.json([row.as_dict() for row in rows])
        if any(row.is_wrong for row in rows):
            msg = "some data sets are not what they should be: get them anew"
            raise ValueError(msg)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets; all by default.")
    ] = None,
    *,
    data_dir: own.DataDir = None,
    quiet: options.Quiet = False,
) -> None:
    """Fetch the short texts from their public homes and check that they are the same rows.

    They go to --data-dir, to the folder that CAOT_DATA names, or to caot-data, where bench run
    looks for them too.
    """
    screen = Screen(quiet=quiet)
    with guarded(), screen.listening():
        from caot.bench.datasets import FETCHED
        from caot.bench.sources import SOURCES, fetch_dataset

        folder = data_dir or Path(os.environ.get("CAOT_DATA") or FETCHED).expanduser()
        for name in names or list(SOURCES):
            screen.note(f"{name}: {fetch_dataset(name, folder)}")


@app.command()
def report(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A .md or .html file; stdout by default."),
    ] = None,
    *,
    findings: Annotated[
        Path | None, typer.Option(help="A file of words that stand before the tables.")
    ] = None,
    results: own.Results = RESULTS,
    quiet: options.Quiet = False,
) -> None:
    """Write what the records say, beside the paper's figures; nothing is run."""
    screen = Screen(quiet=quiet)
    with guarded(), screen.listening():
        from caot.bench.report import write_report

        text = write_report(results, output, findings)
        if output is None:
            typer.echo(text)
        else:
            screen.note(f"wrote {output}")


def _chosen(
    suites: Sequence[str],
    budget: str,
    seeds: list[int] | None,
    *,
    data: Sequence[str] | None,
    methods: Sequence[str] | None,
    variants: Sequence[str] | None,
    encoders: Sequence[str] | None,
) -> list[Cell]:
    """Return the cells of the suites, or of all that is named when no suite is."""
    from caot.bench.choosing import free_cells, suite_cells

    if suites:
        return suite_cells(
            suites, budget, seeds, data=data, methods=methods, variants=variants, encoders=encoders
        )
    if not data:
        msg = "name a suite (caot bench list shows them), or data sets with --data"
        raise typer.BadParameter(msg)
    return free_cells(data, budget, seeds, methods=methods, variants=variants, encoders=encoders)


def _note_records(
    screen: Screen, cells: Sequence[Cell], left: Sequence[Cell], results: Path
) -> None:
    """Tell how many cells have a record, and how many of those records are no results."""
    from caot.bench.records import read_record

    kept = [read_record(cell.path(results)) for cell in set(cells) - set(left)]
    n_bad = sum(record is not None and not record.is_done for record in kept)
    bad = f", {n_bad} of them did not end well (--retry runs those again)" if n_bad else ""
    screen.note(f"{len(cells)} cells, {len(kept)} have a record{bad}")


def _list(screen: Screen, cells: Sequence[Cell]) -> None:
    for cell in cells:
        screen.show(str(cell))
    screen.json([cell.as_dict() for cell in cells])


def _place(cells: Sequence[Cell], data_dir: Path | None, cache: Path | None, jobs: int) -> RunPlace:
    """Return where the cells run; the benchmark data is needed only if one of them names it."""
    from caot.bench.datasets import data_folder, is_file_name
    from caot.bench.running import RunPlace
    from caot.files import cache_folder
    from caot.threads import n_cores, n_threads

    are_files = all(is_file_name(cell.dataset) for cell in cells)
    folder = None if are_files else data_folder(data_dir)
    return RunPlace(folder, cache or cache_folder(), max(1, min(n_threads(), n_cores() // jobs)))


def _at_hand(cells: Sequence[Cell], folder: Path | None, screen: Screen) -> list[Cell]:
    """Return the cells whose data is there; the others leave no record, and stay missing."""
    from caot.bench.datasets import DatasetError, data_file

    names = dict.fromkeys(cell.dataset for cell in cells)
    absent = [
        name for name in names if folder is not None and not data_file(name, folder).is_file()
    ]
    left = [cell for cell in cells if cell.dataset not in absent]
    if not absent:
        return left
    told = f"{', '.join(absent)}: not in {folder}; put the data there, or try caot bench fetch"
    if not left:
        raise DatasetError(told)
    screen.warn(f"{len(cells) - len(left)} cells are left out. {told}")
    return left


class _Counter:
    """Tells of each cell as it ends."""

    def __init__(self, screen: Screen, total: int) -> None:
        self._screen, self._total, self._done = screen, total, 0
        self.n_failed = 0  # what lacks something is not run, and no failure

    def tell(self, cell: Cell, record: CellRecord) -> None:
        self._done += 1
        place = f"[{self._done}/{self._total}] {cell}"
        content: Any = record.content
        self.n_failed += record.is_failure
        if record.is_done:
            accuracy = record.score("accuracy")
            self._screen.note(f"{place}: accuracy {accuracy:.2f}, {content['seconds']:.0f} s")
        else:
            self._screen.warn(f"{place}: {record.status.value}: {content['error']}")
