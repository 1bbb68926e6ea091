"""Choices that the paper leaves open, or that its ablations make."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from caot.checks import require_choice
from caot.imbalance import PenaltyKind
from caot.start import StartKind
from caot.training import SimilaritySettings
from caot.training.config import AttentionKind

_HEAD_ITER = 80
_TRANSPORTS = ("consistent", "adaptive", "balanced", "prediction")
_SIMILARITIES = {
    "both": (1.0, 1.0),
    "cosine": (1.0, 0.0),
    "attention": (0.0, 1.0),
    "none": (0.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """Choices that the paper leaves open, or that its ablations make; None is the mode's own.

    Parameters
    ----------
    pseudo_labels
        Which transport makes the pseudo-labels.
    similarity
        What S is made of: both similarities, one of them, or nothing.
    keep_diagonal
        Whether a sample counts as similar to itself.
    attention
        The attention network as printed, or the transformer layer that the printed sizes imply.
    scheme
        The inner scheme of the transport; faithful mode alternates as printed.
    predict_in_evaluation
        Whether P(0) is computed without dropout; not in faithful mode.
    head_iter
        Iterations of the head start; 0 starts the clustering network at random.
    uniformity_scale
        Multiplies ε2; 0.1 is what the solver of an earlier version of the paper amounts to.
    penalty
        How ε2 follows from the sizes of the first clusters: "printed" takes the paper's four
        values; "gentle", in the default mode, one that depends on k alone, unless the sizes are
        nearly even.
    kmeans_restarts
        Starts of K-means, the best of which is taken, where ``start`` is "kmeans".
    start
        What the first clusters come from: K-means as in the paper, or the graph of neighbours.
    neighbour_weight
        How much the neighbours' pseudo-labels count in the transport: 4.5 log k in the default
        mode, 0 in faithful mode.
    word_weight
        How much the words of the texts count beside the embeddings: for the first clusters, for
        who is whose neighbour, and for the networks; 0 in faithful mode, and for vectors. None in
        the default mode is 0.5 if the first clusters are clearly better with words, else 0; and
        words may be emphasised then.
    """

    pseudo_labels: Literal["consistent", "adaptive", "balanced", "prediction"] = "consistent"
    similarity: Literal["both", "cosine", "attention", "none"] = "both"
    keep_diagonal: bool = False
    attention: AttentionKind = "matrices"
    scheme: Literal["joint", "alternating"] | None = None
    predict_in_evaluation: bool | None = None
    head_iter: int = _HEAD_ITER
    uniformity_scale: float = 1.0
    penalty: PenaltyKind | None = None
    kmeans_restarts: int = 10
    start: StartKind | None = None
    neighbour_weight: float | None = None
    word_weight: float | None = None

    def __post_init__(self) -> None:
        require_choice("pseudo_labels", self.pseudo_labels, _TRANSPORTS)
        require_choice("similarity", self.similarity, _SIMILARITIES)
        require_choice("attention", self.attention, ("matrices", "transformer"))
        require_choice("scheme", self.scheme, (None, "joint", "alternating"))
        require_choice("penalty", self.penalty, (None, "printed", "gentle"))
        require_choice("start", self.start, (None, "kmeans", "neighbours"))
        for name in ("neighbour_weight", "word_weight"):
            weight = getattr(self, name)
            if weight is not None and not 0 <= weight < math.inf:
                msg = f"{name} must be at least 0, got {weight}"
                raise ValueError(msg)
        for name, least in (("head_iter", 0), ("kmeans_restarts", 1)):
            if getattr(self, name) < least:
                msg = f"{name} must be at least {least}, got {getattr(self, name)}"
                raise ValueError(msg)
        if not 0 < self.uniformity_scale < math.inf:
            msg = f"uniformity_scale must be positive, got {self.uniformity_scale}"
            raise ValueError(msg)

    @property
    def similarity_settings(self) -> SimilaritySettings:
        """The weights of the two similarities, and whether the diagonal counts (Eq. 27)."""
        cosine, attention = _SIMILARITIES[self.similarity]
        return SimilaritySettings(cosine, attention, self.keep_diagonal)
