"""How fast the transport solvers are, how often they stop early, and how cost grows.

``python -m benchmarks.transport`` prints tables and writes a record and a plot. Machines differ and
are shared, so every speed is a ratio to POT's ``sinkhorn_log`` in the same run: the contenders take
turns, and the median over the rounds counts.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import ot

from benchmarks.records import machine, write_record
from benchmarks.transport_problems import (
    Case,
    Floats,
    Problem,
    dense_problem,
    sparse_problem,
)
from benchmarks.transport_report import plot_cost, print_report
from caot.transport import CollapseWarning, ConsistentTransport, TransportResult, compiled

ROOT = Path(__file__).resolve().parents[1]

POT = "POT sinkhorn_log"
EXACT, NO_NUMBA = "alternating, 100 steps", "alternating, no numba"
EARLY, JOINT = "alternating", "joint"

Record = dict[str, Any]
Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Agenda:
    """What is measured, and how often."""

    speed: Mapping[Case, float | None]  # with the ratio to POT that is aimed at
    rounds: int
    stopping: Sequence[Case]
    n_batches: int
    memory: Sequence[Case]
    growth: Mapping[str, Sequence[Case]]
    dense_up_to: int


_SEVERE = Case(200, 89, 0.03, "geometric", margin=10)
_WIDE = Case(200, 152, 0.06, "geometric", margin=8)

FULL = Agenda(
    speed={Case(200, 4): None, Case(200, 20): 10.0, _SEVERE: None, _WIDE: 5.0},
    rounds=31,
    stopping=[
        Case(200, 4),
        Case(200, 20),
        Case(200, 20, 3.5, "geometric"),
        Case(200, 20, 0.06, "geometric"),
        replace(_SEVERE, margin=5),
        _SEVERE,
        _WIDE,
    ],
    n_batches=100,
    memory=[Case(n, 20) for n in (5_000, 10_000, 20_000, 40_000)],
    growth={
        "n_samples": [Case(n, 20) for n in (50, 100, 200, 500, 1000, 2000, 5000, 20_000)],
        "n_clusters": [Case(200, k) for k in (4, 8, 20, 50, 89, 152)],
    },
    dense_up_to=2000,
)
QUICK = Agenda(
    speed={Case(40, 4): None, Case(40, 6, 3.5, "geometric"): 1.0},
    rounds=3,
    stopping=[Case(40, 4)],
    n_batches=3,
    memory=[Case(n, 4) for n in (100, 200, 400)],
    growth={
        "n_samples": [Case(n, 4) for n in (20, 40, 80)],
        "n_clusters": [Case(40, k) for k in (2, 4)],
    },
    dense_up_to=40,
)


@contextmanager
def without_numba() -> Iterator[None]:
    """Let the alternating scheme use its array version."""
    available = compiled.AVAILABLE
    compiled.AVAILABLE = False
    try:
        yield
    finally:
        compiled.AVAILABLE = available


def solvers(case: Case) -> dict[str, ConsistentTransport]:
    """Return the schemes as users call them: default limits, stopping early."""
    joint = ConsistentTransport(uniformity=case.uniformity)
    return {EARLY: replace(joint, scheme="alternating"), JOINT: joint}


def contenders(case: Case, problem: Problem) -> dict[str, Call]:
    """Return everything that is timed on ``problem``, POT with the same number of steps."""
    early, joint = solvers(case)[EARLY], solvers(case)[JOINT]
    exact = replace(early, outer_tol=0.0, inner_tol=0.0)  # never still: 10 × 10 steps

    def uncompiled() -> TransportResult:
        with without_numba():
            return exact(problem.log_prob, problem.similarity)

    return {
        POT: lambda: pot(problem),
        EXACT: lambda: exact(problem.log_prob, problem.similarity),
        NO_NUMBA: uncompiled,
        EARLY: lambda: early(problem.log_prob, problem.similarity),
        JOINT: lambda: joint(problem.log_prob, problem.similarity),
    }


def pot(problem: Problem) -> object:
    """Run 100 steps of POT on the same cost, with uniform marginals."""
    n, k = problem.log_prob.shape
    row, column = np.full(n, 1 / n), np.full(k, 1 / k)
    cost = -problem.log_prob
    return ot.bregman.sinkhorn_log(row, column, cost, 1.0, numItermax=100, stopThr=0, warn=False)


def interleaved(calls: Mapping[str, Call], rounds: int) -> dict[str, Floats]:
    """Return the seconds of each call in each round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def measure_speed(case: Case, aim: float | None, rounds: int) -> Record:
    """Time every contender on one problem and compare their labels."""
    calls = contenders(case, dense_problem(case))
    seconds = interleaved(calls, rounds)
    results = {name: call() for name, call in calls.items()}
    exact = results[EXACT]
    rows: dict[str, Record] = {}
    for name, result in results.items():
        ratios = seconds[POT] / seconds[name]
        rows[name] = {
            "milliseconds": 1e3 * float(np.median(seconds[name])),
            "speedup": float(np.median(ratios)),
            "speedup_quartiles": np.quantile(ratios, [0.25, 0.75]).tolist(),
        }
        if isinstance(result, TransportResult) and isinstance(exact, TransportResult):
            rows[name] |= {
                "status": result.status.name,
                "n_outer": result.n_outer,
                "n_inner": result.n_inner,
                "agreement": float(np.mean(result.labels == exact.labels)),
            }
    met = None if aim is None else rows[EXACT]["speedup"] >= aim
    return {"case": asdict(case), "aim": aim, "aim_met": met, "contenders": rows}


