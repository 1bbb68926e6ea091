"""The variants that the tables compare, as parameters: nearly all of them of `caot.CAOT`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caot.variant import Variant

# The paper's grids; the names are those of `caot.CAOT`, but for ε2, which `imbalance` sets.
GRIDS: Mapping[str, tuple[float, ...]] = {
    "epsilon": (0.5, 1, 5, 10),
    "imbalance": (0.03, 0.06, 0.1, 1, 3.5, 7, 10, 100),
    "consistency": (10, 15, 20, 25, 30),
    "contrast_weight": (1, 5, 10, 15, 20),
}


# Parameters that ``parameter=value`` may set.
_FREE = (*GRIDS, "learning_rate_encoder")


@dataclass(frozen=True, slots=True)
class MethodVariant:
    """Parameters that differ from the complete method; other methods may have some of them too.

    ``takes_views`` is whether the views of the data are given to the fit, which makes its own
    otherwise. ``clusters_by_kmeans`` reports K-means on the trained representations V(0) instead
    of the clustering network, and ``warms_up_only`` never leaves the warm-up.
    """

    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    takes_views: bool = True
    clusters_by_kmeans: bool = False
    warms_up_only: bool = False

    @property
    def finds_k(self) -> bool:
        """Whether the number of clusters is left to the method."""
        return "n_clusters" in self.parameters


VARIANTS: Mapping[str, MethodVariant] = {
    "full": MethodVariant("complete"),
    "without-cosine": MethodVariant("w/o Cos", {"variant": Variant(similarity="attention")}),
    "without-attention": MethodVariant("w/o Att", {"variant": Variant(similarity="cosine")}),
    "without-similarity": MethodVariant("w/o All", {"variant": Variant(similarity="none")}),
    "without-contrast": MethodVariant("w/o CL", {"contrast_weight": 0.0}),
    "without-pseudo-labels": MethodVariant("w/o PL", clusters_by_kmeans=True, warms_up_only=True),
    "prediction": MethodVariant("prediction", {"variant": Variant(pseudo_labels="prediction")}),
    "adaptive": MethodVariant("adaptive OT", {"variant": Variant(pseudo_labels="adaptive")}),
    "conventional": MethodVariant(
        "conventional OT", {"variant": Variant(pseudo_labels="balanced")}
    ),
    # What the default mode adds to the paper, left out one by one.
    "kmeans-start": MethodVariant(
        "first clusters by K-means", {"variant": Variant(start="kmeans")}
    ),
    "batch-alone": MethodVariant(
        "no neighbours in the transport", {"variant": Variant(neighbour_weight=0.0)}
    ),
    "without-words": MethodVariant(
        "no words beside the embeddings", {"variant": Variant(word_weight=0.0)}
    ),
    "plain-words": MethodVariant(
        "words beside the embeddings, never emphasised", {"variant": Variant(word_weight=0.5)}
    ),
    "printed-penalty": MethodVariant(
        "penalty weight by the paper's thresholds", {"variant": Variant(penalty="printed")}
    ),
    "without-neighbours": MethodVariant(
        "no neighbours at all", {"variant": Variant(start="kmeans", neighbour_weight=0.0)}
    ),
    "alternating": MethodVariant(
        "transport by Algorithm 2", {"variant": Variant(scheme="alternating")}
    ),
    "dropout-predictions": MethodVariant(
        "predictions with dropout", {"variant": Variant(predict_in_evaluation=False)}
    ),
    "noise-views": MethodVariant(
        "views by noise on the vectors", {"augmenter": "feature-noise"}, takes_views=False
    ),
    "chunks": MethodVariant(
        "texts read in up to four chunks",
        {"augmenter": "feature-noise", "max_chunks": 4},
        takes_views=False,
    ),
    "finds-k": MethodVariant("finds K itself", {"n_clusters": None}),
    # Of FNSCC: which of its ideas loses clusters.
    "without-smoothing": MethodVariant("shares not mixed", {"smoothing": 0.0}),
    "one-neighbour": MethodVariant("one neighbour", {"n_neighbors": 1}),
    # So strong a penalty holds the masses at 1/k, while the similarity stays.
    "conventional-similar": MethodVariant("conventional OT, S kept", {"imbalance": 1e6}),
}


def find_variant(name: str) -> MethodVariant:
    """Return a variant by its name, or by ``parameter=value``."""
    if name in VARIANTS:
        return VARIANTS[name]
    parameter, equals, value = name.partition("=")
    if equals and parameter in _FREE:
        try:
            return MethodVariant(name, {parameter: float(value)})
        except ValueError:
            pass
    msg = (
        f"there is no variant {name!r}: choose one of {', '.join(VARIANTS)}, or a parameter and "
        f"its value, such as epsilon=5 ({', '.join(_FREE)})"
    )
    raise ValueError(msg)


def grid_variants(parameter: str) -> list[str]:
    """Return the names of the variants along one of the paper's grids."""
    return [f"{parameter}={value:g}" for value in GRIDS[parameter]]
