"""Every method with settings that take a moment, and a corpus that all of them should sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caot.augment import WordDropout
from caot.baselines import METHODS, make_method
from caot.baselines.base import Baseline
from caot.metrics import clustering_accuracy
from tests.corpora import topic_texts
from tests.estimator_corpus import corpus, model_folder
from tests.fakes import HashEncoder

N_TOPICS = 3
CORPUS = topic_texts(20, N_TOPICS)
VIEWS = (CORPUS.first, CORPUS.second)
WORD_TEXTS, WORD_TOPICS = corpus(16)
_dropped = WordDropout()(WORD_TEXTS)
WORD_VIEWS = (_dropped.first, _dropped.second)

# Settings that make a method quick, where it has any.
QUICK: dict[str, dict[str, Any]] = {
    "tfidf": {"n_init": 2},
    "kmeans": {"n_init": 2},
    "spherical-kmeans": {"n_init": 2},
    "agglomerative": {},
    "tcllm": {"n_init": 2},
    "simcse": {},
    "esimcse": {},
    "sccl": {},
    "rstc": {"n_solves": 4, "max_iter": 40, "learning_rate": 5e-3},
    "scl": {},
    "scpcl": {},
    "fnscc": {"n_neighbors": 5},
    "cc": {"max_iter": 100, "learning_rate": 5e-3},
    "back-trans": {},
    "stcc": {"max_iter": 60, "n_word_features": 16, "learning_rate": 5e-3, "min_count": 1},
    "self-train": {
        "n_word_features": 16,
        "hidden": (32,),
        "n_features": 8,
        "pretrain_iter": 60,
        "max_iter": 20,
        "update_every": 10,
        "min_count": 1,
    },
}
LEARNING = {"finetune": "none", "augmenter": "word-dropout", "max_iter": 12, "n_init": 2}


def quick(name: str, n_clusters: int = N_TOPICS, **changes: Any) -> Baseline:
    """Return a quick estimator; it reads texts with a fake encoder, where it needs one."""
    model = make_method(name, n_clusters, **_settings(name))
    if "encoder" in model.get_params(deep=False):
        model.set_params(encoder=HashEncoder())
    return model.set_params(**changes)


def _settings(name: str) -> dict[str, Any]:
    known = METHODS[name].load()().get_params(deep=False)
    return {**{n: v for n, v in LEARNING.items() if n in known}, **QUICK[name]}


def saveable(name: str, **changes: Any) -> Baseline:
    """Return a quick estimator whose encoder can be saved and loaded: a tiny BERT."""
    model = quick(name, **changes)
    if "encoder" in model.get_params(deep=False):
        model.set_params(encoder=str(model_folder()))
    return model


def accuracy(model: Baseline, labels: NDArray[np.int64] = CORPUS.labels) -> float:
    """Return the share of texts in their right cluster."""
    return clustering_accuracy(labels, model.labels_)
