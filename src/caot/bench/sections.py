"""What the records say, experiment by experiment, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from caot.bench import paper, suites
from caot.bench.cells import Cell
from caot.bench.datasets import DATASETS, IMAGES, LONG_TEXTS
from caot.bench.document import Section, Table
from caot.bench.effort_sections import (
    contributions_section,
    cost_section,
    effort_section,
    modes_section,
    representations_section,
)
from caot.bench.paper import Printed
from caot.bench.records import CellRecord
from caot.bench.summaries import Results, beside, shown
from caot.bench.tables import (
    budget_cells,
    encoder_title,
    full_rows,
    paper_rows,
    row_title,
    rows_beside_paper,
    score_rows,
    short_name,
    variants_table,
)
from caot.bench.variants import GRIDS, VARIANTS

_LAST_SHARE = 0.2  # of a run, whose change rate is reported


def main_section(results: Results) -> Section:
    """Return the paper's main table, and the differences."""
    sets = suites.EIGHT
    kinds = full_rows(results, sets)
    header = ["accuracy", *map(short_name, sets), "mean"]
    accuracy = rows_beside_paper(results, kinds, sets, "accuracy", lambda p: p.accuracy)
    nmi = rows_beside_paper(results, kinds, sets, "nmi_geometric", lambda p: p.nmi)
    arithmetic = score_rows(results, kinds, sets, "nmi_arithmetic")
    differences = []
    for kind in (kind for kind in kinds if kind.method.startswith("caot")):
        pairs = [
            beside(results.summary(replace(kind, dataset=data)), paper.MAIN["OURS"][data])[1]
            for data in sets
        ]
        differences.append([row_title(kind), *pairs])
    return Section(
        "Clustering results",
        [
            "Accuracy by the best one-to-one map of clusters to classes, NMI with the geometric "
            "mean as in the paper, then with the arithmetic mean; in percent.",
            "Each method's rows stand above the paper's row of the same name. Texts that a method "
            "leaves without a cluster count as one more. `caot bench run main methods`, and the "
            "same with `--budget quick` for the top layers.",
        ],
        [
            Table(header, accuracy),
            Table(["less the paper's OURS", *map(short_name, sets)], differences),
            Table(["NMI", *header[1:]], nmi),
            Table(["NMI, arithmetic", *header[1:]], arithmetic),
        ],
    )


def ablations_section(results: Results) -> Section:
    """Return what each part of the method contributes."""
    kinds = budget_cells("caot-faithful")
    return Section(
        "What each part contributes",
        [
            "w/o All has no similarity in the transport, w/o CL no contrast in either stage, "
            "w/o PL stays in the warm-up and reports K-means on V(0), which a frozen encoder "
            "leaves as it was. `caot bench run ablations`.",
        ],
        [variants_table(results, kind, paper.ABLATIONS) for kind in kinds],
    )


def sensitivity_section(results: Results) -> Section:
    """Return the accuracy along the paper's grids."""
    names = {"epsilon": "ε1", "imbalance": "ε2", "consistency": "ε3", "contrast_weight": "λ"}
    sets = suites.FOUR
    (kind, _) = budget_cells("caot-faithful")
    tables = []
    for parameter, values in GRIDS.items():
        rows = [
            [
                f"{value:g}",
                *(
                    shown(results, replace(kind, dataset=data, variant=f"{parameter}={value:g}"))
                    for data in sets
                ),
            ]
            for value in values
        ]
        columns = [f"{names[parameter]} ({row_title(kind)})", *map(short_name, sets)]
        tables.append(Table(columns, rows))
    words = "Accuracy along the paper's grids, all else as printed. `caot bench run sensitivity`."
    return Section("The effect of ε1, ε2, ε3 and λ", [words], tables)


def imbalance_section(results: Results) -> Section:
    """Return the estimate of the imbalance and the penalty weight that follows."""
    (kind, _) = budget_cells("caot")
    rows = []
    for data in suites.EIGHT:
        cell = replace(kind, dataset=data)
        found = [record for record in results.of(cell) if record.cell.seed == 0]
        estimate = found[0].content["imbalance"] if found else None
        ours = ["", "", "", ""]
        if estimate is not None:
            ours = [
                f"{estimate['coefficient']:.2f}",
                str(estimate["level"]),
                f"{estimate['uniformity']:.3g}",
                f"{estimate['floor']:.3g}",
            ]
        rows.append([DATASETS[data].title, *ours, f"{paper.COEFFICIENTS[data]:.2f}"])
    columns = ["data", "CV, MiniLM", "level", "ε2, default", "its floor", "CV, paper (BGE-large)"]
    words = (
        "The coefficient of variation of the sizes of the default mode's first clusters, seed 0, "
        "and the penalty weight that it takes from it, raised to the floor below which uniform "
        "masses are unstable. The paper's are of K-means. `caot bench run imbalance`."
    )
    return Section("How uneven the clusters are taken to be", [words], [Table(columns, rows)])


