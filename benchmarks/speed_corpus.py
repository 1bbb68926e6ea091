"""What the speed benchmark works on: a data set with its published views, or a toy one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caot import CAOT
from caot.encoders import EmbeddingCache, load_encoder
from caot.fitting import FitPlan
from caot.inputs import read_inputs
from caot.settings import FitSettings

VIEWS = ("text1_10", "text2_10")

Vectors = NDArray[np.float32]

# Toy texts: each topic has words of its own, and all topics share some.
_WORDS = "sort list file code data text word cat dog tree sun rain sea road car house door key lock"
_SHARED = "the a of to in how what is why can not new old big red blue fast slow"


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Texts, two views of them, and their labels, which only score results."""

    name: str
    texts: list[str]
    first: list[str]
    second: list[str]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_clusters(self) -> int:
        """How many classes there are."""
        return len(np.unique(self.labels))

    @property
    def views(self) -> tuple[list[str], list[str]]:
        """Both views, as ``fit`` takes them."""
        return self.first, self.second

    def take(self, rows: NDArray[np.int64]) -> Corpus:
        """Return the given texts, in that order."""
        columns = (self.texts, self.first, self.second)
        texts, first, second = ([column[row] for row in rows] for column in columns)
        return Corpus(self.name, texts, first, second, self.labels[rows])

    def sample(self, n_texts: int | None, random_state: int = 0) -> Corpus:
        """Return that many texts, drawn at random, in the order of the file; None returns all."""
        if n_texts is None or n_texts >= len(self):
            return self
        rows = np.random.default_rng(random_state).permutation(len(self))[:n_texts]
        return self.take(np.sort(rows))

    def distinct(self) -> Corpus:
        """Return the texts that did not come before."""
        first = {text: row for row, text in reversed(list(enumerate(self.texts)))}
        return self.take(np.array(sorted(first.values())))


@dataclass(frozen=True, slots=True)
class Source:
    """Where corpora and the encoder come from.

    Parameters
    ----------
    encoder
        A name or folder, as ``CAOT(encoder=...)`` takes it.
    data_dir
        The folder that holds ``short-text/``; None makes toy corpora.
    n_toy
        How many texts a toy corpus has.
    """

    encoder: str = "auto"
    data_dir: Path | None = None
    n_toy: int = 400

    def corpus(self, name: str) -> Corpus:
        """Return a data set by its name."""
        if self.data_dir is None:
            return toy_corpus(name, self.n_toy)
        path = self.data_dir / "short-text" / f"{name}.csv.gz"
        columns = ["text", *VIEWS]
        table = pd.read_csv(path, keep_default_na=False, dtype=dict.fromkeys(columns, str))
        table = table[table["text"].str.strip() != ""]
        texts, first, second = (table[column].tolist() for column in columns)
        return Corpus(name, texts, first, second, table["label"].to_numpy(np.int64))

    def embed(self, *columns: Sequence[str]) -> list[Vectors]:
        """Encode each column of texts, through the cache."""
        encoder = load_encoder(self.encoder)
        return [EmbeddingCache().get(encoder, list(column)) for column in columns]


def toy_corpus(name: str, n_texts: int, n_topics: int = 4, random_state: int = 0) -> Corpus:
    """Make texts of 3 to 12 words; a view has one word replaced."""
    rng = np.random.default_rng(random_state)
    own = np.array_split(rng.permutation(_WORDS.split()), n_topics)
    shared = np.array(_SHARED.split())
    labels = rng.integers(n_topics, size=n_texts)
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    for label in labels:
        words = rng.choice(np.concatenate([own[label], shared[:6]]), rng.integers(3, 13))
        columns[0].append(" ".join(words))
        for view in columns[1:]:
            changed = words.copy()
            changed[rng.integers(len(words))] = rng.choice(shared)
            view.append(" ".join(changed))
    return Corpus(name, *columns, labels)


def plan_fit(source: Source, corpus: Corpus, **settings: Any) -> FitPlan:  # noqa: ANN401
    """Do all of a fit but the training itself, for the given settings of ``CAOT``."""
    model = CAOT(corpus.n_clusters, encoder=source.encoder, **settings)
    chosen = FitSettings.of(model.get_params(deep=False))
    inputs = read_inputs(corpus.texts, on_empty="error")
    return FitPlan.make(chosen, model.n_clusters, inputs, corpus.views)


@contextmanager
def tiny_encoder() -> Iterator[str]:
    """Make a random encoder in a folder that goes afterwards; for trying the benchmark only."""
    import tempfile  # noqa: PLC0415

    from tests.tiny_models import tiny_bert_folder  # noqa: PLC0415 - lies beside this package

    with tempfile.TemporaryDirectory() as folder:
        yield str(tiny_bert_folder(Path(folder)))
