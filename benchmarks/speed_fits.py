"""Whole fits on the same embeddings: ours, K-means and BERTopic, time and accuracy side by side.

The embeddings are made before any clock starts; BERTopic and ours are given the texts too. Labels
score the results and reach no fit.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed_corpus import Corpus, Source, Vectors
from caot import CAOT
from caot.kmeans import kmeans
from caot.metrics import score

KMEANS, BERTOPIC = "K-means", "BERTopic"
OURS, OURS_VECTORS = "caot", "caot, embeddings alone"

Record = dict[str, Any]
Labels = NDArray[np.int64]


class Fitted(NamedTuple):
    """Labels (n,), −1 for a text that got none, and whatever else is worth a record."""

    labels: Labels
    about: Record


@dataclass(frozen=True, slots=True)
class FitsAgenda:
    """Which sizes, and with how many seeds each."""

    data: str = "stackoverflow"
    sizes: Sequence[int] = (2_000, 5_000, 10_000, 20_000)
    seeds: Sequence[int] = (0,)
    max_iter: int = 1000
    warm_up: int = 1000  # texts that BERTopic compiles its code on


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Texts, and their embeddings by an encoder."""

    corpus: Corpus
    vectors: Vectors
    encoder: str

    def sample(self, n_texts: int) -> Task:
        """Return that many texts; a larger sample holds the smaller ones."""
        rows = np.random.default_rng(0).permutation(len(self.corpus))[:n_texts]
        return Task(self.corpus.take(rows), self.vectors[rows], self.encoder)


def measure(source: Source, agenda: FitsAgenda) -> Record:
    """Fit every contender on every size, seed by seed."""
    corpus = source.corpus(agenda.data)
    whole = Task(corpus, source.embed(corpus.texts)[0], source.encoder)
    contenders = _contenders(agenda.max_iter)
    if BERTOPIC in contenders:
        fit_bertopic(whole.sample(agenda.warm_up), 0)  # what it compiles once should not count
    tasks = [whole.sample(size) for size in agenda.sizes if size <= len(corpus)]
    for task in tasks:
        source.embed(task.corpus.texts)  # known to the cache, where ours finds them
    return {
        "what": "a fit on known embeddings; seconds are medians and scores means over the seeds; "
        "the true number of clusters is given to all but BERTopic, which finds its own",
        "data": agenda.data,
        "n_clusters": corpus.n_clusters,
        "max_iter": agenda.max_iter,
        "seeds": list(agenda.seeds),
        "missing": [] if BERTOPIC in contenders else [f"{BERTOPIC}: pip install bertopic"],
        "sizes": [
            {
                "n_texts": len(task.corpus),
                "contenders": _measure_size(task, contenders, agenda.seeds),
            }
            for task in tasks
        ],
    }


def _contenders(max_iter: int) -> dict[str, Callable[[Task, int], Fitted]]:
    found: dict[str, Callable[[Task, int], Fitted]] = {
        KMEANS: fit_kmeans,
        OURS_VECTORS: lambda task, seed: fit_ours(task, seed, max_iter, with_texts=False),
        OURS: lambda task, seed: fit_ours(task, seed, max_iter, with_texts=True),
    }
    if importlib.util.find_spec("bertopic") is not None:
        found[BERTOPIC] = fit_bertopic
    return found


def _measure_size(
    task: Task, contenders: dict[str, Callable[[Task, int], Fitted]], seeds: Sequence[int]
) -> Record:
    runs: dict[str, list[Record]] = {name: [] for name in contenders}
    for seed in seeds:
        for name, fit in contenders.items():
            start = time.perf_counter()
            fitted = fit(task, seed)
            seconds = time.perf_counter() - start
            runs[name].append({"seed": seed, "seconds": seconds, **_scores(task, fitted)})
    return {name: _summary(rows) for name, rows in runs.items()}


def _scores(task: Task, fitted: Fitted) -> Record:
    found = score(task.corpus.labels, fitted.labels)
    return {
        "accuracy": found.accuracy,
        "nmi": found.nmi_geometric,
        "n_found": len(np.unique(fitted.labels[fitted.labels >= 0])),
        "without_cluster": float(np.mean(fitted.labels < 0)),
        **fitted.about,
    }


def _summary(runs: Sequence[Record]) -> Record:
    means = ("accuracy", "nmi", "n_found", "without_cluster")
    return {
        "seconds": float(np.median([run["seconds"] for run in runs])),
        **{name: float(np.mean([run[name] for run in runs])) for name in means},
        "runs": list(runs),
    }


def fit_kmeans(task: Task, seed: int) -> Fitted:
    """Run K-means with ten starts, as our own fit does first."""
    found = kmeans(task.vectors, task.corpus.n_clusters, n_init=10, random_state=seed)
    return Fitted(found.labels, {})


def fit_ours(task: Task, seed: int, max_iter: int, *, with_texts: bool) -> Fitted:
    """Fit on texts, whose embeddings the cache knows, or on these alone; noise makes the views."""
    settings: Record = {"encoder": task.encoder, "finetune": "none"} if with_texts else {}
    model = CAOT(task.corpus.n_clusters, max_iter=max_iter, random_state=seed, **settings)
    model.fit(task.corpus.texts if with_texts else task.vectors)
    about = {"n_iter": model.n_iter_, "end_reason": model.end_reason_.name.lower()}
    return Fitted(model.labels_, about)


def fit_bertopic(task: Task, seed: int) -> Fitted:
    """Run BERTopic with its defaults; it takes no seed, and differs from run to run."""
    del seed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies
        model = importlib.import_module("bertopic").BERTopic()
        topics, _ = model.fit_transform(task.corpus.texts, task.vectors)
    return Fitted(np.asarray(topics, dtype=np.int64), {})
