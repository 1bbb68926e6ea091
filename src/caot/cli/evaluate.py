"""``caot evaluate``: how good the clusters are, with true labels or without."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caot.cli import options, values
from caot.cli.errors import guarded
from caot.cli.screen import Screen, make_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caot.clusterer import TextClusterer
    from caot.evaluation import LabelledEvaluation, UnlabelledEvaluation
    from caot.runs import RunFolder

EXAMPLES = """
Examples:

  caot evaluate tickets-run --labels topic

  caot evaluate tickets-run --seeds 3
"""


def evaluate(
    run: options.Run,
    *,
    labels: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column of the input that has the true labels."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=0, help="Fit with so many other seeds to see how stable it is.")
    ] = 0,
    picture: Annotated[
        Path | None,
        typer.Option(help="Where the confusion matrix is drawn; in the run folder by default."),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Measure a run: against true labels if there are any, else by itself."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        _check_picture(picture, labels, force=force)
        from caot.runs import RunFolder
        from caot.runs.record import finite

        folder = RunFolder.open(run)
        others = _other_models(folder, seeds)
        document: dict[str, Any] = {}
        if labels is not None:
            found, left_out = _with_labels(folder, labels)
            path = _draw(folder, found, picture)
            _show_labelled(screen, found, folder.description().labels, left_out, path)
            document = {**found.as_dict(), "left_out": left_out, "picture": str(path)}
        if labels is None or seeds:
            alone, absent = _without_labels(screen, folder, others)
            _show_alone(screen, alone, absent)
            document = {**document, **alone.as_dict(), "without_cluster": absent}
        screen.json(finite(document))


def _check_picture(picture: Path | None, labels: str | None, *, force: bool) -> None:
    if picture is None:
        return
    if labels is None:
        msg = "there is no confusion matrix without true labels: name their column with --labels"
        raise typer.BadParameter(msg, param_hint="--picture")
    if picture.suffix.lower() != ".svg":
        msg = f"the picture is drawn as SVG: name a file that ends in .svg, not {picture.name}"
        raise typer.BadParameter(msg, param_hint="--picture")
    if picture.is_dir():
        msg = f"{picture} is a folder: name a file in it"
        raise IsADirectoryError(msg)
    if picture.exists() and not force:
        msg = f"{picture} exists: choose another file, or replace it with --force"
        raise FileExistsError(msg)


def _with_labels(folder: RunFolder, column: str) -> tuple[LabelledEvaluation, int]:
    """Return the measures, and how many texts have no cluster or no true label."""
    import numpy as np

    from caot.evaluation import evaluate_with_labels
    from caot.io.cells import as_text, python_values
    from caot.io.columns import text_columns
    from caot.runs import RunError

    table, clusters = folder.table(), folder.labels()
    text_columns(table.frame, column, None, table.source)  # raises, and names the nearest column
    true = np.array([as_text(value) for value in python_values(table.frame[column])], dtype=object)
    kept = (clusters >= 0) & (true != "")
    if not kept.any():
        msg = f"no text has both a cluster and a label in {column!r}: choose another column"
        raise RunError(msg)
    found = evaluate_with_labels(true[kept].astype(str), clusters[kept])
    return found, int((~kept).sum())


def _draw(folder: RunFolder, found: LabelledEvaluation, picture: Path | None) -> Path:
    if picture is None:
        with folder.locked():
            return folder.write_confusion(found.svg())
    from caot.files import atomic_file

    with atomic_file(picture) as temporary:
        temporary.write_text(found.svg(), encoding="utf-8")
        temporary.chmod(0o644)
    return picture


def _without_labels(
    screen: Screen, folder: RunFolder, models: list[TextClusterer]
) -> tuple[UnlabelledEvaluation, int]:
    """Return the measures, and how many texts have no cluster that was found."""
    from sklearn.base import clone

    from caot.evaluation import evaluate_without_labels
    from caot.runs import RunError
    from caot.runs.reporting import shares_of

    table, clusters, model = folder.table(), folder.labels(), folder.model()
    shares, embeddings = shares_of(model, table.texts)
    # The empty texts' own cluster, the last one, was not found but given.
    top = shares.shape[1] - model.has_own_cluster_
    kept = (clusters >= 0) & (clusters < top)
    if not kept.any():
        msg = f"no text of {folder.path} has a cluster: predict with a lower --min-confidence"
        raise RunError(msg)
    others = []
    for other in models:
        screen.note(f"fitting with seed {other.get_params()['random_state']}")
        others.append(clone(other).fit(list(table.texts)).labels_[kept])  # kept no longer
    found = evaluate_without_labels(
        clusters[kept],
        embeddings=embeddings[kept],
        confidence=shares[kept, clusters[kept]],
        labelings=others or None,
    )
    return found, int((~kept).sum())


def _other_models(folder: RunFolder, seeds: int) -> list[TextClusterer]:
    """Return so many estimators of the run with other seeds, after a look for their encoder."""
    if not seeds:
        return []
    from caot.runs.methods import estimator_of

    record = folder.record
    values.require_encoder(record.parameters.get("encoder", "auto"))
    first = int(record.parameters["random_state"]) + 1
    return [estimator_of(record, random_state=seed) for seed in range(first, first + seeds)]


def _show_labelled(
    screen: Screen,
    found: LabelledEvaluation,
    labels: Mapping[int, str],
    left_out: int,
    picture: Path,
) -> None:
    scores = found.scores
    rows = [
        ("accuracy (best one-to-one map)", f"{scores.accuracy:.4f}"),
        ("NMI, geometric", f"{scores.nmi_geometric:.4f}"),
        ("NMI, arithmetic", f"{scores.nmi_arithmetic:.4f}"),
        ("ARI", f"{scores.ari:.4f}"),
        ("purity", f"{scores.purity:.4f}"),
    ]
    screen.show(make_table("", ("measure", "value:"), rows))
    clusters = [
        (
            row.cluster,
            labels.get(int(row.cluster), ""),
            f"{row.size:,}",
            "" if row.matched is None else row.matched,
            f"{row.precision:.1%}",
            f"{row.recall:.1%}",
        )
        for row in found.clusters
    ]
    names = ("cluster:", "label", "size:", "true label", "precision:", "recall:")
    screen.show(make_table("", names, clusters))
    if left_out:
        screen.show(f"{left_out:,} texts without a cluster or a true label were left out.")
    screen.show(f"Confusion matrix  {picture}")


def _show_alone(screen: Screen, found: UnlabelledEvaluation, absent: int) -> None:
    rows: list[tuple[str, str]] = [
        ("clusters that hold texts", str(found.n_clusters_used)),
        ("share of the largest", f"{found.largest_share:.1%}"),
        ("share of the smallest", f"{found.smallest_share:.1%}"),
    ]
    if found.silhouette is not None:
        rows.append(("silhouette (-1 to 1)", f"{found.silhouette:.4f}"))
    if found.mean_confidence is not None:
        rows.append(("mean confidence", f"{found.mean_confidence:.4f}"))
    if found.stability is not None:
        rows.append(("stability over seeds, mean ARI", f"{found.stability.mean:.4f}"))
        rows.append(("stability over seeds, lowest ARI", f"{found.stability.lowest:.4f}"))
    screen.show(make_table("", ("measure", "value:"), rows))
    if absent:
        screen.show(f"{absent:,} texts without a cluster were left out.")
