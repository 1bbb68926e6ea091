"""Make the pictures and figures of docs/gallery.md: ``python docs/make_gallery.py``.

Two toys, each solved four ways: scores in benchmarks/results/gallery.json, pictures in docs/images.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.neighbors import kneighbors_graph

from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    ConsistentTransport,
    Prediction,
    Transport,
    TransportResult,
)

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
N_DRAWS = 20  # of each toy, for mean accuracies
N_NEIGHBOURS = 15
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])  # distinct to colour-blind readers
MARKERS = ("o", "^", "s")


def four_ways(uniformity: float) -> dict[str, Transport]:
    """Return the greedy way and the three transport problems, by name."""
    return {
        "prediction": Prediction(),
        "balanced": BalancedTransport(),
        "adaptive": AdaptiveTransport(uniformity=uniformity),
        "consistent": ConsistentTransport(uniformity=uniformity),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Toy:
    """Points (n, 2) of known classes, predictions from prototypes (k, 2), and who is near whom."""

    title: str
    uniformity: float
    truth: NDArray[np.int64]
    points: Floats
    prototypes: Floats
    log_prob: Floats

    def solve(self) -> dict[str, TransportResult]:
        """Solve it four ways, by name."""
        ways = four_ways(self.uniformity)
        return {name: call(self.log_prob, self.similarity) for name, call in ways.items()}

    def accuracy(self, result: TransportResult) -> float:
        """Return the share of samples whose pseudo-label is their class."""
        return float(np.mean(result.labels == self.truth))

    @property
    def similarity(self) -> Floats:
        """1 for the nearest neighbours of each point and 0 for others, (n, n)."""
        return np.asarray(kneighbors_graph(self.points, N_NEIGHBOURS).toarray())

    @property
    def class_share(self) -> Floats:
        """The true share of each class, (k,)."""
        return np.bincount(self.truth) / len(self.truth)


def imbalance(random_state: int = 0) -> Toy:
    """Return blobs of 120, 50 and 15 points; the prototypes of the smaller two are too far out."""
    rng = np.random.default_rng(random_state)
    centres = np.array([[0.0, 0.0], [2.9, -0.2], [1.1, 2.4]])
    truth = np.repeat(np.arange(3), (120, 50, 15))
    spread = np.array([0.85, 0.6, 0.4])[truth, None]
    points = centres[truth] + spread * rng.standard_normal((len(truth), 2))
    prototypes = centres * np.array([[1.0], [1.5], [2.0]])
    log_prob = _predict(points, prototypes, 0.5, 1.0, rng)
    return Toy("unequal clusters", 0.2, truth, points, prototypes, log_prob)


def neighbours(random_state: int = 0) -> Toy:
    """Return two bands of 90 points each; tilted prototypes leave many points undecided."""
    rng = np.random.default_rng(random_state)
    truth = np.repeat(np.arange(2), 90)
    along = rng.uniform(-2.6, 2.6, len(truth))
    across = 0.75 - 1.5 * truth + 0.25 * np.sin(1.2 * along)
    points = np.stack([along, across + 0.22 * rng.standard_normal(len(truth))], axis=1)
    prototypes = np.array([[-0.36, 1.2], [0.36, -1.2]])
    log_prob = _predict(points, prototypes, 0.7, 1.5, rng)
    return Toy("ambiguous neighbours", 100.0, truth, points, prototypes, log_prob)


def _predict(
    points: Floats, prototypes: Floats, scale: float, noise: float, rng: np.random.Generator
) -> Floats:
    """Return log-probabilities (n, k) that fall with the squared distance, and noise."""
    squared = ((points[:, None] - prototypes) ** 2).sum(axis=-1)
    logits = noise * rng.standard_normal(squared.shape) - scale * squared
    return np.asarray(log_softmax(logits, axis=1))


def scores(make: Callable[[int], Toy]) -> dict[str, Any]:
    """Return what each way does to the toy that is drawn, and its mean accuracy over many draws."""
    toy = make(0)
    means = mean_accuracy(make, four_ways(toy.uniformity))
    rows = {
        name: {
            "accuracy": toy.accuracy(result),
            "column_mass": result.column_mass.tolist(),
            "mean_accuracy": means[name],
        }
        for name, result in toy.solve().items()
    }
    return {"uniformity": toy.uniformity, "class_share": list(toy.class_share), "solvers": rows}


def mean_accuracy(make: Callable[[int], Toy], solvers: Mapping[str, Transport]) -> dict[str, float]:
    """Return the accuracy of each solver, averaged over many draws of a toy."""
    draws = [make(seed) for seed in range(N_DRAWS)]
    return {
        name: float(np.mean([toy.accuracy(call(toy.log_prob, toy.similarity)) for toy in draws]))
        for name, call in solvers.items()
    }


def _percent(shares: Floats) -> str:
    return " / ".join(f"{100 * share:.0f}" for share in shares) + " %"


def draw_labels(toy: Toy, path: Path) -> None:
    """Draw the points once for each way, coloured by pseudo-label, the wrong ones ringed."""
    figure = Figure(figsize=(12.5, 5.0), layout="compressed")
    panels = figure.subplots(1, 4, sharex=True, sharey=True)
    shares = "true shares " + _percent(toy.class_share)
    key = ("colour: pseudo-label, shape: class", "ring: wrong label", "cross: prototype", shares)
    for panel, line, (name, result) in zip(panels, key, toy.solve().items(), strict=True):
        panel.set_xlabel(line, color="0.3")
        for j, prototype in enumerate(toy.prototypes):
            own = toy.truth == j
            colours = COLOURS[result.labels[own]]
            panel.scatter(*toy.points[own].T, s=26, c=colours, marker=MARKERS[j], alpha=0.8, lw=0)
            panel.plot(*prototype, "P", color=COLOURS[j], markersize=13, markeredgecolor="white")
        panel.scatter(*toy.points[result.labels != toy.truth].T, s=75, fc="none", ec="black", lw=1)
        masses = _percent(result.column_mass)
        panel.set_title(f"{name}\naccuracy {100 * toy.accuracy(result):.1f} %\nmasses {masses}")
        panel.set(xticks=[], yticks=[], aspect="equal")
    figure.savefig(path, dpi=110, bbox_inches="tight")


def draw_plans(toys: Sequence[Toy], path: Path) -> None:
    """Draw each plan, times n: samples from left to right by class, a row for each cluster."""
    figure = Figure(figsize=(12.5, 5.2), layout="constrained")
    panels = figure.subplots(4, len(toys), squeeze=False)
    for toy, column in zip(toys, panels.T, strict=True):
        sure = np.exp(toy.log_prob[np.arange(len(toy.truth)), toy.truth])
        order = np.lexsort((-sure, toy.truth))
        for panel, (name, result) in zip(column, toy.solve().items(), strict=True):
            plan = len(order) * result.plan[order].T
            image = panel.imshow(plan, aspect="auto", cmap="cividis", vmin=0, vmax=1)
            for edge in np.cumsum(np.bincount(toy.truth))[:-1]:
                panel.axvline(edge - 0.5, color="white", linewidth=2)
            panel.set(ylabel=name, xticks=[], yticks=range(len(plan)))
        column[0].set_title(toy.title, fontsize=12)
        column[-1].set_xlabel("samples by class, within a class by how surely they are predicted")
    figure.colorbar(image, ax=panels, label="share of a sample's mass", shrink=0.8)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Write the figures of the page, then its pictures."""
    evenness = {f"{e:g}": ConsistentTransport(uniformity=e) for e in (0.03, 0.06, 0.2, 3.5, 100)}
    pull = {f"{e:g}": ConsistentTransport(consistency=e) for e in (0, 5, 10, 25, 50)}
    record = {
        "imbalance": scores(imbalance),
        "neighbours": scores(neighbours),
        "uniformity": mean_accuracy(imbalance, evenness),
        "consistency": mean_accuracy(neighbours, pull),
    }
    path = ROOT / "benchmarks" / "results" / "gallery.json"
    unfinished = path.with_suffix(".json.tmp")
    unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)
    images = ROOT / "docs" / "images"
    draw_labels(imbalance(), images / "gallery-imbalance.png")
    draw_labels(neighbours(), images / "gallery-neighbours.png")
    draw_plans([imbalance(), neighbours()], images / "gallery-plans.png")


if __name__ == "__main__":
    main()
