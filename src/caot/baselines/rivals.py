"""What the adapters on other libraries share: a late import, and labels that are remembered."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from caot.baselines.base import Vectors
from caot.baselines.frozen import FrozenMethod
from caot.baselines.heads import Centroids, Head
from caot.baselines.making import RivalNotInstalled, require_libraries
from caot.baselines.registry import RIVALS, method_of
from caot.baselines.remembered import Remembered, consistent
from caot.checks import require_choice
from caot.extras import install_hint
from caot.inputs import Inputs
from caot.shares import NO_CLUSTER


def import_rival(name: str) -> Any:  # noqa: ANN401 - a module of another library
    """Import a module of another library, or say how to install it.

    Some silence warnings of the whole process as they are imported; that is undone.
    """
    try:
        with warnings.catch_warnings():
            return import_module(name)
    except ImportError as error:
        msg = f"{name.split('.', maxsplit=1)[0]} is not installed ({error}): {install_hint(RIVALS)}"
        raise RivalNotInstalled(msg) from error


def make_umap(
    n_samples: int, random_state: int, n_neighbors: int = 15, n_components: int = 5
) -> Any:  # noqa: ANN401 - a UMAP, from a library without types
    """Return a UMAP before it is fitted, by BERTopic's settings unless told otherwise."""
    fewest = n_components + 2  # its first layout is made of so many eigenvectors
    if n_samples < fewest:
        msg = f"UMAP to {n_components} dimensions needs at least {fewest} texts, got {n_samples}: "
        msg += "use another method, such as kmeans"
        raise ValueError(msg)
    return import_rival("umap").UMAP(
        n_neighbors=min(n_neighbors, n_samples - 1),
        n_components=n_components,
        min_dist=0.0,
        metric="cosine",
        random_state=random_state,
        n_jobs=1,  # more would not be repeatable
    )


@dataclass(eq=False, repr=False, kw_only=True)
class Rival(FrozenMethod):
    """Another library's labels of the embeddings, kept as they are.

    Texts of the fit keep their label, noise included; new ones go to the nearest centre, since
    such libraries predict and save by pickle or not at all. A method implements ``_labels_of``.

    Parameters
    ----------
    outliers
        What becomes of texts that the library calls noise: the label −1 ("noise"), or the nearest
        centre ("nearest").
    """

    outliers: Literal["noise", "nearest"] = "noise"

    # The libraries find the number of clusters, if need be.
    _may_be_none: ClassVar[tuple[str, ...]] = (*FrozenMethod._may_be_none, "n_clusters")

    def _check_parameters(self) -> None:
        require_choice("outliers", self.outliers, ("noise", "nearest"))
        super()._check_parameters()

    def _check_needs(self, *, has_views: bool) -> None:
        require_libraries(method_of(type(self).__name__))

    def _labels_of(self, vectors: Vectors, inputs: Inputs) -> NDArray[np.int64]:
        """Return the library's labels (n,), −1 for noise."""
        raise NotImplementedError

    def _cluster(self, vectors: Vectors, inputs: Inputs) -> Head:
        labels = consistent(vectors, np.asarray(self._labels_of(vectors, inputs)))
        found = np.unique(labels[labels != NO_CLUSTER])
        if not found.size:
            msg = f"{type(self).__name__} took every text for noise: use smaller clusters"
            raise ValueError(msg)
        numbered = np.where(labels == NO_CLUSTER, NO_CLUSTER, np.searchsorted(found, labels))
        if self.outliers == "nearest":
            centers = Centroids.of_labels(vectors, numbered, len(found)).centers.numpy()
            distances = np.square(centers).sum(axis=1) - 2 * vectors @ centers.T
            numbered = np.where(numbered == NO_CLUSTER, distances.argmin(axis=1), numbered)
        return Remembered.of(vectors, numbered, len(found), self.random_state)
