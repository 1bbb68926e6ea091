"""How the packages of an extra are installed: caot is on no index, but lies in a folder."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

UNKNOWN = "/path/to/caot"
"""Stands for the folder where pip did not note it, as in the documentation."""


def install_hint(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    Examples
    --------
    >>> install_hint("onnx")  # doctest: +SKIP
    'pip install "/path/to/caot[onnx]"'
    """
    folder, is_editable = origin()
    return f'pip install {"-e " if is_editable else ""}"{folder}[{extra}]"'


def origin() -> tuple[str, bool]:
    """Return the folder that caot was installed from, and whether as an editable package."""
    try:
        noted = json.loads(metadata.distribution("caot").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return UNKNOWN, False
    match noted:
        case {"url": str(url), "dir_info": dict(how)} if url.startswith("file:"):
            folder = url2pathname(urlsplit(url).path)
            if (Path(folder) / "pyproject.toml").is_file():
                return folder, bool(how.get("editable"))
    return UNKNOWN, False
