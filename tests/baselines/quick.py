"""Every method with settings that take a moment, and a corpus that all of them should sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caot.baselines import make_method
from caot.baselines.base import Baseline
from caot.metrics import clustering_accuracy
from tests.corpora import topic_texts
from tests.estimator_corpus import corpus, model_folder
from tests.fakes import HashEncoder

N_TOPICS = 3
CORPUS = topic_texts(20, N_TOPICS)
VIEWS = (CORPUS.first, CORPUS.second)
WORD_TEXTS, WORD_TOPICS = corpus(16)

# Settings that make a method quick, where it has any.
QUICK: dict[str, dict[str, Any]] = {
    "tfidf": {"n_init": 2},
    "kmeans": {"n_init": 2},
    "spherical-kmeans": {"n_init": 2},
    "agglomerative": {},
}


def quick(name: str, n_clusters: int = N_TOPICS, **changes: Any) -> Baseline:
    """Return a quick estimator; it reads texts with a fake encoder, where it needs one."""
    model = make_method(name, n_clusters, **{**QUICK.get(name, {})})
    if "encoder" in model.get_params(deep=False):
        model.set_params(encoder=HashEncoder())
    return model.set_params(**changes)


def saveable(name: str, **changes: Any) -> Baseline:
    """Return a quick estimator whose encoder can be saved and loaded: a tiny BERT."""
    model = quick(name, **changes)
    if "encoder" in model.get_params(deep=False):
        model.set_params(encoder=str(model_folder()))
    return model


def accuracy(model: Baseline, labels: NDArray[np.int64] = CORPUS.labels) -> float:
    """Return the share of texts in their right cluster."""
    return clustering_accuracy(labels, model.labels_)
