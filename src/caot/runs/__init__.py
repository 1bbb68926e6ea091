"""Run folders: what a fit leaves behind, written so that nothing is lost, and read again.

`fit_run` clusters a table and writes its folder, `RunFolder` reads and extends one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caot.runs.describing import Describing, Endpoint
    from caot.runs.errors import RunError
    from caot.runs.events import PartStarted, RunCallback, RunEvent
    from caot.runs.fitting import fit_run
    from caot.runs.folder import RunFolder
    from caot.runs.inputs import not_english, suggest_for, table_of
    from caot.runs.methods import RUN_METHODS
    from caot.runs.record import RunRecord
    from caot.runs.result import RunResult
    from caot.runs.settings import RunSettings

__all__ = [
    "RUN_METHODS",
    "Describing",
    "Endpoint",
    "PartStarted",
    "RunCallback",
    "RunError",
    "RunEvent",
    "RunFolder",
    "RunRecord",
    "RunResult",
    "RunSettings",
    "fit_run",
    "not_english",
    "suggest_for",
    "table_of",
]

# Found when asked for: a folder can be looked at without torch, which takes seconds to import.
_PLACES = {
    "RUN_METHODS": "methods",
    "Describing": "describing",
    "Endpoint": "describing",
    "PartStarted": "events",
    "RunCallback": "events",
    "RunError": "errors",
    "RunEvent": "events",
    "RunFolder": "folder",
    "RunRecord": "record",
    "RunResult": "result",
    "RunSettings": "settings",
    "fit_run": "fitting",
    "not_english": "inputs",
    "suggest_for": "inputs",
    "table_of": "inputs",
}


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(f"caot.runs.{_PLACES[name]}"), name)
    msg = f"module 'caot.runs' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
