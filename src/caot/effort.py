"""How long a fit will take, roughly, and which layers to train in the time there is.

The estimate counts products of matrices and divides by a rate per core; it measures nothing, so the
same inputs on the same machine always lead to the same choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Layers = Literal["all", "none"] | int

# Floating-point operations a second that training reaches, per core and on an accelerator.
_RATE_CORE = 30e9
_RATE_CORE_BFLOAT16 = 55e9
_RATE_ACCELERATOR = 5e12
# Without a time budget, an accelerator trains all layers up to this.
DEFAULT_SECONDS = 25 * 60.0
# Fewer steps than this do not pay for training layers.
_LEAST_STEPS = 150
# A backward pass costs twice a forward one.
_WITH_GRADIENT = 3
_TOP_LAYERS = 2
_QUICKER = 'finetune="none" (--finetune none) gives a quick look'


@dataclass(frozen=True, slots=True)
class Workload:
    """What decides the cost of a fit.

    Parameters
    ----------
    n_texts, n_tokens
        How many texts there are, and how many tokens they have in all.
    n_layers
        Layers of the encoder.
    layer_size
        Weights of a layer.
    batch_size
        Texts an iteration.
    n_cores
        Threads that compute; 0 means an accelerator.
    keeps_lower
        Whether what frozen layers give is kept; if not, they run again in every iteration.
    mixed_precision
        Whether the cores compute in bfloat16.
    """

    n_texts: int
    n_tokens: int
    n_layers: int
    layer_size: int
    batch_size: int
    n_cores: int
    keeps_lower: bool = True
    mixed_precision: bool = False

    @property
    def rate(self) -> float:
        """Operations a second."""
        if not self.n_cores:
            return _RATE_ACCELERATOR
        return self.n_cores * (_RATE_CORE_BFLOAT16 if self.mixed_precision else _RATE_CORE)

    def seconds(self, layers: Layers, n_iter: int) -> float:
        """Return the estimated time of a fit that trains these layers for so many iterations."""
        n_top = self.n_layers if layers == "all" else 0 if layers == "none" else layers
        lower = self.n_layers - n_top
        # Two views forwards and backwards, the original forwards.
        each = (2 * _WITH_GRADIENT + 1) * n_top
        once = 3 * lower if n_top else lower  # noise on vectors makes views without encoding
        if n_top:  # vectors for first clusters and head start, labels at the end
            once += n_top + self.n_layers
        if n_top and not self.keeps_lower:
            each += 3 * lower
            once -= lower  # of three views, less those for the first two
        passes = once * self.n_texts + each * n_iter * min(self.batch_size, self.n_texts)
        tokens_a_text = self.n_tokens / max(1, self.n_texts)
        return 2 * self.layer_size * tokens_a_text * passes / self.rate


@dataclass(frozen=True, slots=True)
class Choice:
    """Which layers are trained, for how many iterations (None: as usual), and why."""

    layers: Layers
    n_iter: int | None
    why: str


def choose(workload: Workload, budget: float, usual_iter: int) -> Choice:
    """Choose what to train within a budget in seconds; infinity means none was given.

    A CPU trains layers only if it is given time for that: without them the clusters are as good on
    most of the data sets that were tried, and come many times sooner.
    """
    n_top = min(_TOP_LAYERS, workload.n_layers)
    if workload.n_cores and math.isinf(budget):
        why = f"quickest on a CPU; a time budget, or finetune={n_top}, lets layers learn"
        return Choice("none", None, why)
    limit = DEFAULT_SECONDS if math.isinf(budget) else budget
    whose = f"the usual {_show(limit)}" if math.isinf(budget) else f"the budget of {_show(limit)}"
    if not workload.n_cores and workload.seconds("all", usual_iter) <= limit:
        return Choice("all", None, f"an accelerator is at hand; {_QUICKER}")
    full = workload.seconds(n_top, usual_iter)
    if full <= limit:
        return Choice(n_top, None, f"about {_show(full)}, within {whose}; {_QUICKER}")
    fixed = workload.seconds(n_top, 0)
    affordable = int(usual_iter * (limit - fixed) / (full - fixed))
    if affordable >= _LEAST_STEPS:
        why = f"{affordable} iterations instead of {usual_iter} fit {whose}; {_QUICKER}"
        return Choice(n_top, affordable, why)
    why = (
        f"training {n_top} layers would take about {_show(full)}, more than {whose}; "
        f"finetune={n_top} does so all the same"
    )
    return Choice("none", None, why)


def _show(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
