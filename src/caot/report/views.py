"""What the page says about the clusters: cards, headline numbers, similar pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caot.report.data import NO_CLUSTER, ReportData
from caot.report.escaping import clean, cut
from caot.transport import effective_imbalance, imbalance_level

DOUBT_BELOW = 0.5
"""Texts with less confidence than this count as in doubt."""
_LABEL_LENGTH = 80
_MOST_PAIRS = 12
# The examples of all cards together, in characters: a page with thousands of clusters stays small.
_EXAMPLE_BUDGET = 600_000
_EXAMPLE_LENGTHS = (60, 280)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A cluster near another: its number on the page, its own number, the similarity."""

    position: int
    cluster: int
    label: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Card:
    """What the page tells of a cluster; ``position`` is its number on the page."""

    position: int
    cluster: int
    label: str
    keywords: tuple[tuple[str, int], ...]
    size: int
    share: float
    bar: float
    mean_confidence: float
    examples: tuple[str, ...]
    doubtful: tuple[str, ...]
    nearest: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clusters and how similar they are; ``bar`` is the similarity cut to [0, 1]."""

    first: Card
    second: Card
    similarity: float
    bar: float


@dataclass(frozen=True, slots=True)
class Tile:
    """A headline number."""

    value: str
    name: str
    note: str = ""


def positions_of(data: ReportData, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each label's place in the description, (n,); −1 for none or one without texts."""
    place = {item.cluster: i for i, item in enumerate(data.description.clusters)}
    distinct, inverse = np.unique(labels, return_inverse=True)
    found = np.array([place.get(label, NO_CLUSTER) for label in distinct.tolist()], dtype=np.int64)
    return found[inverse]


def make_cards(data: ReportData) -> tuple[Card, ...]:
    """Return a card for each cluster, in the description's order."""
    clusters = data.description.clusters
    n_examples = sum(len(item.examples) + len(item.doubtful) for item in clusters)
    shortest, longest = _EXAMPLE_LENGTHS
    length = min(longest, max(shortest, _EXAMPLE_BUDGET // max(n_examples, 1)))
    names = [cut(clean(item.label), _LABEL_LENGTH) for item in clusters]
    place = {item.cluster: i for i, item in enumerate(clusters)}
    positions = positions_of(data, data.labels)
    largest = max((item.size for item in clusters), default=1)
    return tuple(
        Card(
            position=i,
            cluster=item.cluster,
            label=names[i],
            keywords=_strengths([(word.term, word.weight) for word in item.keywords]),
            size=item.size,
            share=item.share,
            bar=round(100 * item.size / largest, 1),
            mean_confidence=_mean(data.confidence[positions == i]),
            examples=tuple(cut(clean(data.texts[row]), length) for row in item.examples),
            doubtful=tuple(cut(clean(data.texts[row]), length) for row in item.doubtful),
            nearest=tuple(
                Neighbour(place[other], other, names[place[other]], similarity)
                for other, similarity in item.nearest
                if other in place
            ),
        )
        for i, item in enumerate(clusters)
    )


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _strengths(weighted: list[tuple[str, float]]) -> tuple[tuple[str, int], ...]:
    """Return the terms with a strength of 3 (most telling) down to 1."""
    most = max((weight for _, weight in weighted), default=0.0)
    return tuple(
        (cut(clean(term), 40), 1 + (weight >= most / 3) + (weight >= 2 * most / 3))
        for term, weight in weighted
    )


def similar_pairs(cards: tuple[Card, ...]) -> tuple[Pair, ...]:
    """Return the most similar pairs of clusters, each once."""
    similarity: dict[tuple[int, int], float] = {}
    for card in cards:
        for other in card.nearest:
            key = (min(card.position, other.position), max(card.position, other.position))
            similarity[key] = max(other.similarity, similarity.get(key, -np.inf))
    best = sorted(similarity.items(), key=lambda item: (-item[1], item[0]))[:_MOST_PAIRS]
    return tuple(Pair(cards[i], cards[j], s, min(max(s, 0.0), 1.0)) for (i, j), s in best)


def headline(data: ReportData, cards: tuple[Card, ...]) -> tuple[Tile, ...]:
    """Return the numbers at the top of the page."""
    n = len(data.texts)
    doubtful = int((data.confidence < DOUBT_BELOW).sum())
    tiles = [
        Tile(f"{n:,}", "text" if n == 1 else "texts"),
        Tile(f"{len(cards):,}", "cluster" if len(cards) == 1 else "clusters"),
        Tile(_percent(float(data.confidence.mean()), 0), "mean confidence"),
        Tile(
            _percent(doubtful / n, 1),
            "in doubt",
            f"{doubtful:,} text{'s' * (doubtful != 1)} below {DOUBT_BELOW:.0%} confidence",
        ),
    ]
    assigned = data.labels[data.labels != NO_CLUSTER]
    if cards:
        sizes = sorted(card.size for card in cards)
        coefficient = effective_imbalance(assigned)
        tiles += [
            Tile(f"{sizes[0]:,} – {sizes[-1]:,}", "texts in a cluster", "smallest and largest"),
            Tile(
                f"{coefficient:.2f}",
                "imbalance",
                f"{imbalance_level(coefficient)}; standard deviation of sizes over their mean",
            ),
        ]
    if len(assigned) < n:
        left = n - len(assigned)
        tiles.append(
            Tile(f"{left:,}", "without a cluster", f"{_percent(left / n, 1)} of the texts")
        )
    return tuple(tiles)


def _percent(share: float, digits: int) -> str:
    """Return a share in per cent, where 100 means all of it and is not rounded to."""
    most = 1 - 10.0 ** -(digits + 2)
    return f"{share if share >= 1 else min(share, most):.{digits}%}"


def score_tiles(scores: Mapping[str, float] | None) -> tuple[Tile, ...]:
    """Return measures against known labels as tiles."""
    return tuple(Tile(f"{value:.3f}", clean(name)) for name, value in (scores or {}).items())
