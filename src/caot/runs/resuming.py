"""A run that goes on must be the one that was begun."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from caot.runs.errors import RunError
from caot.runs.options import OPTIONS

_OPTIONS = {
    **OPTIONS,
    "languages": "--language",
    "n_examples": "--examples",
    "method_settings": "--set",
}
# They change nothing in the training, and an endpoint that failed must be put right.
_FREE = ("cache_memory", "checkpoint_every", "endpoint", "verbose")


def check_same(begun: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raise if a run is resumed with other settings than it was begun with.

    Parameters
    ----------
    begun
        What ``checkpoint.json`` says: ``settings``, and ``n_clusters`` as it was chosen.
    asked
        The settings now, ready for JSON. Where K was, or is to be, chosen, the chosen one is meant.

    Raises
    ------
    RunError
        Which names the settings that differ, as options of the command line.
    """
    before, now = _flat(begun.get("settings", {})), _flat(asked)
    before["n_clusters"] = begun["n_clusters"]
    if now["n_clusters"] == "auto":
        now["n_clusters"] = begun["n_clusters"]
    differ = [name for name in now if name in before and before[name] != now[name]]
    if differ:
        told = ", ".join(
            f"{_option(name)} was {_shown(before[name])} and is {_shown(now[name])}"
            for name in differ
        )
        msg = (
            f"the run was begun with other settings ({told}): resume it with the same ones, or "
            "begin anew with --force"
        )
        raise RunError(msg)


def kept_iteration(checkpoint: Path) -> int | None:
    """Return the iteration that a checkpoint holds, None if it cannot be read."""
    try:
        with safe_open(checkpoint, framework="numpy") as file:
            values = json.loads((file.metadata() or {})["values"])
        return int(values["iteration"])
    except (OSError, SafetensorError, KeyError, ValueError):
        return None


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in settings.items() if name not in _FREE}
    described = kept.pop("describing", {})
    return {**kept, **described}


def _option(name: str) -> str:
    return _OPTIONS.get(name, "--" + name.replace("_", "-"))


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "given" if value else "not given"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={part}" for name, part in value.items()) or "not given"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
