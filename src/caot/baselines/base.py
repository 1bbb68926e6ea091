"""What all methods share: scikit-learn's contract, labels, saving."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from caot.baselines import saving
from caot.baselines.heads import Head
from caot.inputs import Inputs, read_inputs, require_distinct
from caot.persistence import load_saved_encoder
from caot.prediction import probabilities
from caot.threads import compute_threads
from caot.training import Callback

if TYPE_CHECKING:
    from sklearn.utils import Tags

Given: TypeAlias = Iterable[str] | ArrayLike
Views: TypeAlias = tuple[Given, Given]
Vectors: TypeAlias = NDArray[np.float32]


class _Fitted:
    """What `_fit` sets; declared apart, since in a dataclass it would count as settings."""

    encoder_: Any
    networks_: Head
    labels_: NDArray[np.int64]
    cluster_centers_: Vectors
    cluster_sizes_: NDArray[np.int64]


@dataclass(eq=False, repr=False)
class Baseline(
    ClusterMixin, TransformerMixin, ClassNamePrefixFeaturesOutMixin, _Fitted, BaseEstimator
):
    """A method that clusters texts, or vectors, behind scikit-learn's interface.

    A dataclass, so that a method states its own settings alone and ``__init__`` stores them. A
    method implements ``_fit``, which sets ``encoder_`` (from inputs to vectors) and ``networks_``
    (a `Head`: from vectors to shares).

    Parameters
    ----------
    n_clusters : int
        The number of clusters, at least 2.
    random_state : int
        Seed of everything random: the same seed, data and thread count give the same labels.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    labels_
        (n,) int64, the cluster of each text; −1 for noise, where a method knows noise.
    cluster_centers_
        (k, width) means of ``transform(X)`` by cluster; NaN for an empty one.
    cluster_sizes_
        (k,) how many texts each cluster holds.
    """

    n_clusters: int = 8
    _: KW_ONLY
    random_state: int = 0
    verbose: int = 0

    # Least values of integer settings.
    _least: ClassVar[dict[str, int]] = {"n_clusters": 2, "random_state": 0, "verbose": 0}
    _may_be_none: ClassVar[tuple[str, ...]] = ()
    has_own_cluster_: ClassVar[bool] = False
    temperature_: ClassVar[float] = 1.0

    def fit(
        self,
        X: Given,
        y: object = None,
        *,
        views: Views | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Cluster the texts, or the rows of a matrix of numbers.

        Parameters
        ----------
        X
            n texts (list, array, Series), or vectors (n, width).
        y
            Ignored: labels never reach a fit.
        views
            Two augmented views of X, in the same order, for methods that learn from views.
        callbacks
            Functions that are called with every training event and cannot change the result.
        """
        self._check_parameters()
        inputs = read_inputs(X, on_empty="error")
        if self.n_clusters is not None:
            require_distinct(inputs, self.n_clusters)
        with compute_threads():
            vectors = self._fit(inputs, views, callbacks)
            self._label(vectors)
        return self

    def predict(self, X: Given, *, batch_size: int = 64) -> NDArray[np.int64]:
        """Return the cluster of each text, (n,); −1 for noise."""
        return _labels(self.predict_proba(X, batch_size=batch_size))

    def predict_proba(self, X: Given, *, batch_size: int = 64) -> Vectors:
        """Return each cluster's share, (n, k); a row of zeros is noise."""
        return self._shares(self.transform(X, batch_size=batch_size))

    def transform(self, X: Given, *, batch_size: int = 64) -> Vectors:
        """Return the vectors that were clustered, (n, width)."""
        check_is_fitted(self)
        return self._embed(read_inputs(X, on_empty="error"), batch_size)

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model as safetensors and JSON, all or nothing."""
        check_is_fitted(self)
        saving.save(self, Path(folder), overwrite=overwrite)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> Self:
        """Load a saved model."""
        return saving.load(cls, Path(folder), device=device)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that X is text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = True
        tags.non_deterministic = False
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        """Set ``encoder_`` and ``networks_``; return the vectors of the inputs, (n, width)."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        for name, least in self._least.items():
            value = getattr(self, name)
            if value is None and name in self._may_be_none:
                continue
            if not isinstance(value, Integral) or value < least:
                msg = f"{name} must be an integer of at least {least}, got {value!r}"
                raise ValueError(msg)

    def _embed(self, inputs: Inputs, batch_size: int) -> Vectors:
        vectors: Vectors = self.encoder_.encode(inputs.values, batch_size=batch_size)
        return vectors

    def _shares(self, vectors: Vectors) -> Vectors:
        return probabilities(self, vectors, np.zeros(len(vectors), dtype=np.bool_))

    def _label(self, vectors: Vectors) -> None:
        """Set the labels and what follows from them."""
        shares = self._shares(vectors)
        self.labels_ = _labels(shares)
        members = [self.labels_ == label for label in range(shares.shape[1])]
        self.cluster_sizes_ = np.array([member.sum() for member in members])
        self.cluster_centers_ = np.stack([_mean(vectors, member) for member in members])

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> Any:  # noqa: ANN401
        """Return what turns inputs into vectors, as ``encoder_.save`` wrote it."""
        return load_saved_encoder(folder, device)


def _labels(shares: Vectors) -> NDArray[np.int64]:
    labels: NDArray[np.int64] = shares.argmax(axis=1).astype(np.int64)
    labels[shares.max(axis=1) == 0] = -1
    return labels


def _mean(vectors: Vectors, member: NDArray[np.bool_]) -> Vectors:
    if not member.any():
        return np.full(vectors.shape[1], np.nan, dtype=np.float32)
    mean: Vectors = vectors[member].mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean
