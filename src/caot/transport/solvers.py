"""The solvers: immutable settings that turn predictions into pseudo-labels when called."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from caot.transport.arrays import Array, Precision, to_host
from caot.transport.device import (
    Outcome,
    queue_on_device,
    queue_prediction,
    solve_on_device,
)
from caot.transport.imbalance import safe_uniformity
from caot.transport.linear import LinearState
from caot.transport.mass import MassLaw, mass_law
from caot.transport.outer import SCHEMES, Solve, iterate, start_from
from caot.transport.problem import TransportProblem, transport_problem
from caot.transport.result import CollapseWarning, Queued, Status, TransportResult

Scheme: TypeAlias = Literal["joint", "alternating"]


@dataclass(frozen=True, slots=True)
class ConsistentTransport:
    """Consistency-aware adaptive optimal transport, CAOT (Eq. 4).

    Minimises over the plan Q ≥ 0 and the column masses b ::

        ⟨Q, −log P⟩ + ε1 ⟨Q, log Q − 1⟩ + ε2 Σ_j Ψ(b_j) − ε3 ⟨S, QQᵀ⟩
        subject to  Q1 = 1/n,  Qᵀ1 = b,  Σ b = 1.

    The last term is linearised around the plan at hand (Eq. 5) and the problem that remains is
    solved by ``scheme``, in turn, until labels and objective stand still.

    Parameters
    ----------
    epsilon
        ε1 > 0, the weight of the entropy: how soft the plan is.
    uniformity
        ε2 > 0, the weight of the penalty Ψ: how even the cluster sizes are; infinity holds them at
        1/k.
    consistency
        ε3 ≥ 0, the weight of the similarity: how strongly similar samples are kept together.
    max_outer, max_inner
        Linearisations, and inner steps for each of them (the paper's T1 and T2).
    scheme
        ``"joint"`` solves each inner problem for all multipliers at once, exactly (Eq. 11);
        ``"alternating"`` is Algorithm 2 as printed.
    outer_tol
        Stop when no label changes and the objective moves by less than this, relatively; 0 for
        never.
    inner_tol
        Relative accuracy of the column masses at which an inner problem counts as solved.
    precision
        ``"float64"``, ``"float32"``, or ``"auto"``, which is float64.

    Notes
    -----
    Tensors on an accelerator are solved there, in a number of steps that does not depend on the
    values, and the host waits once, for the result. On mps, which has no float64, they are solved
    on the CPU.

    Examples
    --------
    Two pairs of twins; the second of each pair is undecided and follows its sibling.

    >>> import numpy as np
    >>> prob = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.5, 0.5]])
    >>> twins = np.kron(np.eye(2), np.ones((2, 2))) - np.eye(4)
    >>> ConsistentTransport(epsilon=0.1)(np.log(prob), twins).labels
    array([0, 0, 1, 1])

    References
    ----------
    Yao, Gu, Yin and Li. Beyond Looking Up, Try Looking Around: Harmonizing Global Structure and
    Local Consistency in Optimal Transport for Short Text Clustering. ICML 2026.
    """

    epsilon: float = 1.0
    uniformity: float = 100.0
    consistency: float = 25.0
    max_outer: int = 10
    max_inner: int = 10
    scheme: Scheme = "joint"
    outer_tol: float = 1e-6
    inner_tol: float = 1e-9
    precision: Precision = "auto"

    uses_similarity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_settings(self)

    def __call__(
        self,
        log_prob: Array,
        similarity: Array | None = None,
        init: TransportResult | None = None,
    ) -> TransportResult:
        """Solve for the log-probabilities (n, k) of a batch, or of a whole data set.

        Parameters
        ----------
        log_prob
            log P, (n, k), numpy array or torch tensor; rows of log_softmax.
        similarity
            S, (n, n), dense, or sparse (scipy, torch); it need not be symmetric. Without it the
            problem is that of :class:`AdaptiveTransport`.
        init
            An earlier result with as many clusters, to start from. Its plan is used too if it has
            as many samples.
        """
        problem = transport_problem(log_prob, similarity, self.precision)
        law = mass_law(problem.shape[1], self.uniformity)
        if problem.kind.on_device:
            result, mean_similarity = solve_on_device(self, problem, law, init)
        else:
            result, mean_similarity = self._solve_on_host(problem, law, init)
        if result.collapsed:
            least = safe_uniformity(
                problem.shape[1], self.epsilon, self.consistency, mean_similarity
            )
            msg = (
                "the similarity outweighs the penalty and draws the samples into few clusters: use "
                f"uniformity of at least {least:.4g}, or a consistency below {self.consistency:g}"
            )
            warnings.warn(msg, CollapseWarning, stacklevel=2)
        return result

    def queue(self, log_prob: Array, similarity: Array | None = None) -> Queued:
        """Begin to solve; an accelerator need not have ended when this returns.

        Nothing is said of a collapse but in the result.
        """
        problem = transport_problem(log_prob, similarity, self.precision)
        law = mass_law(problem.shape[1], self.uniformity)
        if problem.kind.on_device:
            return queue_on_device(self, problem, law)
        return Queued.solved(self._solve_on_host(problem, law, None).result)

    def _solve_on_host(
        self, problem: TransportProblem, law: MassLaw, init: TransportResult | None
    ) -> Outcome:
        # Overflow shows in the status; numpy need not say it again.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            solve = iterate(self, problem, law, start_from(problem, law, init))
            if init is not None and solve.drawn_together(problem):
                solve = iterate(self, problem, law, start_from(problem, law, None))
        collapsed = solve.drawn_together(problem)
        mean_similarity = problem.mean_similarity if collapsed else math.nan
        return Outcome(solve.result(problem, collapsed=collapsed), mean_similarity)


@dataclass(frozen=True, slots=True)
class AdaptiveTransport:
    """Entropic transport whose column masses adapt under the penalty Ψ (Eq. 3).

    :class:`ConsistentTransport` without similarity; ``similarity`` is accepted and left aside, so
    that the solvers can stand for each other. A single inner problem: ``max_inner`` steps at most.
    """

    epsilon: float = 1.0
    uniformity: float = 100.0
    max_inner: int = 100
    scheme: Scheme = "joint"
    inner_tol: float = 1e-9
    precision: Precision = "auto"

    uses_similarity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_settings(self)

    def __call__(
        self,
        log_prob: Array,
        similarity: Array | None = None,
        init: TransportResult | None = None,
    ) -> TransportResult:
        """Solve for log P, (n, k); see :meth:`ConsistentTransport.__call__`."""
        return self._inconsistent()(log_prob, None, init)

    def queue(self, log_prob: Array, similarity: Array | None = None) -> Queued:
        """Begin to solve; see :meth:`ConsistentTransport.queue`."""
        return self._inconsistent().queue(log_prob)

    def _inconsistent(self) -> ConsistentTransport:
        return ConsistentTransport(
            epsilon=self.epsilon,
            uniformity=self.uniformity,
            consistency=0.0,
            max_outer=1,
            max_inner=self.max_inner,
            scheme=self.scheme,
            inner_tol=self.inner_tol,
            precision=self.precision,
        )


@dataclass(frozen=True, slots=True)
class BalancedTransport:
    """Conventional entropic transport: every cluster receives the mass 1/k (Eq. 1).

    The limit of :class:`AdaptiveTransport` at infinite ``uniformity``. With
    ``scheme="alternating"`` this is Sinkhorn's algorithm.
    """

    epsilon: float = 1.0
    max_inner: int = 100
    scheme: Scheme = "joint"
    inner_tol: float = 1e-9
    precision: Precision = "auto"

    uses_similarity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_settings(self)

    def __call__(
        self,
        log_prob: Array,
        similarity: Array | None = None,
        init: TransportResult | None = None,
    ) -> TransportResult:
        """Solve for log P, (n, k); see :meth:`ConsistentTransport.__call__`."""
        return self._adaptive()(log_prob, similarity, init)

    def queue(self, log_prob: Array, similarity: Array | None = None) -> Queued:
        """Begin to solve; see :meth:`ConsistentTransport.queue`."""
        return self._adaptive().queue(log_prob, similarity)

    def _adaptive(self) -> AdaptiveTransport:
        return AdaptiveTransport(
            epsilon=self.epsilon,
            uniformity=math.inf,
            max_inner=self.max_inner,
            scheme=self.scheme,
            inner_tol=self.inner_tol,
            precision=self.precision,
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """No transport: the plan is the prediction itself and the labels its argmax, for comparison."""

    precision: Precision = "auto"

    uses_similarity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_settings(self)

    def __call__(
        self,
        log_prob: Array,
        similarity: Array | None = None,
        init: TransportResult | None = None,
    ) -> TransportResult:
        """Return P/n as the plan; nothing is solved."""
        queued = self.queue(log_prob)
        return queued.read(to_host(queued.told))

    def queue(self, log_prob: Array, similarity: Array | None = None) -> Queued:
        """Take the prediction; see :meth:`ConsistentTransport.queue`."""
        problem = transport_problem(log_prob, None, self.precision)
        if problem.kind.on_device:
            return queue_prediction(problem)
        xp = problem.kind.xp
        plan = xp.exp(-problem.cost) / problem.shape[0]
        state = LinearState(
            row=xp.zeros_like(plan[:, 0]),
            column=xp.zeros_like(plan[0, :]),
            normaliser=0.0,
            mass=xp.sum(plan, axis=0),
            plan=plan,
            n_inner=0,
            solved=True,
        )
        objective = float(xp.sum(plan * problem.cost))
        solve = Solve(state, Status.CONVERGED, 0, (objective,), stopped_early=False)
        return Queued.solved(solve.result(problem, collapsed=False))


Transport: TypeAlias = ConsistentTransport | AdaptiveTransport | BalancedTransport | Prediction


def _check_settings(solver: Any) -> None:
    """Check whichever of the settings a solver has."""
    positive = ("epsilon", "uniformity")
    for name in positive:
        value = getattr(solver, name, 1.0)
        if not value > 0 or (name == "epsilon" and math.isinf(value)):
            msg = f"{name} must be positive, got {value}"
            raise ValueError(msg)
    for name in ("consistency", "outer_tol", "inner_tol"):
        value = getattr(solver, name, 0.0)
        if not 0 <= value < math.inf:
            msg = f"{name} must be at least 0 and finite, got {value}"
            raise ValueError(msg)
    for name in ("max_outer", "max_inner"):
        value = getattr(solver, name, 1)
        if value < 1:
            msg = f"{name} must be at least 1, got {value}"
            raise ValueError(msg)
    if getattr(solver, "scheme", "joint") not in SCHEMES:
        msg = f"scheme must be one of {sorted(SCHEMES)}, got {solver.scheme!r}"
        raise ValueError(msg)
    if solver.precision not in ("auto", "float64", "float32"):
        msg = f"precision must be 'auto', 'float64' or 'float32', got {solver.precision!r}"
        raise ValueError(msg)
