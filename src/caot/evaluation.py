"""How good a clustering is: against true labels where there are any, by itself where not."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import silhouette_score

from caot.confusion import confusion_svg
from caot.metrics import ClusteringScores, adjusted_rand, contingency, score


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterMatch:
    """A cluster beside the class that the best one-to-one map gives it.

    Attributes
    ----------
    cluster
        The cluster's label.
    size
        The number of its texts.
    matched
        The class; None where no class is left for the cluster, or they share no text.
    precision
        The share of the cluster's texts that are of the class; 0 without one.
    recall
        The share of the class's texts that are in the cluster; 0 without one.
    """

    cluster: int | str
    size: int
    matched: int | str | None
    precision: float
    recall: float


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LabelledEvaluation:
    """A clustering against true labels.

    Attributes
    ----------
    scores
        Accuracy (Eq. 29), NMI (Eq. 30), ARI and purity.
    clusters
        One row a cluster, in order of their labels.
    classes
        The true labels, sorted.
    confusion
        Texts of each class (row) in each cluster (column), int64; read-only.
    """

    scores: ClusteringScores
    clusters: tuple[ClusterMatch, ...]
    classes: tuple[int | str, ...]
    confusion: NDArray[np.int64]

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {
            "scores": self.scores.as_dict(),
            "clusters": [dataclasses.asdict(row) for row in self.clusters],
            "classes": list(self.classes),
            "confusion": self.confusion.tolist(),
        }

    def cluster_frame(self) -> pd.DataFrame:
        """Return one row a cluster: size, matched class, precision and recall."""
        frame = pd.DataFrame([dataclasses.asdict(row) for row in self.clusters])
        # pandas would make NaN of None, and floats of whole numbers beside it.
        frame["matched"] = pd.Series([row.matched for row in self.clusters], dtype=object)
        return frame

    def confusion_frame(self) -> pd.DataFrame:
        """Return the counts, a row for each class and a column for each cluster."""
        return pd.DataFrame(
            self.confusion,
            index=pd.Index(self.classes, name="class"),
            columns=pd.Index([row.cluster for row in self.clusters], name="cluster"),
        )

    def svg(self) -> str:
        """Return the confusion matrix as a picture, clusters in the order of their classes."""
        position = {name: i for i, name in enumerate(self.classes)}
        # Clusters without a class come last.
        matched = [row.matched for row in self.clusters]
        places = [len(position) if name is None else position[name] for name in matched]
        order = np.argsort(places, kind="stable")
        return confusion_svg(
            self.confusion[:, order],
            [str(name) for name in self.classes],
            [str(self.clusters[i].cluster) for i in order],
        )


def evaluate_with_labels(labels_true: ArrayLike, labels_pred: ArrayLike) -> LabelledEvaluation:
    """Compare clusters with true labels, both (n,); the names of neither matter."""
    counts = contingency(labels_true, labels_pred)
    classes = tuple(np.unique(np.asarray(labels_true)).tolist())
    names = np.unique(np.asarray(labels_pred)).tolist()
    class_of = dict(zip(*reversed(linear_sum_assignment(counts, maximize=True)), strict=True))
    counts.setflags(write=False)
    return LabelledEvaluation(
        scores=score(labels_true, labels_pred),
        clusters=tuple(
            _match(counts, column, class_of.get(column), name, classes)
            for column, name in enumerate(names)
        ),
        classes=classes,
        confusion=counts,
    )


def _match(
    counts: NDArray[np.int64],
    column: int,
    row: int | None,
    name: int | str,
    classes: tuple[int | str, ...],
) -> ClusterMatch:
    size = int(counts[:, column].sum())
    if row is None or not counts[row, column]:
        return ClusterMatch(name, size, None, 0.0, 0.0)
    shared = int(counts[row, column])
    return ClusterMatch(name, size, classes[row], shared / size, shared / int(counts[row].sum()))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Agreement between clusterings of the same texts, such as those of several seeds.

    Attributes
    ----------
    mean, lowest
        Of the adjusted Rand index over all pairs; 1 where all are the same, 0 by chance.
    pairs
        The index of each pair, (m, m), with 1 on the diagonal; read-only.
    """

    mean: float
    lowest: float
    pairs: NDArray[np.float64]

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {"mean": self.mean, "lowest": self.lowest, "pairs": self.pairs.tolist()}

    def frame(self) -> pd.DataFrame:
        """Return the index of each pair of clusterings."""
        return pd.DataFrame(self.pairs)


