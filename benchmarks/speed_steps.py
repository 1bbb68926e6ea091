"""A training step of public code's pattern against ours, and what share of it the transport takes.

All contenders begin with the same networks, see the same batches and take turns; a speed is the
median over the rounds of its ratio to public code's step of the same round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed_corpus import Corpus, Source, plan_fit
from benchmarks.speed_public import PaddedEncoder, PublicTrainer
from benchmarks.transport import interleaved
from caot import Variant
from caot.encoders import (
    Features,
    LayeredEncoder,
    Tokens,
    TransformerEncoder,
    keep_lower,
    load_encoder,
)
from caot.fitting import FitPlan
from caot.threads import compute_threads
from caot.training import Networks, Schedule, Stage, Trainer
from caot.transport import ConsistentTransport, Queued, Transport, TransportResult
from caot.transport.arrays import Array

PUBLIC = "public code's pattern"
ALL, TOP, FROZEN = "caot, all layers", "caot, top two layers", "caot, frozen encoder"

Record = dict[str, Any]

# How many times faster than public code's step: what is asked for, and what is aimed at.
REQUIRED, AIMED = {ALL: 3.5, TOP: 10.0}, {ALL: 5.0, TOP: 15.0}
# The largest share of a step that the transport may take.
TRANSPORT_SHARE = {ALL: 0.03, TOP: 0.03, FROZEN: 0.30}


@dataclass(frozen=True, slots=True)
class StepsAgenda:
    """Which data, how many rounds, and how long the networks learn before any step is timed."""

    datasets: Sequence[str] = ("stackoverflow", "tweet")
    n_texts: int | None = None
    rounds: int = 4
    settle_iter: int = 200
    n_lower: int = 500
    batch_size: int = 200


class TimedTransport:
    """A solver that knows how long it took."""

    def __init__(self, solver: Transport) -> None:
        self.solver = solver
        self.uses_similarity = solver.uses_similarity
        self.seconds: list[float] = []

    def __call__(
        self,
        log_prob: Array,
        similarity: Array | None = None,
        init: TransportResult | None = None,
    ) -> TransportResult:
        """Solve, and note the seconds."""
        start = time.perf_counter()
        result = self.solver(log_prob, similarity, init)
        self.seconds.append(time.perf_counter() - start)
        return result

    def queue(self, log_prob: Array, similarity: Array | None = None) -> Queued:
        """Solve, and note the seconds; a processor solves at once."""
        start = time.perf_counter()
        queued = self.solver.queue(log_prob, similarity)
        self.seconds.append(time.perf_counter() - start)
        return queued

    def as_transport(self) -> Transport:
        """Return itself under the type of the solvers, which it stands for."""
        return cast("Transport", self)


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """Something that takes training steps, and the transport inside it."""

    step: Callable[[], None]
    transport: TimedTransport


def measure(source: Source, agenda: StepsAgenda) -> Record:
    """Time the contenders on every data set."""
    with compute_threads() as n_threads:
        rows = [_measure_data(source, agenda, name) for name in agenda.datasets]
    return {
        "what": "one training step of the interactive stage; milliseconds and ratios are medians "
        "over rounds in which the contenders take turns",
        "batch_size": agenda.batch_size,
        "rounds": agenda.rounds,
        "n_threads": n_threads,
        "required": REQUIRED,
        "aimed": AIMED,
        "transport_share_limit": TRANSPORT_SHARE,
        "data": rows,
    }


def _measure_data(source: Source, agenda: StepsAgenda, name: str) -> Record:
    corpus = source.corpus(name).sample(agenda.n_texts)
    plans = {
        contender: plan_fit(
            source,
            corpus,
            finetune=layers,
            batch_size=agenda.batch_size,
            # Words would make our networks wider than those of public code.
            variant=Variant(kmeans_restarts=1, word_weight=0.0),
        )
        for contender, layers in ((ALL, "all"), (TOP, 2), (FROZEN, "none"))
    }
    networks = settled_networks(plans[FROZEN], agenda.settle_iter)
    contenders = {
        PUBLIC: public_contender(source, corpus, plans[ALL], networks),
        **{contender: our_contender(plan, networks) for contender, plan in plans.items()},
    }
    seconds = interleaved({name: c.step for name, c in contenders.items()}, agenda.rounds)
    tokens = load_encoder(source.encoder).prepare(corpus.texts)
    assert isinstance(tokens, Tokens)
    return {
        "data": name,
        "n_texts": len(corpus),
        "n_clusters": corpus.n_clusters,
        "mean_tokens": float(tokens.lengths.mean()),
        "contenders": {
            contender: _row(contender, seconds, contenders[contender].transport)
            for contender in contenders
        },
        "lower_layers_once": _lower_cost(plans[TOP], tokens, agenda, seconds),
    }


def _row(name: str, seconds: dict[str, NDArray[np.float64]], transport: TimedTransport) -> Record:
    ratios = seconds[PUBLIC] / seconds[name]
    # The first step did not count.
    shares = np.array(transport.seconds[-len(ratios) :]) / seconds[name]
    speedup, share = float(np.median(ratios)), float(np.median(shares))
    limit = TRANSPORT_SHARE.get(name)
    return {
        "milliseconds": 1e3 * float(np.median(seconds[name])),
        "speedup": speedup,
        "speedup_quartiles": np.quantile(ratios, [0.25, 0.75]).tolist(),
        "required_met": speedup >= REQUIRED[name] if name in REQUIRED else None,
        "aim_met": speedup >= AIMED[name] if name in AIMED else None,
        "transport_share": share,
        "transport_share_met": None if limit is None else share < limit,
    }


def _lower_cost(
    plan: FitPlan, tokens: Tokens, agenda: StepsAgenda, seconds: dict[str, NDArray[np.float64]]
) -> Record:
    """Return what the frozen layers cost once, and a step's speed with its part of that."""
    encoder = plan.prepared.encoder
    assert isinstance(encoder, LayeredEncoder)
    few = tokens.take(np.random.default_rng(0).permutation(len(tokens))[: agenda.n_lower])
    keep_lower(encoder, few.take(range(min(len(few), 32))), memory=np.inf)
    start = time.perf_counter()
    keep_lower(encoder, few, memory=np.inf)
    each = (time.perf_counter() - start) / len(few)
    n_iter = plan.config.schedule.max_iter
    step = float(np.median(seconds[TOP]))
    whole = step + 3 * each * len(tokens) / n_iter
    return {
        "milliseconds_per_text": 1e3 * each,
        "n_iter": n_iter,
        "speedup_with_its_part": float(np.median(seconds[PUBLIC])) / whole,
    }


