"""Clusters as a person or a program reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caot.cli.screen import make_table

if TYPE_CHECKING:
    from rich.table import Table

    from caot.describe import Description
    from caot.runs import RunFolder, RunRecord

_KEYWORDS = 5


def cluster_table(description: Description, title: str = "") -> Table:
    """Return the clusters, the largest first."""
    ordered = sorted(description.clusters, key=lambda one: (-one.size, one.cluster))
    rows = [
        (
            one.cluster,
            one.label,
            f"{one.size:,}",
            f"{one.share:.1%}",
            f"{one.mean_confidence:.2f}",
            ", ".join(keyword.term for keyword in one.keywords[:_KEYWORDS]),
        )
        for one in ordered
    ]
    return make_table(title, ("id:", "label", "size:", "share:", "confidence:", "keywords"), rows)


def run_document(folder: RunFolder, record: RunRecord, description: Description) -> dict[str, Any]:
    """Return a run and its clusters for --json."""
    from caot.runs.record import finite  # noqa: PLC0415 - not for --help

    clusters = [
        {
            "cluster": one.cluster,
            "label": one.label,
            "keywords": [keyword.term for keyword in one.keywords],
            "size": one.size,
            "share": one.share,
            "mean_confidence": one.mean_confidence,
        }
        for one in description.clusters
    ]
    report = folder.report_path if folder.report_path.is_file() else None
    document: dict[str, Any] = finite(
        {
            "folder": str(folder.path),
            "report": None if report is None else str(report),
            "clusters": clusters,
            "run": record.as_dict(),
        }
    )
    return document
