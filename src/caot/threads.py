"""How many threads compute: never more than there are cores for this process."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def n_cores(quota: Path = _QUOTA) -> int:
    """Return how many cores this process may use: by its affinity, and by a container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text(encoding="ascii").split()
        if allowed != "max":
            cores = min(cores, math.ceil(int(allowed) / int(period)))
    except (OSError, ValueError):  # no container, or another kind of one
        pass
    return max(1, cores)


def n_threads() -> int:
    """Return how many threads compute: what a user has set, and no more than there are cores."""
    return min(torch.get_num_threads(), n_cores())


@contextmanager
def compute_threads() -> Iterator[int]:
    """Let torch, BLAS and OpenMP share one number of threads, and put all back afterwards.

    What a user has set, by ``torch.set_num_threads`` or ``OMP_NUM_THREADS``, is not exceeded.
    """
    before = torch.get_num_threads()
    count = n_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(limits=count):
            yield count
    finally:
        torch.set_num_threads(before)
