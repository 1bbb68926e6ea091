"""The report: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from caot.files import atomic_file
from caot.report.charts import Chart, confidence_chart, size_chart, spread_chart
from caot.report.data import ReportData
from caot.report.escaping import clean
from caot.report.layout import MapLayout, lay_out_map
from caot.report.payload import make_payload
from caot.report.training_charts import stage_bounds, training_charts
from caot.report.views import (
    DOUBT_BELOW,
    Card,
    headline,
    make_cards,
    positions_of,
    score_tiles,
    similar_pairs,
)

_SCRIPTS = ("state.js", "points.js", "input.js", "map.js", "table.js", "page.js")


def write_report(path: str | Path, data: ReportData, *, max_points: int = 20_000) -> Path:
    """Write the report to ``path``, whole or not at all, and return the path."""
    path = Path(path)
    page = render(data, max_points=max_points).encode("utf-8")
    with atomic_file(path) as temporary:
        temporary.write_bytes(page)
    return path


def render(data: ReportData, *, max_points: int = 20_000) -> str:
    """Return the report as HTML; the same data give the same page.

    Parameters
    ----------
    data
        What to show.
    max_points
        How many texts the map and the table hold; of more, a sample that is fair to small
        clusters. All other numbers are about all texts.
    """
    positions = positions_of(data, data.labels)
    cards = make_cards(data)
    sizes = np.array([card.size for card in cards], dtype=np.int64)
    layout = lay_out_map(data.coordinates, positions, sizes)
    payload = make_payload(data, cards, layout, max_points)
    script = _script()
    style = _style(layout)
    by_size = tuple(sorted(cards, key=lambda card: (-card.size, card.position)))
    return _environment().get_template("report.html.jinja").render(
        title=clean(data.title),
        created=clean(data.created),
        policy=_policy(script, style),
        script=Markup(script),
        style=Markup(style),
        payload=Markup(payload.json),
        shown=payload,
        tiles=headline(data, cards),
        scores=score_tiles(data.scores),
        warnings=[clean(str(warning)) for warning in data.warnings],
        cards=by_size,
        pairs=similar_pairs(cards),
        n_texts=len(data.texts),
        doubt_below=DOUBT_BELOW,
        has_second=data.second_labels is not None,
        charts=_shape_charts(data, cards, positions),
        training=_training(data),
        settings=_plain(data.settings),
        versions=_plain(data.versions),
    )  # fmt: skip


def _shape_charts(
    data: ReportData, cards: tuple[Card, ...], positions: NDArray[np.int64]
) -> tuple[Chart, ...]:
    if not cards:
        return (confidence_chart(data.confidence),)
    labels = [card.label for card in cards]
    order = sorted(range(len(cards)), key=lambda j: (-cards[j].size, j))
    sizes = np.array([card.size for card in cards], dtype=np.int64)
    return (
        size_chart(sizes, labels, order, len(data.texts)),
        confidence_chart(data.confidence),
        spread_chart(data.confidence, positions, labels, order),
    )


def _training(data: ReportData) -> dict[str, object]:
    history = data.history
    if history is None or len(history.loss) == 0:
        return {"charts": (), "facts": ()}
    facts = [
        (f"iterations of {name}", f"{end - start:,}")
        for name, start, end in stage_bounds(history.stage)
    ]
    if len(history.status):
        names, counts = np.unique(history.status, return_counts=True)
        facts += [
            (f"transports that ended as {name!r}", f"{count:,}")
            for name, count in zip(names.tolist(), counts.tolist(), strict=True)
        ]
        facts.append(("transports that collapsed", f"{int(history.collapsed.sum()):,}"))
    return {"charts": training_charts(history), "facts": facts}


def _plain(values: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(clean(str(name)), clean(str(value))) for name, value in values.items()]


@cache
def _environment() -> Environment:
    return Environment(
        autoescape=True,
        loader=FunctionLoader(_asset),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> str:
    return files("caot.report").joinpath("assets", name).read_text(encoding="utf-8")


def _script() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def _style(layout: MapLayout) -> str:
    rules = (
        f".k{i}{{--c:light-dark({colour.light},{colour.dark})}}"
        for i, colour in enumerate(layout.colours)
    )
    return "\n".join((_asset("report.css"), _asset("print.css"), *rules, ""))


def _policy(script: str, style: str) -> str:
    """Return a policy under which nothing runs or loads but what this file brought along."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
