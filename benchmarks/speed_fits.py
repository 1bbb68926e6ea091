"""Whole fits on the same embeddings: ours, K-means and BERTopic, time and accuracy side by side.

The embeddings are made before any clock starts. Labels score the results and reach no fit.
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
OURS, OURS_VIEWS = "caot, embeddings alone", "caot, with views"

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
    """Texts and the embeddings of their three views."""

    corpus: Corpus
    vectors: tuple[Vectors, Vectors, Vectors]

    def sample(self, n_texts: int) -> Task:
        """Return that many texts; a larger sample holds the smaller ones."""
        rows = np.random.default_rng(0).permutation(len(self.corpus))[:n_texts]
        first, second, third = (part[rows] for part in self.vectors)
        return Task(self.corpus.take(rows), (first, second, third))


def measure(source: Source, agenda: FitsAgenda) -> Record:
    """Fit every contender on every size, seed by seed."""
    corpus = source.corpus(agenda.data)
    first, second, third = source.embed(corpus.texts, *corpus.views)
    whole = Task(corpus, (first, second, third))
    contenders = _contenders(agenda.max_iter)
    if BERTOPIC in contenders:
        fit_bertopic(whole.sample(agenda.warm_up), 0)  # what it compiles once should not count
    sizes = [size for size in agenda.sizes if size <= len(corpus)]
    return {
        "what": "a fit on given embeddings; seconds are medians and scores means over the seeds; "
        "the true number of clusters is given to all but BERTopic, which finds its own",
        "data": agenda.data,
        "n_clusters": corpus.n_clusters,
        "max_iter": agenda.max_iter,
        "seeds": list(agenda.seeds),
        "missing": [] if BERTOPIC in contenders else [f"{BERTOPIC}: pip install bertopic"],
        "sizes": [
            {
                "n_texts": size,
                "contenders": _measure_size(whole.sample(size), contenders, agenda.seeds),
            }
            for size in sizes
        ],
    }


def _contenders(max_iter: int) -> dict[str, Callable[[Task, int], Fitted]]:
    found: dict[str, Callable[[Task, int], Fitted]] = {
        KMEANS: fit_kmeans,
        OURS: lambda task, seed: fit_ours(task, seed, max_iter, with_views=False),
        OURS_VIEWS: lambda task, seed: fit_ours(task, seed, max_iter, with_views=True),
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
    found = kmeans(task.vectors[0], task.corpus.n_clusters, n_init=10, random_state=seed)
    return Fitted(found.labels, {})


def fit_ours(task: Task, seed: int, max_iter: int, *, with_views: bool) -> Fitted:
    """Fit on embeddings; without views, noise makes them."""
    original, *views = task.vectors
    model = CAOT(task.corpus.n_clusters, max_iter=max_iter, random_state=seed)
    model.fit(original, views=(views[0], views[1]) if with_views else None)
    about = {"n_iter": model.n_iter_, "end_reason": model.end_reason_.name.lower()}
    return Fitted(model.labels_, about)


def fit_bertopic(task: Task, seed: int) -> Fitted:
    """Run BERTopic with its defaults; it takes no seed, and differs from run to run."""
    del seed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies
        model = importlib.import_module("bertopic").BERTopic()
        topics, _ = model.fit_transform(task.corpus.texts, task.vectors[0])
    return Fitted(np.asarray(topics, dtype=np.int64), {})
