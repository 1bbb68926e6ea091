"""The data that the page's script reads: places, texts and clusters as JSON."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caot.report.data import ReportData
from caot.report.escaping import clean, cut, fit_texts, script_json
from caot.report.layout import MapLayout
from caot.report.sampling import fair_sample
from caot.report.views import Card, positions_of

# Leaves room for numbers, cards and script in a page of less than 10 MB.
_TEXT_BYTES = 5_000_000
_ID_LENGTH = 24


@dataclass(frozen=True, slots=True)
class Payload:
    """The JSON, how many texts it holds, and the longest of them it may hold in characters."""

    json: str
    n_texts: int
    longest: int
    is_cut: bool


def make_payload(
    data: ReportData, cards: tuple[Card, ...], layout: MapLayout, max_points: int
) -> Payload:
    """Return what the map and the table need; a fair sample of more than ``max_points`` texts."""
    rows = fair_sample(data.labels, max_points)
    texts, longest = fit_texts([data.texts[row] for row in rows], _TEXT_BYTES)
    value: dict[str, object] = {
        "clusters": [
            {
                "id": card.cluster,
                "label": card.label,
                "size": card.size,
                "colours": [colour.light, colour.dark],
                "at": anchor,
            }
            for card, colour, anchor in zip(
                cards, layout.colours, layout.anchors.tolist(), strict=True
            )
        ],
        "rows": None if len(rows) == len(data.texts) else rows.tolist(),
        "texts": texts,
        "cluster": positions_of(data, data.labels)[rows].tolist(),
        "confidence": _per_mille(data.confidence[rows]),
        "x": layout.places[rows, 0].tolist(),
        "y": layout.places[rows, 1].tolist(),
        "ids": None,
        "second": None,
        "secondConfidence": None,
    }
    if data.ids is not None:
        value["ids"] = [cut(clean(str(data.ids[row])), _ID_LENGTH) for row in rows]
    if data.second_labels is not None and data.second_confidence is not None:
        value["second"] = positions_of(data, data.second_labels)[rows].tolist()
        value["secondConfidence"] = _per_mille(data.second_confidence[rows])
    is_cut = any(len(data.texts[row]) > longest for row in rows)
    return Payload(script_json(value), len(rows), longest, is_cut)


def _per_mille(values: NDArray[np.float64]) -> list[int]:
    # Rounded down, so that what is below a bound stays below it.
    numbers: list[int] = np.floor(1000 * values.clip(0, 1) + 1e-6).astype(np.int64).tolist()
    return numbers
