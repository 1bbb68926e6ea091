"""A thousand support tickets, invented for this package, with their true topics."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class DemoTickets:
    """Short messages to a shop for smart-home devices with an app.

    Attributes
    ----------
    texts
        The messages, in no order.
    topics
        The true topic of each, int64 (n,), as an index into ``topic_names``; read-only.
    topic_names
        From the largest topic to the smallest.
    """

    texts: tuple[str, ...]
    topics: NDArray[np.int64]
    topic_names: tuple[str, ...]


def load_demo() -> DemoTickets:
    """Return the tickets that ship with the package: 1,000 in 12 topics of 22 to 172."""
    table = files(__name__).joinpath("tickets.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    names, codes, sizes = np.unique(
        [row["topic"] for row in rows], return_inverse=True, return_counts=True
    )
    by_size = np.argsort(-sizes, kind="stable")
    topics = np.argsort(by_size)[codes].astype(np.int64)
    topics.setflags(write=False)
    return DemoTickets(
        texts=tuple(row["text"] for row in rows),
        topics=topics,
        topic_names=tuple(str(name) for name in names[by_size]),
    )
