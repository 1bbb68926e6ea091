"""From what a user names on the command line to cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from caot.bench.cells import Cell
from caot.bench.methods import find_method
from caot.bench.suites import BUDGETS, EFFORTS, SUITES, Budget
from caot.nearest import nearest_name


def suite_cells(
    suites: Sequence[str],
    budget: str,
    seeds: Sequence[int] | None = None,
    *,
    data: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    encoders: Sequence[str] | None = None,
) -> list[Cell]:
    """Return the cells of some suites, of these only the named ones."""
    chosen = check_budget(budget)
    cells: list[Cell] = []
    for name in suites:
        if name not in SUITES:
            msg = f"there is no suite {name!r}: {nearest_name(name, SUITES)}"
            raise ValueError(msg)
        cells += SUITES[name].at(chosen, seeds)
    wanted = [
        cell
        for cell in dict.fromkeys(cells)
        if _among(cell.dataset, data)
        and _among(cell.method, methods)
        and _among(cell.variant, variants)
        and _among(cell.encoder, encoders)
    ]
    if not wanted:
        msg = "no cell of these suites fits: see them with caot bench run --dry-run"
        raise ValueError(msg)
    return wanted


def free_cells(
    data: Sequence[str],
    budget: str,
    seeds: Sequence[int] | None = None,
    *,
    methods: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    encoders: Sequence[str] | None = None,
) -> list[Cell]:
    """Return a cell for every combination of what is named; "caot" where no method is."""
    effort = EFFORTS[check_budget(budget)]
    parts = product(
        seeds or effort.seeds, data, methods or ["caot"], encoders or ["auto"], variants or ["full"]
    )
    return [
        Cell(
            name,
            method,
            encoder,
            variant,
            effort.finetune if find_method(method).finetunes else "none",
            _iterations(method, variant, budget),
            seed,
        )
        for seed, name, method, encoder, variant in parts
    ]


def check_budget(budget: str) -> Budget:
    """Return the budget of that name."""
    if budget not in BUDGETS:
        msg = f"there is no budget {budget!r}: choose one of {', '.join(BUDGETS)}"
        raise ValueError(msg)
    return budget


def _iterations(method: str, variant: str, budget: str) -> int | None:
    effort = EFFORTS[check_budget(budget)]
    if not find_method(method).finetunes:
        return None
    if method == "caot-faithful" or variant == "without-pseudo-labels":
        return effort.faithful_iter
    return effort.usual_iter


def _among(value: str, named: Sequence[str] | None) -> bool:
    return not named or value in named
