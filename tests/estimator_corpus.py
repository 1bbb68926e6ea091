"""A small corpus, a tiny model folder and quick settings for tests of the estimator."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from caot import CAOT, Variant
from tests.fakes import HashEncoder
from tests.tiny_models import WORDS, tiny_folder

N_TOPICS = 3
N_LAYERS = 2
_WORDS_OF_A_TOPIC = 8

# Kept alive for the session; removed when Python ends.
_folder = tempfile.TemporaryDirectory(prefix="caot-tests-")


@cache
def model_folder(seed: int = 0) -> Path:
    """Return the folder of a BERT with two layers that normalises its vectors."""
    place = Path(_folder.name) / f"seed-{seed}"
    folder = tiny_folder(place, "bert", normalise=True, n_layers=N_LAYERS, seed=seed)
    _let_words_count(folder / "model.safetensors")
    return folder


def _let_words_count(weights: Path) -> None:
    """Weaken positions and layers: in a random model they drown the words that make a topic."""
    tensors = load_file(weights)
    for name, tensor in tensors.items():
        if "position_embeddings" in name or name.endswith("output.dense.weight"):
            tensors[name] = 0.1 * tensor
    save_file(tensors, weights, metadata={"format": "pt"})


def corpus(
    n_per_topic: int = 12, n_topics: int = N_TOPICS, seed: int = 0
) -> tuple[list[str], NDArray[np.int64]]:
    """Return distinct texts of five words, each from the words of its topic, and the topics."""
    rng = np.random.default_rng(seed)
    texts: list[str] = []
    for topic in range(n_topics):
        words = WORDS[topic * _WORDS_OF_A_TOPIC : (topic + 1) * _WORDS_OF_A_TOPIC]
        found: dict[str, None] = {}
        while len(found) < n_per_topic:
            found[" ".join(rng.choice(words, size=5, replace=False))] = None
        texts += found
    return texts, np.repeat(np.arange(n_topics), n_per_topic)


def vectors(n_per_topic: int = 12, n_topics: int = N_TOPICS, seed: int = 0) -> NDArray[np.float32]:
    """Return well separated groups of vectors of width 8."""
    rng = np.random.default_rng(seed)
    centers = 4 * np.eye(n_topics, 8)
    noise = 0.3 * rng.standard_normal((n_topics, n_per_topic, 8))
    return (centers[:, None] + noise).reshape(-1, 8).astype(np.float32)


def quick(n_clusters: int = N_TOPICS, **changes: Any) -> CAOT:
    """Return an estimator that finds the topics in well under a second."""
    settings: dict[str, Any] = {
        "encoder": HashEncoder(),
        "finetune": "none",
        "augmenter": "word-dropout",
        "max_iter": 10,
        "batch_size": 24,
        "learning_rate": 5e-3,
        "variant": Variant(head_iter=30, kmeans_restarts=2),
        **changes,
    }
    return CAOT(n_clusters, **settings)


def quick_vectors(n_clusters: int = N_TOPICS, **changes: Any) -> CAOT:
    """Return an estimator for vectors."""
    return quick(n_clusters, **{"encoder": "auto", "augmenter": "auto", **changes})


def quick_text(n_clusters: int = N_TOPICS, **changes: Any) -> CAOT:
    """Return an estimator with the tiny BERT, by default with its top layer trained."""
    settings: dict[str, Any] = {
        "encoder": str(model_folder()),
        "finetune": 1,
        "imbalance": "balanced",
        "learning_rate": 2e-2,
        "variant": Variant(head_iter=60, kmeans_restarts=2),
        **changes,
    }
    return quick(n_clusters, **settings)


def same(first: CAOT, second: CAOT) -> bool:
    """Tell whether two fits ended in the same labels, centres and networks, bit for bit."""
    if not np.array_equal(first.labels_, second.labels_):
        return False
    if not np.array_equal(first.cluster_centers_, second.cluster_centers_):
        return False
    one, other = first.networks_.state_dict(), second.networks_.state_dict()
    return all(np.array_equal(one[name].numpy(), other[name].numpy()) for name in one)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder by its path from there."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
