"""From the name of a method to an estimator, or to a sentence that says what is missing."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from caot.baselines.registry import METHODS, RIVALS, Method
from caot.extras import install_hint

if TYPE_CHECKING:
    from caot.baselines.base import Baseline


class RivalNotInstalled(ImportError):  # noqa: N818 - the name says what happened
    """A library that an adapter needs is not there; the message says how to get it."""


def unknown_method(name: str, names: Iterable[str]) -> ValueError:
    """Return the error about a name that no method has, with the nearest of the names."""
    known = list(names)
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    advice = f"did you mean {near[0]!r}? " if near else ""
    return ValueError(f"there is no method {name!r}: {advice}choose one of {', '.join(known)}")


def missing_libraries(method: Method) -> list[str]:
    """Return the modules that a method needs and that are not installed; none is imported."""
    return [name for name in method.libraries if not _is_there(name)]


def require_libraries(method: Method) -> None:
    """Raise if a module that a method needs is not installed, and say how to install it."""
    missing = missing_libraries(method)
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        msg = f"the method {method.name!r} needs {' and '.join(missing)}, which {verb} not "
        msg += f"installed: {install_hint(RIVALS)}"
        raise RivalNotInstalled(msg)


def make_method(name: str, n_clusters: int | None = None, **parameters: Any) -> Baseline:  # noqa: ANN401
    """Return an estimator that is not fitted yet.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    n_clusters : int, optional
        Needed unless the method finds it itself.
    **parameters
        Of the method's class.

    Examples
    --------
    >>> make_method("kmeans", 20).n_clusters
    20
    """
    method = METHODS.get(name)
    if method is None:
        raise unknown_method(name, METHODS)
    if n_clusters is None:
        if not method.finds_k:
            msg = f"the method {name!r} needs n_clusters"
            raise ValueError(msg)
        return method.load()(**parameters)
    return method.load()(n_clusters, **parameters)


def _is_there(name: str) -> bool:
    if name in sys.modules:  # where None stands for a module that must not be imported
        return sys.modules[name] is not None
    return find_spec(name) is not None