def stability(labelings: Sequence[ArrayLike]) -> Stability:
    """Return how far several labelings, each (n,), agree; the names of clusters do not matter."""
    if len(labelings) < 2:
        raise ValueError(f"There are {len(labelings)} labelings: give at least two to compare.")
    pairs = np.eye(len(labelings))
    indices = list(itertools.combinations(range(len(labelings)), 2))
    for i, j in indices:
        pairs[i, j] = pairs[j, i] = adjusted_rand(labelings[i], labelings[j])
    pairs.setflags(write=False)
    values = [pairs[pair] for pair in indices]
    return Stability(float(np.mean(values)), float(np.min(values)), pairs)


@dataclasses.dataclass(frozen=True, slots=True)
class UnlabelledEvaluation:
    """What can be said of a clustering without true labels; None where it was not asked for.

    Attributes
    ----------
    n_clusters_used
        Clusters that hold texts.
    largest_share, smallest_share
        Of the texts, in the largest and the smallest of these clusters.
    silhouette
        Mean over (a sample of) the texts, with cosine distances; −1 to 1.
    stability
        Agreement with other seeds.
    mean_confidence
        Mean probability of the chosen cluster.
    """

    n_clusters_used: int
    largest_share: float
    smallest_share: float
    silhouette: float | None
    stability: Stability | None
    mean_confidence: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        agreement = None if self.stability is None else self.stability.as_dict()
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "stability": agreement}

    def frame(self) -> pd.DataFrame:
        """Return the measures as one row each, stability by its mean."""
        values = self.as_dict()
        values["stability"] = None if self.stability is None else self.stability.mean
        return pd.DataFrame({"measure": list(values), "value": list(values.values())})


def evaluate_without_labels(
    labels: ArrayLike,
    *,
    embeddings: ArrayLike | None = None,
    confidence: ArrayLike | None = None,
    labelings: Sequence[ArrayLike] | None = None,
    max_samples: int = 5000,
    random_state: int = 0,
) -> UnlabelledEvaluation:
    """Measure a clustering by itself.

    Parameters
    ----------
    labels : array of shape (n,)
        The clusters.
    embeddings : array of shape (n, d), optional
        For the silhouette, on at most ``max_samples`` rows drawn with ``random_state``.
    confidence : array of shape (n,), optional
        Probability of each text's cluster.
    labelings : sequence of arrays of shape (n,), optional
        Labels of the same texts by other seeds, compared with ``labels`` and one another.
    """
    chosen = np.asarray(labels)
    sizes = contingency(chosen, chosen).sum(axis=0)  # checks the labels too
    return UnlabelledEvaluation(
        n_clusters_used=len(sizes),
        largest_share=float(sizes.max() / sizes.sum()),
        smallest_share=float(sizes.min() / sizes.sum()),
        silhouette=None
        if embeddings is None
        else silhouette(embeddings, chosen, max_samples=max_samples, random_state=random_state),
        stability=None if labelings is None else stability([chosen, *labelings]),
        mean_confidence=None if confidence is None else _mean_confidence(confidence, len(chosen)),
    )


def silhouette(
    embeddings: ArrayLike, labels: ArrayLike, *, max_samples: int = 5000, random_state: int = 0
) -> float:
    """Return the mean silhouette of a random sample, with cosine distances.

    NaN where the sample falls into a single cluster, or into one cluster a text.
    """
    rows, chosen = np.asarray(embeddings), np.asarray(labels)
    if rows.ndim != 2 or chosen.shape != rows.shape[:1]:
        raise ValueError(
            f"embeddings has shape {rows.shape} and labels {chosen.shape}: "
            "give a row, (n, d), and a label, (n,), for each text."
        )
    if not np.isfinite(rows).all():
        raise ValueError("embeddings hold NaN or infinite values: encode these texts again.")
    sample = np.random.default_rng(random_state).permutation(len(rows))[:max_samples]
    if not 2 <= len(np.unique(chosen[sample])) < len(sample):
        return float("nan")
    return float(silhouette_score(rows[sample], chosen[sample], metric="cosine"))


def _mean_confidence(confidence: ArrayLike, n_texts: int) -> float:
    values = np.asarray(confidence, dtype=np.float64)
    if values.shape != (n_texts,) or not ((values >= 0) & (values <= 1 + 1e-6)).all():
        raise ValueError(
            f"confidence has shape {values.shape} for {n_texts} texts, or values outside 0 to 1: "
            "give the probability of each text's cluster."
        )
    return float(values.mean())