def imbalanced_section(results: Results) -> Section:
    """Return conventional transport beside the adaptive one."""
    sets = suites.EIGHT
    rows = []
    for kind in budget_cells("caot-faithful"):
        for variant in ("conventional", "conventional-similar", "full"):
            cells = [replace(kind, dataset=data, variant=variant) for data in sets]
            title = f"{VARIANTS[variant].title}: {row_title(kind)}"
            rows.append([title, *(shown(results, cell) for cell in cells)])
    printed = {"conventional OT": paper.CONVENTIONAL, "CAOT": paper.MAIN["OURS"]}
    rows += [row[:-1] for row in paper_rows(printed, sets, lambda p: p.accuracy)]
    words = (
        "Pseudo-labels with equal cluster sizes against adaptive ones. The paper's conventional "
        "OT agrees with its ablation only if it keeps the similarity, so both are run. "
        "`caot bench run imbalanced`."
    )
    table = Table(["accuracy", *map(short_name, sets)], rows)
    return Section("Conventional transport on imbalanced data", [words], [table])


def pseudo_labels_section(results: Results) -> Section:
    """Return the quality of the pseudo-labels themselves."""
    (faithful, _), (default, _) = budget_cells("caot-faithful"), budget_cells("caot")
    tables = [
        variants_table(
            results, kind, paper.PSEUDO_LABELS, of="pseudo_label_scores", title="pseudo-labels"
        )
        for kind in (faithful, default)
    ]
    words = (
        "Each kind trains a run of its own, and every sample's last pseudo-label is scored. "
        "`caot bench run pseudo-labels`."
    )
    return Section("Kinds of pseudo-labels", [words], tables)


def convergence_section(results: Results) -> Section:
    """Return the change rate at the end of runs."""
    frozen, learned = budget_cells("caot-faithful")
    kinds = [replace(frozen, max_iter=2000), learned]
    sets = suites.EIGHT

    def last_rate(record: CellRecord) -> float:
        values = record.content["change_rate"]["values"]
        end = values[-max(1, round(_LAST_SHARE * len(values))) :]
        return 100 * float(sum(end) / len(end))

    rows = []
    for kind in kinds:
        found = [results.value(replace(kind, dataset=data), last_rate) for data in sets]
        rows.append([row_title(kind), *("" if part is None else str(part) for part in found)])
    words = (
        "The share of pseudo-labels that differ from the sample's previous one, in percent, mean "
        "of the last fifth of the interactive stage. The paper reports less than 4 for most data "
        "sets. `caot bench run convergence`."
    )
    table = Table(["change rate", *map(short_name, sets)], rows)
    return Section("Convergence", [words], [table])


def encoders_section(results: Results) -> Section:
    """Return the method with other encoders."""
    sets = suites.EIGHT
    kinds = [
        replace(kind, encoder=encoder)
        for kind in budget_cells("caot-faithful")
        for encoder in suites.ENCODERS
    ]
    rows = [row[:-1] for row in score_rows(results, kinds, sets, "accuracy")]
    for encoder, figures in paper.ENCODERS.items():
        printed = {"OURS": figures}
        row = paper_rows(printed, sets, lambda p: p.accuracy, encoder_title(encoder))
        rows.append(row[0][:-1])
    words = (
        "Encoders whose weights were not at hand when the records were made are left empty, or "
        "say so; the same command runs them. `caot bench run encoders`."
    )
    table = Table(["accuracy", *map(short_name, sets)], rows)
    return Section("Other encoders", [words], [table])


def _beyond(
    results: Results,
    title: str,
    words: str,
    *,
    sets: Sequence[str],
    printed: Mapping[str, Mapping[str, Printed]],
    encoder: str,
    variants: Sequence[str] = (),
    features: str | None = None,
) -> Section:
    kinds = [*full_rows(results, sets), *(Cell("", "caot", variant=name) for name in variants)]
    kinds.append(Cell("", suites.OF_LONG_TEXTS, suites.BERT))
    known = set(results.cells())
    kinds = [kind for kind in kinds if any(replace(kind, dataset=data) in known for data in sets)]
    scores = score_rows(results, kinds, sets, "accuracy")
    rows = [
        [row_title(kind, features), *row[1:-1]] for kind, row in zip(kinds, scores, strict=True)
    ]
    rows += [row[:-1] for row in paper_rows(printed, sets, lambda p: p.accuracy, encoder)]
    return Section(title, [words], [Table(["accuracy", *map(short_name, sets)], rows)])


def long_texts_section(results: Results) -> Section:
    """Return the method on long texts."""
    words = (
        "Texts are cut after the encoder's maximum of 256 tokens, or read in chunks of that many "
        "whose mean is their vector. Reuters is the R8 part, which the paper may not have used; "
        "MN-DS was not at hand. `caot bench run long-texts`."
    )
    sets = [spec.name for spec in LONG_TEXTS]
    return _beyond(
        results,
        "Long texts",
        words,
        sets=sets,
        printed=paper.LONG_TEXTS,
        encoder="BERT",
        variants=suites.LONG_TEXT_READINGS,
    )


def images_section(results: Results) -> Section:
    """Return the method on images."""
    words = (
        "Features of patches (see the records), not the paper's extractor, so the rows are not to "
        "be compared with the paper's; STL-10 and CIFAR-100 were not at hand. "
        "`caot bench run images`."
    )
    sets = [spec.name for spec in IMAGES]
    return _beyond(
        results,
        "Images",
        words,
        sets=sets,
        printed=paper.IMAGES,
        encoder="their own features",
        features="patches",
    )


SECTIONS: tuple[Callable[[Results], Section], ...] = (
    main_section,
    modes_section,
    imbalanced_section,
    ablations_section,
    pseudo_labels_section,
    imbalance_section,
    sensitivity_section,
    convergence_section,
    representations_section,
    encoders_section,
    cost_section,
    effort_section,
    contributions_section,
    long_texts_section,
    images_section,
)
