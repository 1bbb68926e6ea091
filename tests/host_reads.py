"""Counts how often the host would wait for an accelerator, on the CPU."""

from torch.utils._python_dispatch import TorchDispatchMode

ASKS_THE_HOST = {
    "aten::_local_scalar_dense",
    "aten::item",
    "aten::is_nonzero",
    "aten::equal",
    "aten::nonzero",
    "aten::masked_select",
    "aten::_linalg_check_errors",
}


class HostReads(TorchDispatchMode):
    """Counts what would wait for a device: questions, and copies to the CPU."""

    def __init__(self):
        super().__init__()
        self.questions, self.copies, self.calls = [], 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, kwargs = func.name().split(".")[0], kwargs or {}
        self.calls += 1
        if name in ASKS_THE_HOST:
            self.questions.append(name)
        if name in ("aten::_to_copy", "aten::copy_") and kwargs.get("device") is not None:
            self.copies += 1
        return func(*args, **kwargs)
