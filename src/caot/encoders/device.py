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


def has_fast_bfloat16(device: torch.device) -> bool:
    """Tell whether products in bfloat16 are much faster there than in float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # Processors without such instructions compute the same, slower.
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    known = [getattr(torch.cpu, name, None) for name in checks]
    return device.type == "cpu" and any(check() for check in known if check is not None)


def half_precision(device: torch.device, *, use: bool = True) -> torch.autocast:
    """Return a context in which products are computed in bfloat16, if it is used."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=use)


def to_device(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return the array as a tensor on a device; a GPU copies it while Python goes on."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