def settled_networks(plan: FitPlan, n_iter: int) -> Networks:
    """Train the networks on frozen embeddings: steps are timed as they are in mid-training.

    The transport takes longer for predictions that mean something than for random ones.
    """
    schedule = plan.config.schedule
    few = Schedule(n_iter, 0, min(schedule.head_iter, n_iter), schedule.batch_size)
    trainer = Trainer(
        Features(plan.prepared.encoder.width),
        plan.data,
        replace(plan.config, schedule=few),
        beginning=plan.reading.beginning,
    )
    trainer.run()
    return trainer.networks


def our_contender(plan: FitPlan, networks: Networks) -> Contender:
    """Return the trainer's own iterations, one at a time, without the loop around them."""
    timed = TimedTransport(plan.config.transport)
    trainer = Trainer(
        plan.prepared.training_encoder,
        plan.data,
        replace(plan.config, transport=timed.as_transport()),
        plan.prepared.parameters,
        beginning=plan.reading.beginning,
    )
    trainer.networks.load_state_dict(networks.state_dict())
    trainer.iteration = plan.config.schedule.bounds(Stage.INTERACTIVE)[0]

    def step() -> None:
        if not trainer._iterate(Stage.INTERACTIVE):
            msg = "a loss was not finite: the time of this step means nothing"
            raise RuntimeError(msg)
        trainer.iteration += 1

    return Contender(step, timed)


def public_contender(
    source: Source, corpus: Corpus, plan: FitPlan, networks: Networks
) -> Contender:
    """Return public code's pattern with the networks and settings of ours."""
    settings = plan.config.transport
    assert isinstance(settings, ConsistentTransport)
    # As printed: all ten times ten steps are taken.
    printed = replace(settings, scheme="alternating", outer_tol=0.0, inner_tol=0.0)
    timed = TimedTransport(printed)
    own = Networks(plan.prepared.encoder.width, plan.config)
    own.load_state_dict(networks.state_dict())
    encoder = load_encoder(source.encoder)
    assert isinstance(encoder, TransformerEncoder)
    trainer = PublicTrainer(
        corpus, PaddedEncoder.of(encoder), own, plan.config, timed.as_transport()
    )
    return Contender(trainer.step, timed)
