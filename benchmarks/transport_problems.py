"""Synthetic transport problems: the predictions of a noisy classifier and similarities to match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import log_softmax

Floats = NDArray[np.float64]

N_NEIGHBOURS = 15
_SIZE_RATIO = 200.0  # of the largest class to the smallest, where sizes are geometric
_NOISE = 1.5  # standard deviation of the logits


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of problem and the penalty weight ε2 that suits it.

    Attributes
    ----------
    sizes
        Whether classes are equally likely, or their probabilities fall geometrically.
    margin
        How far the logit of the true class stands above the others: 4 is early in training, 10
        late.
    """

    n_samples: int
    n_clusters: int
    uniformity: float = 100.0
    sizes: Literal["balanced", "geometric"] = "balanced"
    margin: float = 4.0

    @property
    def name(self) -> str:
        """A short description for tables."""
        return f"{self.n_samples}×{self.n_clusters}, ε2 = {self.uniformity:g}"


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a solver is called with: log P (n, k) and S (n, n), dense or sparse."""

    log_prob: Floats
    similarity: Floats | scipy.sparse.csr_array


def dense_problem(case: Case, random_state: int = 0) -> Problem:
    """Return predictions with S the cosine of their rows plus an attention-like row softmax."""
    rng = np.random.default_rng(random_state)
    _, log_prob = _predictions(case, rng)
    prob = np.exp(log_prob)
    unit = prob / np.linalg.norm(prob, axis=1, keepdims=True)
    attention = np.exp(log_softmax(rng.standard_normal((len(prob), len(prob))), axis=1))
    similarity = unit @ unit.T + attention
    np.fill_diagonal(similarity, 0.0)
    return Problem(log_prob, similarity)


def sparse_problem(case: Case, random_state: int = 0) -> Problem:
    """Return predictions with 15 random neighbours a sample, most of them of its own class.

    The weights of a row add up to n/10: enough to count beside the predictions at every n.
    """
    rng = np.random.default_rng(random_state)
    truth, log_prob = _predictions(case, rng)
    n = len(truth)
    by_class = np.argsort(truth, kind="stable")
    place = np.empty_like(by_class)
    place[by_class] = np.arange(n)
    steps = rng.integers(1, min(100, n), (n, N_NEIGHBOURS))
    columns = by_class[(place[:, None] + steps) % n]
    weights = rng.random((n, N_NEIGHBOURS))
    weights *= n / 10 / weights.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(n), N_NEIGHBOURS)
    entries = (weights.ravel(), (rows, columns.ravel()))
    return Problem(log_prob, scipy.sparse.coo_array(entries, shape=(n, n)).tocsr())


def _predictions(case: Case, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
    """Return true classes (n,) and log-probabilities (n, k)."""
    n, k = case.n_samples, case.n_clusters
    ratio = _SIZE_RATIO if case.sizes == "geometric" else 1.0
    share = ratio ** (-np.arange(k) / (k - 1))
    truth = rng.choice(k, n, p=share / share.sum())
    logits = _NOISE * rng.standard_normal((n, k))
    logits[np.arange(n), truth] += case.margin
    return truth, log_softmax(logits, axis=1)
