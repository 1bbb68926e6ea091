"""The inner problem on an accelerator: as many steps as are allowed, and no question in between.

To ask a tensor whether it has converged is to wait for the device. Here every step is computed and
:func:`torch.where` keeps the old values once nothing has to move any more, so that the steps taken
are those of :mod:`~caot.transport.joint` and :mod:`~caot.transport.alternating`, and the host only
queues them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from caot.transport.joint import DECREASE, MAX_DAMPING, jacobian
from caot.transport.linear import LinearProblem, conditionals
from caot.transport.mass import MassLaw, UniformMass

# The bracket of ν is cut into so many parts, so many times; Newton's steps do the rest.
_PARTS, _CUTS, _NEWTON_STEPS = 128, 4, 3
# All step lengths of a line search are tried at once, so they cost memory: n × k values for each.
_HALVINGS = 12


class FixedState(NamedTuple):
    """:class:`~caot.transport.linear.LinearState` with every number on the device."""

    row: Tensor  # (n,) λ
    column: Tensor  # (k,) τ
    normaliser: Tensor  # () ν
    mass: Tensor  # (k,) b
    plan: Tensor  # (n, k) Q
    n_inner: Tensor  # () int64
    solved: Tensor  # () bool

    def kept_unless(self, moves: Tensor, following: FixedState) -> FixedState:
        """Return ``following`` where ``moves``, () bool, is true, and this state where not."""
        return FixedState(
            *(torch.where(moves, new, old) for new, old in zip(following, self, strict=True))
        )


Scheme: TypeAlias = Callable[[LinearProblem, FixedState, int, float], FixedState]


def fixed_joint(
    problem: LinearProblem, start: FixedState, max_inner: int, tol: float
) -> FixedState:
    """Solve Eq. 11 by ``max_inner`` steps of Newton's method; those not needed move nothing."""
    column, n_inner = start.column, start.n_inner
    tol = max(tol, 50 * torch.finfo(column.dtype).eps)
    normaliser = fixed_normaliser(problem.law, column)
    residual = _residual(problem, column, normaliser)
    for _ in range(max_inner):
        moves = ~(residual.abs().max() <= tol)
        column = torch.where(moves, _newton_step(problem, column, normaliser, residual), column)
        n_inner = n_inner + moves
        normaliser = fixed_normaliser(problem.law, column)
        residual = _residual(problem, column, normaliser)
    conditional, log_row = conditionals(problem, column)
    return FixedState(
        row=-problem.epsilon * (log_row + math.log(problem.n_samples)),
        column=column,
        normaliser=normaliser,
        mass=problem.law.mass(torch, column - normaliser),
        plan=conditional / problem.n_samples,
        n_inner=n_inner,
        solved=residual.abs().max() <= tol,
    )


def fixed_alternating(
    problem: LinearProblem, start: FixedState, max_inner: int, tol: float
) -> FixedState:
    """Alternate Eqs. 7 and 8 with Eqs. 10 and 9 in the log domain, ``max_inner`` times."""
    epsilon, state = problem.epsilon, start._replace(solved=torch.zeros_like(start.solved))
    for _ in range(max_inner):
        reach = torch.logsumexp((state.column - problem.cost) / epsilon, dim=1)
        row = -epsilon * (math.log(problem.n_samples) + reach)  # Eq. 7
        reach = torch.logsumexp((row[:, None] - problem.cost) / epsilon, dim=0)
        column = epsilon * (torch.log(state.mass) - reach)  # Eq. 8
        normaliser = fixed_normaliser(problem.law, column)  # Eq. 10
        mass = problem.law.mass(torch, column - normaliser)  # Eq. 9
        moved = torch.maximum(
            (column - state.column).abs().max() / epsilon,
            torch.log(mass / state.mass).abs().max(),
        )
        n_inner = state.n_inner + 1
        following = FixedState(row, column, normaliser, mass, state.plan, n_inner, moved < tol)
        state = state.kept_unless(~state.solved, following)
    exponent = (state.row[:, None] + state.column - problem.cost) / epsilon
    return state._replace(plan=torch.exp(exponent))  # Eq. 6


FIXED_SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {"joint": fixed_joint, "alternating": fixed_alternating}
)


def fixed_normaliser(law: MassLaw, column: Tensor) -> Tensor:
    """Solve Σ_j b(τ_j − ν) = 1 for ν, (): cut the exact bracket, then Newton inside (Eq. 10)."""
    if isinstance(law, UniformMass):
        return torch.zeros_like(column.sum())
    low, high = (end - law.offset for end in (column.min(), column.max()))
    shares = torch.linspace(0, 1, _PARTS + 1, dtype=column.dtype, device=column.device)
    for _ in range(_CUTS):
        points = low + (high - low) * shares
        too_low = law.mass(torch, column - points[:, None]).sum(dim=1) < 1
        part = (too_low.sum() - 1).clip(0, _PARTS - 1)
        low, high = points.gather(0, torch.stack([part, part + 1]))
    normaliser = (low + high) / 2
    for _ in range(_NEWTON_STEPS):
        shifted = column - normaliser
        mass = law.mass(torch, shifted)
        step = (mass.sum() - 1) / (mass * law.log_slope(torch, shifted)).sum()
        normaliser = (normaliser - step).clip(low, high)
    return normaliser


def _residual(problem: LinearProblem, column: Tensor, normaliser: Tensor) -> Tensor:
    """Return log c − log b for any number of τ, (..., k)."""
    return _log_sums(problem, column) - torch.log(problem.law.mass(torch, column - normaliser))


def _log_sums(problem: LinearProblem, column: Tensor) -> Tensor:
    """Return log c for any number of τ, (..., k)."""
    exponent = (column[..., None, :] - problem.cost) / problem.epsilon  # (..., n, k)
    exponent = exponent - torch.logsumexp(exponent, dim=-1, keepdim=True)
    return torch.logsumexp(exponent, dim=-2) - math.log(problem.n_samples)


def _newton_step(
    problem: LinearProblem, column: Tensor, normaliser: Tensor, residual: Tensor
) -> Tensor:
    """Return τ at the first step length that shortens the residual, after Sinkhorn's step if none.

    Sinkhorn's step stands last among the candidates and is always good enough.
    """
    norm = torch.linalg.vector_norm(residual)
    matrix = jacobian(
        problem,
        conditionals(problem, column)[0],
        _log_sums(problem, column),
        column - normaliser,
        norm.clip(max=MAX_DAMPING),
    )
    # Without checks: to look for a singular matrix is to wait for the device.
    direction = torch.linalg.solve_ex(matrix, -residual).result
    steps = 0.5 ** torch.arange(_HALVINGS, dtype=column.dtype, device=column.device)
    fitted = column - problem.epsilon * residual
    candidates = torch.cat([column + steps[:, None] * direction, fitted[None]])
    norms = torch.linalg.vector_norm(_residual(problem, candidates, normaliser), dim=1)
    limits = torch.cat([(1 - DECREASE * steps) * norm, torch.full_like(norms[:1], torch.inf)])
    first = torch.argmax((norms <= limits).to(torch.uint8), dim=0, keepdim=True)
    return candidates.index_select(0, first)[0]
