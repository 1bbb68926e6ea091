"""Short-text clustering by consistency-aware adaptive optimal transport."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caot.clusterer import EmptyClusterWarning
    from caot.estimator import CAOT
    from caot.loading import load_model
    from caot.settings import Variant

__version__ = "0.1.0"

__all__ = ["CAOT", "EmptyClusterWarning", "Variant", "__version__", "load_model"]

# Found when asked for: torch takes seconds to import, and `caot --help` does not need it.
_PLACES = {
    "CAOT": "caot.estimator",
    "EmptyClusterWarning": "caot.clusterer",
    "Variant": "caot.settings",
    "load_model": "caot.loading",
}


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    msg = f"module 'caot' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
