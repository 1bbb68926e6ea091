"""The tables that the sections of the report share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from caot.bench import suites
from caot.bench.cells import Cell
from caot.bench.datasets import DATASETS
from caot.bench.document import Table
from caot.bench.methods import METHODS
from caot.bench.paper import MAIN, Printed
from caot.bench.summaries import Results, Summary, mean_of, shown
from caot.bench.variants import VARIANTS, find_variant

# The paper trains every layer, ten times as long.
_LESS_THAN_PRINTED = "CAOT, faithful objective, reduced budget"
_ENCODERS = {"auto": "MiniLM", "paper": "SBERT"}


def encoder_title(encoder: str) -> str:
    """Return what tables call an encoder."""
    return _ENCODERS.get(encoder, encoder.rpartition("/")[2])


def row_title(cell: Cell, features: str | None = None) -> str:
    """Return what tables call a method: with its encoder, layers, iterations and variant.

    ``features`` says what takes the place of an encoder where the inputs are vectors.
    """
    method = METHODS.get(cell.method)
    if method is not None and not method.encodes:  # words alone
        return method.title
    title = cell.method if method is None else method.title
    if cell.method == "caot-faithful" and cell.finetune.isdigit():
        title = _LESS_THAN_PRINTED
    parts = [title, features or encoder_title(cell.encoder)]
    if features is None and (method is None or method.finetunes):
        parts.append(_layers(cell.finetune))
    if cell.max_iter is not None:
        parts.append(f"{cell.max_iter:,} iterations")
    if cell.variant != "full":
        parts.append(find_variant(cell.variant).title)
    return ", ".join(parts)


def _layers(finetune: str) -> str:
    if finetune.isdigit():
        return f"top {finetune} layers"
    return {"none": "frozen", "all": "all layers", "auto": "layers by effort"}[finetune]


def short_name(name: str) -> str:
    """Return the paper's abbreviation of a data set."""
    return DATASETS[name].short


def budget_cells(method: str) -> list[Cell]:
    """Return a cell of a method at every budget but the paper's, for any data set."""
    return [_cell_at("frozen", method), learning_cell(method)]


def learning_cell(method: str) -> Cell:
    """Return a cell of a method whose top layers learn, with the effort that all are given."""
    return _cell_at("quick", method)


def _cell_at(budget: suites.Budget, method: str) -> Cell:
    effort = suites.EFFORTS[budget]
    iterations = effort.faithful_iter if method == "caot-faithful" else effort.usual_iter
    return Cell("", method, finetune=effort.finetune, max_iter=iterations)


def full_rows(results: Results, datasets: Iterable[str]) -> list[Cell]:
    """Return the kinds of complete runs: K-means, ours at the budgets, and others with records."""
    ours = [method for method in METHODS if method.startswith("caot")]
    kinds = [Cell("", "kmeans"), *(cell for method in ours for cell in budget_cells(method))]
    kinds += [
        replace(cell, dataset="")
        for cell in results.cells()
        if cell.method not in ours and cell.dataset in datasets and cell.encoder == "auto"
    ]
    order = list(METHODS)
    return sorted(
        dict.fromkeys(kinds),
        key=lambda cell: order.index(cell.method) if cell.method in order else len(order),
    )


def score_rows(
    results: Results, kinds: Sequence[Cell], datasets: Sequence[str], name: str
) -> list[list[str]]:
    """Return a row for each kind of run: its title, a score on each data set, and their mean."""
    rows = []
    for kind in kinds:
        found = {data: results.summary(replace(kind, dataset=data), name) for data in datasets}
        cells = [shown(results, replace(kind, dataset=data), name) for data in datasets]
        rows.append([row_title(kind), *cells, mean_of(found)])
    return rows


def paper_rows(
    table: Mapping[str, Mapping[str, Printed]],
    datasets: Sequence[str],
    read: Callable[[Printed], float | None],
    encoder: str = "SBERT",
) -> list[list[str]]:
    """Return the paper's rows: a title, a figure for each data set, and their mean."""
    rows = []
    for title, figures in table.items():
        values = [read(figures[data]) if data in figures else None for data in datasets]
        whole = [value for value in values if value is not None]
        mean = f"{sum(whole) / len(whole):.2f}" if len(whole) == len(datasets) else ""
        printed = ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([f"paper: {title}, {encoder}", *printed, mean])
    return rows


def rows_beside_paper(
    results: Results,
    kinds: Sequence[Cell],
    datasets: Sequence[str],
    name: str,
    read: Callable[[Printed], float | None],
) -> list[list[str]]:
    """Return the rows of each method, and below them what the paper's main table has for it."""
    rows: list[list[str]] = []
    for title in dict.fromkeys(method.paper for method in METHODS.values()):
        own = [kind for kind in kinds if _printed_as(kind) == title]
        rows += score_rows(results, own, datasets, name)
        if title is not None and title in MAIN:
            rows += paper_rows({title: MAIN[title]}, datasets, read)
    unknown = [kind for kind in kinds if kind.method not in METHODS]
    return rows + score_rows(results, unknown, datasets, name)


def _printed_as(kind: Cell) -> str | None:
    method = METHODS.get(kind.method)
    return None if method is None else method.paper


def variants_table(
    results: Results,
    kind: Cell,
    printed: Mapping[str, Mapping[str, Printed]],
    *,
    of: str = "scores",
    title: str = "variant",
) -> Table:
    """Return variants by data sets: our accuracy and NMI, and the paper's accuracy."""
    sets = suites.THREE
    columns = [
        f"{title} ({row_title(kind)})",
        *(f"{short_name(data)} {what}" for data in sets for what in ("ACC", "NMI", "paper ACC")),
    ]
    rows = []
    for variant, figures in printed.items():
        row = [VARIANTS[variant].title]
        for data in sets:
            cell = replace(kind, dataset=data, variant=variant)
            row += [
                shown(results, cell, "accuracy", of),
                shown(results, cell, "nmi_geometric", of),
                f"{figures[data].accuracy:.2f}",
            ]
        rows.append(row)
    return Table(columns, rows)


def plain_figure(found: Summary | None) -> str:
    """Return a mean without its spread, as a table of costs shows it."""
    if found is None:
        return ""
    return f"{found.mean:,.1f}" if found.mean < 100 else f"{found.mean:,.0f}"
