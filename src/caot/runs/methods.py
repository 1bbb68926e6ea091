"""The method of a run: CAOT, or one of those that it is compared with.

Names are known, and looked at, without torch; a method's settings need its class, and so torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from caot.baselines import METHODS
from caot.baselines.making import require_libraries, unknown_method
from caot.nearest import nearest_name
from caot.runs.errors import RunError
from caot.runs.options import OPTIONS, option_of

if TYPE_CHECKING:
    from caot.clusterer import TextClusterer
    from caot.runs.record import RunRecord

CAOT = "caot"


@dataclass(frozen=True, slots=True)
class RunMethod:
    """What a run must know of its method.

    Attributes
    ----------
    name, title
        What users write, and what a page calls it.
    module, class_name
        Where its estimator is.
    resumes
        Whether its training leaves checkpoints that it can go on from.
    finds_k, takes_k
        Whether it finds the number of clusters where none is given, and heeds one that is.
    """

    name: str
    title: str
    module: str
    class_name: str
    resumes: bool = False
    finds_k: bool = False
    takes_k: bool = True

    def load(self) -> type[TextClusterer]:
        """Import the estimator's class."""
        return cast("type[TextClusterer]", getattr(import_module(self.module), self.class_name))

    def usual(self) -> dict[str, Any]:
        """Return all parameters of the estimator with their defaults."""
        return dict(self.load()().get_params(deep=False))


RUN_METHODS: Mapping[str, RunMethod] = {
    CAOT: RunMethod(CAOT, "CAOT", "caot.estimator", "CAOT", resumes=True),
    **{
        name: RunMethod(
            name,
            method.title,
            f"caot.baselines.{method.module}",
            method.class_name,
            finds_k=method.finds_k,
            takes_k=method.takes_k,
        )
        for name, method in METHODS.items()
    },
}
"""Every method that a run may use, by its name."""


def find_run_method(name: str) -> RunMethod:
    """Return a method by its name."""
    if name not in RUN_METHODS:
        raise RunError(str(unknown_method(name, RUN_METHODS)))
    return RUN_METHODS[name]


def check_method(name: str, n_clusters: int | str, *, resume: bool = False) -> RunMethod:
    """Return a method after all checks that need neither its class nor a text.

    Raises
    ------
    RunError
        If there is no such method, the number of clusters cannot be, the method does not heed one,
        or it cannot go on with a run that was interrupted.
    RivalNotInstalled
        If a library that it needs is not there.
    """
    method = find_run_method(name)
    if n_clusters != "auto" and int(n_clusters) < 2:
        msg = f"the number of clusters is {n_clusters}: ask for at least 2, or auto"
        raise RunError(msg)
    if name in METHODS:
        require_libraries(METHODS[name])
    if n_clusters != "auto" and not method.takes_k:
        msg = f"the method {name!r} finds the number of clusters itself: write -k auto"
        raise RunError(msg)
    if resume and not method.resumes:
        able = ", ".join(one.name for one in RUN_METHODS.values() if one.resumes)
        msg = (
            f"the method {name!r} keeps no checkpoints and cannot be resumed, only {able} can: "
            "leave --resume out, and begin anew with --force"
        )
        raise RunError(msg)
    return method


def check_parameters(
    method: RunMethod,
    given: Mapping[str, Any],
    own: Mapping[str, Any],
    n_clusters: int | None = None,
) -> None:
    """Raise unless the method's estimator has these parameters, and takes their values.

    Parameters
    ----------
    method
        Whose estimator is meant.
    given
        What was asked for by settings that runs of all methods share.
    own
        What was asked for by ``--set``.
    n_clusters
        How many clusters were asked for, if a number was.
    """
    known = method.usual()
    for name in given:
        if name not in known:
            raise RunError(_no_such_setting(method, name))
    for name in own:
        if name in OPTIONS:
            msg = f"{name} has an option of its own: use {OPTIONS[name]} in place of --set"
            raise RunError(msg)
        if name not in known:
            advice = nearest_name(name, [one for one in known if one not in OPTIONS])
            msg = f"the method {method.name!r} has no setting {name!r}: {advice}"
            raise RunError(msg)
    try:
        counted = {} if n_clusters is None else {"n_clusters": n_clusters}
        _check_values(method, {**counted, **given, **own})
    except TypeError as error:
        if not own:
            raise
        pairs = ", ".join(f"{name}={value}" for name, value in own.items())
        msg = f"a value of --set is of the wrong kind ({error}): check {pairs}"
        raise RunError(msg) from error


def estimator_of(record: RunRecord, *, random_state: int) -> TextClusterer:
    """Return the estimator of a run by its record, not fitted, with another seed.

    Raises
    ------
    RunError
        If the run was given an object or a function that a record cannot bring back.
    """
    from caot.augment import check_augmenter  # noqa: PLC0415 - brings in torch
    from caot.plain import from_plain  # noqa: PLC0415

    parameters = from_plain({**record.parameters, "random_state": random_state})
    try:
        check_augmenter(parameters.get("augmenter", "auto"))
    except ValueError:
        msg = (
            f"the run's augmenter was {parameters['augmenter']!r}, a function or object of Python "
            "that the run folder does not hold: fit with other seeds in Python"
        )
        raise RunError(msg) from None
    return find_run_method(record.method).load()(**parameters)


def _no_such_setting(method: RunMethod, name: str) -> str:
    have = [one.name for one in RUN_METHODS.values() if name in one.usual()]
    return (
        f"{option_of(name)} is no setting of the method {method.name!r}: leave it out, or choose a "
        f"method that has it ({', '.join(have)})"
    )


def _check_values(method: RunMethod, parameters: Mapping[str, Any]) -> None:
    """Let the estimator, or the settings that it makes of them, check the parameters."""
    from caot.baselines.base import Baseline  # noqa: PLC0415 - brings in torch
    from caot.plain import from_plain  # noqa: PLC0415
    from caot.settings import FitSettings  # noqa: PLC0415

    model = method.load()(**from_plain(parameters))
    if isinstance(model, Baseline):
        model.check()
    else:
        FitSettings.of(model.get_params(deep=False))
