"""The device that encoders run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from caot.encoders.protocol import Encoder


def resolve_device(device: str | torch.device | None) -> torch.device:
    """Return the named device; None means cuda where available, else mps, else cpu."""
    if device is not None:
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def device_of(encoder: Encoder) -> torch.device:
    """Return where an encoder's weights are; one without weights says it itself."""
    parameter = next(encoder.module.parameters(), None)
    if parameter is not None:
        return parameter.device
    return torch.device(getattr(encoder, "device", "cpu"))


def to_device(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return the array as a tensor on a device; a GPU copies it while Python goes on."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
