"""What the records say about representations, cost and effort, methods side by side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from caot.bench import paper, suites
from caot.bench.cells import Cell
from caot.bench.document import Section, Table
from caot.bench.records import CellRecord
from caot.bench.summaries import Results, mean_of, shown
from caot.bench.tables import (
    budget_cells,
    encoder_title,
    full_rows,
    learning_cell,
    paper_rows,
    plain_figure,
    row_title,
    short_name,
)
from caot.bench.variants import VARIANTS


def modes_section(results: Results) -> Section:
    """Return both modes side by side: sets that chose the defaults, the others, and the cost."""
    chosen_on = suites.DEVELOPMENT
    groups = (chosen_on, [data for data in suites.EIGHT if data not in chosen_on], suites.EIGHT)
    kmeans = Cell("", "kmeans")
    rows = [[row_title(kmeans), *_group_means(results, kmeans, groups), "", ""]]
    for kind in (*budget_cells("caot-faithful"), *budget_cells("caot")):
        found = {data: results.value(replace(kind, dataset=data), _minutes) for data in groups[-1]}
        longest = max((part.mean for part in found.values() if part), default=0.0)
        times = [mean_of(found), f"{longest:.2f}"] if mean_of(found) else ["", ""]
        rows.append([row_title(kind), *_group_means(results, kind, groups), *times])
    for encoder, figures in paper.ENCODERS.items():
        means = [statistics.mean(figures[data].accuracy for data in group) for group in groups]
        title = f"paper: OURS, {encoder_title(encoder)}"
        rows.append([title, *(f"{mean:.2f}" for mean in means), "", ""])
    words = (
        "Mean accuracy over SearchSnippets, StackOverflow and Tweet, whose labels were looked at "
        "when the defaults were chosen; over the five others; and over all eight. Minutes are "
        "those of a run, from texts to scores: their mean over the sets, and the longest. A run "
        "had one of two cores, and found in a cache what earlier runs had encoded. "
        "`caot bench run main`, and with `--budget quick`."
    )
    columns = ["mean accuracy", "development", "others", "all", "minutes", "longest"]
    return Section("Both modes side by side", [words], [Table(columns, rows)])


def _group_means(results: Results, kind: Cell, groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the mean accuracy over each group of data sets; nothing where one was not run."""
    return [
        mean_of({data: results.summary(replace(kind, dataset=data)) for data in group})
        for group in groups
    ]


def _minutes(record: CellRecord) -> float:
    return _seconds(record) / 60


def representations_section(results: Results) -> Section:
    """Return K-means on untrained and trained representations."""
    sets = suites.EIGHT
    (frozen, learned) = budget_cells("caot-faithful")
    rows = [["K-means, untrained V(0), MiniLM"]]
    rows[0] += [shown(results, Cell(data, "kmeans")) for data in sets]
    compared = [learning_cell(method) for method in suites.RIVALS]
    for kind, space, symbol in (
        (frozen, "projection", "Z(0)"),
        (learned, "projection", "Z(0)"),
        *((kind, "projection", "Z(0)") for kind in compared),
        (learned, "encoder", "V(0)"),
        *((kind, "encoder", "V(0)") for kind in compared),
    ):
        found = [_representation(results, replace(kind, dataset=data), space) for data in sets]
        rows.append([f"K-means on trained {symbol}: {row_title(kind)}", *found])
    rows += [row[:-1] for row in paper_rows(paper.REPRESENTATIONS, sets, lambda p: p.accuracy)]
    words = (
        "Accuracy of K-means on what was learned. A frozen encoder leaves V(0) as it was; there "
        "the projected features Z(0) are what training changes. SCCL and RSTC keep no projection; "
        "their Z(0) is known where it was watched for the NS measure. "
        "`caot bench run representations`."
    )
    table = Table(["accuracy", *map(short_name, sets)], rows)
    return Section("The quality of the representations", [words], [table])


def _representation(results: Results, cell: Cell, space: str) -> str:
    found = results.value(
        cell, lambda record: 100 * float(record.content["representation"][space]["accuracy"])
    )
    return "" if found is None else str(found)


def _seconds(record: CellRecord) -> float:
    return float(record.content["seconds"])


def cost_section(results: Results) -> Section:
    """Return parameters, time and memory."""
    sets = suites.EIGHT
    shown_methods = (*suites.RIVALS, "caot-faithful")
    kinds = [kind for kind in full_rows(results, sets) if kind.method in shown_methods]

    def millions(record: CellRecord) -> float:
        return float(sum(record.content["n_parameters"].values())) / 1e6

    def megabytes(record: CellRecord) -> float:
        return float(record.content["peak_memory_mb"])

    tables = []
    for title, read in (
        ("parameters, millions", millions),
        ("seconds", _seconds),
        ("peak memory, MB", megabytes),
    ):
        rows = []
        for kind in kinds:
            found = [results.value(replace(kind, dataset=data), read) for data in sets]
            rows.append([row_title(kind), *(plain_figure(part) for part in found)])
        tables.append(Table([title, *map(short_name, sets)], rows))
    sizes = [
        [f"paper: {name}, SBERT", *(f"{size:.2f}" for size in row)]
        for name, row in paper.MODEL_SIZE.items()
    ]
    tables[0] = Table(tables[0].columns, [*tables[0].rows, *sizes])
    printed = [[f"paper: {name}", *times] for name, times in paper.TRAINING_TIME.items()]
    tables.append(Table(["paper, minutes on an RTX 3090 Ti", *map(short_name, sets)], printed))
    words = (
        "Whole runs, from texts to scores. Embeddings and what frozen layers give may have come "
        "from a cache, two runs shared the machine, and frozen runs had one core each: compare "
        "orders, not seconds. Growth with the number of texts is on the page of speed benchmarks. "
        "`caot bench run cost`."
    )
    return Section("Cost", [words], tables)


def contributions_section(results: Results) -> Section:
    """Return what each addition of the default mode is worth, left out one by one."""
    sets = suites.DEVELOPMENT
    rows = []
    for name in ("full", *suites.ADDITIONS):
        cells = [Cell(data, "caot", variant=name) for data in sets]
        rows.append([VARIANTS[name].title, *(shown(results, cell) for cell in cells)])
    words = (
        "The default mode with a frozen encoder, each of its additions to the paper left out in "
        "turn, on the three sets whose labels were looked at when they were chosen. Views are "
        "the published or substituted texts of all records but in the last row, whose views are "
        "noise, as `CAOT` makes them behind a frozen encoder if none are given. "
        "`caot bench run contributions`."
    )
    table = Table(["accuracy", *map(short_name, sets)], rows)
    return Section("What the default mode adds", [words], [table])


def effort_section(results: Results) -> Section:
    """Return which layers and which rate were tried, on the sets that may be used for that."""
    cells = suites.SUITES["effort"].at("quick")
    sets = list(dict.fromkeys(cell.dataset for cell in cells))
    kinds = dict.fromkeys(replace(cell, dataset="", seed=0) for cell in cells)
    rows = []
    for kind in kinds:
        row = [row_title(kind)]
        for data in sets:
            cell = replace(kind, dataset=data)
            row += [shown(results, cell), plain_figure(results.value(cell, _seconds))]
        rows.append(row)
    columns = ["accuracy, seconds"]
    columns += [part for data in sets for part in (short_name(data), "s")]
    words = (
        "The default mode: the encoder's layers that learn, iterations, and Adam's rate for these "
        "layers (1e-4 where none is named). `caot bench run effort`."
    )
    return Section("Which layers learn, and how fast", [words], [Table(columns, rows)])
