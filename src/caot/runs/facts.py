"""What a fitted model can tell of its fit; methods differ in it, and this is the one place to ask.

What an estimator does not have is not recorded, and a report has no section on it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caot.clusterer import TextClusterer
    from caot.training import History


def history_of(model: TextClusterer) -> History | None:
    """Return how training went; None for a method that does not train."""
    history: History | None = getattr(model, "history_", None)
    return history


def training_facts(model: TextClusterer) -> dict[str, Any]:
    """Return iterations and why they ended, as far as the method counts them."""
    reason = getattr(model, "end_reason_", None)
    found = {
        "n_iter": getattr(model, "n_iter_", None),
        "n_iter_saved": getattr(model, "n_iter_saved_", None),
        "end_reason": None if reason is None else reason.value,
    }
    return {name: value for name, value in found.items() if value is not None}


def imbalance_facts(model: TextClusterer) -> dict[str, Any]:
    """Return the penalty weight and where it comes from, if the method has one."""
    found = getattr(model, "imbalance_", None)
    return {} if found is None else dataclasses.asdict(found)
