"""From what a user wrote to the library's values."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caot.imbalance import ImbalanceSpec
    from caot.runs import Describing, Endpoint, RunRecord, RunSettings
    from caot.settings import FineTune

KEY_VARIABLE = "CAOT_LLM_API_KEY"

# Settings that neither typer nor this module checks, as they are where a user says nothing.
_LIBRARY_CHECKS: dict[str, Any] = {
    "method": "caot",
    "method_settings": {},
    "encoder": "auto",
    "finetune": "auto",
    "imbalance": "auto",
    "time_budget": None,
    "device": None,
}


def go_offline(wanted: bool) -> None:
    """Forbid downloads; this must come before the model libraries are imported."""
    if wanted:
        os.environ["HF_HUB_OFFLINE"] = "1"


def n_clusters(value: str) -> int | Literal["auto"]:
    """Read -k."""
    if value == "auto":
        return "auto"
    with contextlib.suppress(ValueError):
        return int(value)
    msg = f"{value!r} is neither a number nor auto"
    raise typer.BadParameter(msg, param_hint="-k")


def numbers(value: str, option: str, *, least: int, example: str) -> list[int]:
    """Read a list of numbers such as --values 10,20."""
    try:
        found = [int(part) for part in value.split(",")]
    except ValueError:
        msg = f"{value!r} is no list of numbers such as {example}"
        raise typer.BadParameter(msg, param_hint=option) from None
    if min(found) < least:
        msg = f"{min(found)} is too low: {least} is the least"
        raise typer.BadParameter(msg, param_hint=option)
    return found


def finetune(value: str) -> FineTune:
    """Read --finetune."""
    if value in ("auto", "all", "none"):
        return cast("FineTune", value)
    with contextlib.suppress(ValueError):
        return int(value)
    msg = f"{value!r} is not auto, all, none or a number of top layers"
    raise typer.BadParameter(msg, param_hint="--finetune")


def imbalance(value: str) -> ImbalanceSpec:
    """Read --imbalance."""
    with contextlib.suppress(ValueError):
        return float(value)
    if value in ("auto", "balanced", "slight", "imbalanced", "severe"):
        return cast("ImbalanceSpec", value)
    msg = f"{value!r} is not auto, balanced, slight, imbalanced, severe or a penalty weight"
    raise typer.BadParameter(msg, param_hint="--imbalance")


def method(name: str, k: int | Literal["auto"], *, resume: bool) -> None:
    """Raise if there is no such method, it is not installed, or it cannot do what is asked."""
    from caot.runs.methods import check_method

    check_method(name, k, resume=resume)


def method_settings(given: list[str] | None) -> dict[str, Any]:
    """Read --set NAME=VALUE; a value is JSON, or else a word."""
    found: dict[str, Any] = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            msg = f"{pair!r} is not of the form NAME=VALUE"
            raise typer.BadParameter(msg, param_hint="--set")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def run_settings(given: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a run, all checked, and that device and encoder are there."""
    from caot.runs import RunSettings

    settings = RunSettings(**given)
    require_device(settings.device)
    require_encoder(settings.encoder)
    return settings


def early_run_settings(given: Mapping[str, Any]) -> RunSettings | None:
    """Return the settings of a run before any text is read; None if nothing can be wrong.

    What they allow is known by the library alone, and torch comes in with it: with usual settings
    a slip in the name of a column is told without.
    """
    is_usual = all(given[name] == usual for name, usual in _LIBRARY_CHECKS.items())
    return None if is_usual else run_settings(given)


def require_encoder(name: str) -> None:
    """Raise if there is no such encoder, as far as that can be told without a network."""
    if name == "auto":
        return
    from caot.encoders.availability import is_offline
    from caot.encoders.loading import check_encoder

    check_encoder(name, local_files_only=is_offline())


def require_device(name: str | None) -> None:
    """Raise if this machine does not have a device."""
    if name is None:
        return
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        msg = f"device is {name!r}, which this machine does not have: leave --device out"
        raise ValueError(msg) from error


def describing(languages: list[str] | None, n_examples: int | None) -> Describing:
    """Return how clusters are described."""
    from caot.runs import Describing

    usual = Describing()
    return Describing(
        tuple(languages) if languages else usual.languages, n_examples or usual.n_examples
    )


def changed(record: RunRecord, languages: list[str] | None, n_examples: int | None) -> Describing:
    """Return how clusters of a run were described, with the changes asked for."""
    from caot.runs import Describing

    before = record.settings["describing"]
    return Describing(
        tuple(languages or before["languages"]),
        n_examples or before["n_examples"],
        before["n_keywords"],
    )


def endpoint(url: str | None, model: str | None, send_texts: bool) -> Endpoint | None:
    """Return the endpoint that writes labels, if one was named and may be sent texts."""
    if url is None and model is None:
        if send_texts:
            msg = "there is nowhere to send texts to: name --llm-url and --llm-model"
            raise typer.BadParameter(msg, param_hint="--send-texts")
        return None
    if url is None or model is None:
        msg = "an endpoint needs both --llm-url and --llm-model"
        raise typer.BadParameter(msg, param_hint="--llm-url")
    if not send_texts:
        msg = f"keywords and example texts would be sent to {url}: allow it with --send-texts"
        raise typer.BadParameter(msg, param_hint="--llm-url")
    from caot.describe.endpoint import endpoint_address
    from caot.runs import Endpoint

    try:
        endpoint_address(url)
    except ValueError:
        msg = f"{url} is no address such as https://api.example.org/v1: texts go by https, or "
        msg += "to this machine"
        raise typer.BadParameter(msg, param_hint="--llm-url") from None
    return Endpoint(url, model, os.environ.get(KEY_VARIABLE))


def address(path: Path) -> str:
    """Return a path as a browser takes it."""
    return path.resolve().as_uri()