def measure_stopping(case: Case, n_batches: int) -> Record:
    """Count steps over random batches, and by how much one inner step more moves the masses."""
    measured: dict[str, list[list[float]]] = {EARLY: [], JOINT: []}
    agreement = []
    for seed in range(n_batches):
        problem = dense_problem(case, seed)
        labels = []
        for name, solver in solvers(case).items():
            result = solver(problem.log_prob, problem.similarity)
            further = replace(solver, max_inner=solver.max_inner + 1)
            mass = further(problem.log_prob, problem.similarity).column_mass
            moved = float(np.max(np.abs(mass / result.column_mass - 1)))
            steps = [result.n_outer, result.n_inner]
            measured[name].append([result.converged, result.stopped_early, *steps, moved])
            labels.append(result.labels)
        agreement.append(float(np.mean(labels[0] == labels[1])))
    fields = ("converged", "stopped_early", "n_outer", "n_inner", "mass_change")
    schemes = {
        name: dict(zip(fields, np.mean(values, axis=0).tolist(), strict=True))
        for name, values in measured.items()
    }
    return {"case": asdict(case), "agreement": float(np.mean(agreement)), "schemes": schemes}


def measure_memory(cases: Sequence[Case]) -> Record:
    """Return seconds and peak allocation of whole-data solves, and bytes a sample by a line fit."""
    n_samples = [case.n_samples for case in cases]
    schemes: dict[str, Record] = {}
    for name, solver in solvers(cases[0]).items():
        seconds, peaks = [], []
        for case in cases:
            problem = sparse_problem(case)
            start = time.perf_counter()
            solver(problem.log_prob, problem.similarity)
            seconds.append(time.perf_counter() - start)
            tracemalloc.start()  # numpy reports its arrays; the input was there before
            solver(problem.log_prob, problem.similarity)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        slope, _ = np.polyfit(n_samples, peaks, 1)
        schemes[name] = {
            "seconds": seconds,
            "peak_bytes": peaks,
            "bytes_per_sample": float(slope),
            "r_squared": float(np.corrcoef(n_samples, peaks)[0, 1] ** 2),
        }
    return {"n_clusters": cases[0].n_clusters, "n_samples": n_samples, "schemes": schemes}


def measure_growth(cases: Sequence[Case], dense_up_to: int, rounds: int) -> Record:
    """Return the median milliseconds of both schemes and of POT, case by case."""
    rows = []
    for case in cases:
        problem = (dense_problem if case.n_samples <= dense_up_to else sparse_problem)(case)
        calls = contenders(case, problem)
        few = rounds if case.n_samples <= 500 else max(3, rounds // 6)
        seconds = interleaved({name: calls[name] for name in (POT, EARLY, JOINT)}, few)
        medians = {name: 1e3 * float(np.median(values)) for name, values in seconds.items()}
        rows.append(asdict(case) | {"milliseconds": medians})
    return {"dense_up_to": dense_up_to, "cases": rows}


def run(agenda: Agenda) -> Record:
    """Measure everything on the agenda."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)  # random batches may; it costs the same
        growth_rounds = max(3, agenda.rounds // 3)
        return {
            "machine": machine("numpy", "scipy", "numba", "pot", "caot"),
            "speed": [measure_speed(c, aim, agenda.rounds) for c, aim in agenda.speed.items()],
            "stopping": [measure_stopping(case, agenda.n_batches) for case in agenda.stopping],
            "memory": measure_memory(agenda.memory),
            "growth": {
                axis: measure_growth(cases, agenda.dense_up_to, growth_rounds)
                for axis, cases in agenda.growth.items()
            },
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Benchmark the transport solvers.")
    results, images = ROOT / "benchmarks" / "results", ROOT / "docs" / "images"
    parser.add_argument("--output", type=Path, default=results / "transport.json")
    parser.add_argument("--plot", type=Path, default=images / "transport-cost.png")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    options = parser.parse_args(arguments)
    record = run(QUICK if options.quick else FULL)
    print_report(record)
    write_record(options.output, record)
    plot_cost(record["growth"], options.plot)
    print(f"\nWrote {options.output} and {options.plot}")


if __name__ == "__main__":
    main()
