"""What the settings of a run are called on the command line."""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS: Mapping[str, str] = {
    "n_clusters": "-k",
    "encoder": "--encoder",
    "finetune": "--finetune",
    "imbalance": "--imbalance",
    "max_iter": "--max-iter",
    "max_length": "--max-length",
    "max_chunks": "--max-chunks",
    "on_empty": "--on-empty",
    "time_budget": "--time-budget",
    "device": "--device",
    "random_state": "--seed",
}
"""Parameters of estimators that `caot fit` has options for; others are given with ``--set``."""


def option_of(name: str) -> str:
    """Return how a parameter is given on the command line."""
    return OPTIONS.get(name, f"--set {name}=...")
