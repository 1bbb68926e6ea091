"""``caot info``: what is at hand on this machine."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
import importlib.util
import platform
from typing import Any

from caot.cli import options
from caot.cli.errors import guarded
from caot.cli.screen import Screen, make_table

EXAMPLES = """
Examples:

  caot info

  caot info --json
"""

_BACKENDS = ("onnxruntime", "openvino", "numba")


def info(quiet: options.Quiet = False, as_json: options.Json = False) -> None:
    """Show encoders at hand, device, versions, and whether caot can work offline."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.encoders.availability import is_offline
        from caot.persistence import library_versions

        embedded = _embedded()
        models = _stored_models()
        document: dict[str, Any] = {
            "versions": {"python": platform.python_version(), **library_versions()},
            "device": _device(),
            "cores": _cores(),
            "embedded_encoder": embedded,
            "stored_encoders": models,
            "accelerators": {name: _is_installed(name) for name in _BACKENDS},
            "methods": _methods(),
            "offline_mode": is_offline(),
            "ready_offline": embedded == "ready" or bool(models),
        }
        screen.show(make_table("", ("what", "value"), _rows(document)))
        screen.json(document)


def _rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    versions = [(f"version of {name}", value) for name, value in document["versions"].items()]
    installed = [name for name, there in document["accelerators"].items() if there]
    ready = [name for name, state in document["methods"].items() if state == "ready"]
    others = {name: s for name, s in document["methods"].items() if s != "ready"}
    return [
        ("device", f"{document['device']}, {document['cores']} cores"),
        ("embedded encoder (auto)", document["embedded_encoder"]),
        ("encoders stored here", ", ".join(document["stored_encoders"]) or "none"),
        ("accelerators installed", ", ".join(installed) or "none"),
        ("methods of caot fit", ", ".join(ready)),
        *((f"method {name}", state) for name, state in others.items()),
        ("ready to work offline", "yes" if document["ready_offline"] else "no"),
        *versions,
    ]


def _methods() -> dict[str, str]:
    """Return every method of caot fit, and whether it can be used here."""
    from caot.baselines import METHODS
    from caot.baselines.making import missing_libraries
    from caot.baselines.registry import RIVALS
    from caot.extras import install_hint
    from caot.runs import RUN_METHODS

    missing = {name: missing_libraries(method) for name, method in METHODS.items()}
    return {
        name: f"not installed: {install_hint(RIVALS)}" if missing.get(name) else "ready"
        for name in RUN_METHODS
    }


def _embedded() -> str:
    from caot.encoders import EncoderNotAvailable, embedded_path
    from caot.encoders.embedded import verify
    from caot.extras import install_hint

    folder = embedded_path()
    if folder is None:
        return f"not installed: {install_hint('embedded')}"
    try:
        verify(folder)
    except EncoderNotAvailable as error:
        return str(error)
    return "ready"


def _stored_models() -> list[str]:
    """Return the models in the cache of the Hugging Face hub."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = scan_cache_dir().repos
    except (CacheNotFound, OSError):
        return []
    return sorted(one.repo_id for one in repositories if one.repo_type == "model")


def _device() -> str:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _cores() -> int:
    from caot.threads import n_cores

    return n_cores()


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
