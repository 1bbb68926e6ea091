"""What all methods share: scikit-learn's contract, labels, saving."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from caot.baselines import saving
from caot.baselines.heads import Head
from caot.checks import check_seed, require_choice, require_integer
from caot.clusterer import EmptyClusterWarning, TextClusterer
from caot.inputs import EMPTY_OWN, Inputs, check_views, require_distinct
from caot.persistence import load_saved_encoder
from caot.prediction import network_shares
from caot.settings import OnEmpty
from caot.threads import compute_threads
from caot.training import Callback

Given: TypeAlias = Iterable[str] | ArrayLike
Views: TypeAlias = tuple[Any, Any]
Vectors: TypeAlias = NDArray[np.float32]


# Settings that mean the same in every method that has them; other numbers may be 0 or more.
_ABOVE_ZERO = (
    "temperature", "cluster_temperature", "prototype_temperature", "learning_rate",
    "learning_rate_encoder", "epsilon", "ridge", "alpha", "sif_weight",
)  # fmt: skip
_SHARES = ("dropout", "momentum", "noise_level", "repetition")


class _Fitted(TextClusterer):
    """What `_fit` sets; declared apart, since in a dataclass it would count as settings."""

    encoder_: Any
    networks_: Head
    labels_: NDArray[np.int64]
    cluster_centers_: Vectors
    cluster_sizes_: NDArray[np.int64]


@dataclass(eq=False, repr=False)
class Baseline(_Fitted):
    """A method that clusters texts, or vectors, behind scikit-learn's interface.

    A dataclass, so that a method states its own settings alone and ``__init__`` stores them. A
    method implements ``_fit``, which sets ``encoder_`` (from inputs to vectors) and ``networks_``
    (a `Head`: from vectors to shares).

    Parameters
    ----------
    n_clusters : int
        The number of clusters, at least 2.
    on_empty : "error" or "own-cluster"
        Whether texts without content are refused, or have a cluster of their own, the last.
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
    on_empty: OnEmpty = "error"
    random_state: int = 0
    verbose: int = 0

    # Least values of integer settings.
    _least: ClassVar[dict[str, int]] = {"n_clusters": 2, "verbose": 0}
    _may_be_none: ClassVar[tuple[str, ...]] = ()
    _takes_k: ClassVar[bool] = True  # whether n_clusters, if given, has a part in it

    def fit(
        self,
        X: Given,
        y: object = None,
        *,
        views: tuple[Given, Given] | None = None,
        sample_ids: Sequence[object] | None = None,
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
        sample_ids
            Names of the n samples, kept as ``sample_ids_``.
        callbacks
            Functions that are called with every training event and cannot change the result.
        """
        self._check_parameters()
        inputs = self._read_samples(X, sample_ids)
        self._check_needs(has_views=views is not None)
        given = None if views is None else check_views(views, inputs)
        if self.n_clusters is not None:
            require_distinct(inputs, self.n_clusters)
        with compute_threads():
            vectors = self._fit(_filled(inputs), _filled_views(given, inputs), callbacks)
            self._keep_encoder(self.encoder_)
            self._label(inputs, self._with_empty(inputs, vectors))
        self.sample_ids_ = None if sample_ids is None else list(sample_ids)
        self._warn_about_empty_clusters()
        return self

    def check(self) -> None:
        """Raise if a parameter is wrong, or something that a fit on texts needs is missing."""
        self._check_parameters()
        self._check_needs(has_views=False)

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model as safetensors and JSON, all or nothing."""
        check_is_fitted(self)
        saving.save(self, Path(folder), overwrite=overwrite)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> Self:
        """Load a saved model."""
        return saving.load(cls, Path(folder), device=device)

    def _fit(self, inputs: Inputs, views: Views | None, callbacks: Sequence[Callback]) -> Vectors:
        """Set ``encoder_`` and ``networks_``; return the vectors of the inputs, (n, width).

        No input is empty, and given views are checked.
        """
        raise NotImplementedError

    def _warn_about_empty_clusters(self) -> None:
        if self.n_clusters is None or not self._takes_k:
            return
        # The empty texts' own cluster, the last one, was not found but given.
        found = self.cluster_sizes_[: self.networks_.n_clusters]
        used = int(np.count_nonzero(found))
        if used < self.n_clusters:
            msg = f"only {used} of {self.n_clusters} clusters hold texts: ask for fewer clusters, "
            msg += "or use another method"
            warnings.warn(msg, EmptyClusterWarning, stacklevel=3)

    def _check_parameters(self) -> None:
        check_seed(self.random_state)
        for name, least in self._least.items():
            value = getattr(self, name)
            if value is not None or name not in self._may_be_none:
                require_integer(name, value, least)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type == "float" or (one.type == "float | None" and value is not None):
                _require_number(one.name, value)
        require_choice("on_empty", self.on_empty, ("error", EMPTY_OWN))

    def _check_needs(self, *, has_views: bool) -> None:
        """Raise if something is not at hand that a fit, with or without given views, needs."""

    def shares(self, vectors: Vectors) -> Vectors:
        """Return the probability of each of the k clusters, (n, k)."""
        return network_shares(self.networks_, vectors)

    def _with_empty(self, inputs: Inputs, vectors: Vectors) -> Vectors:
        """Put the vectors of empty texts among those of the others, (n, width)."""
        if not inputs.empty.any():
            return vectors
        everything = np.empty((len(inputs), vectors.shape[1]), dtype=np.float32)
        everything[inputs.filled] = vectors
        blank = [text for text, empty in zip(inputs.values, inputs.empty, strict=True) if empty]
        everything[inputs.empty] = self.encoder_.encode(blank)
        return everything

    @classmethod
    def _load_encoder(cls, folder: Path, device: str | None) -> Any:  # noqa: ANN401
        """Return what turns inputs into vectors, as ``encoder_.save`` wrote it."""
        return load_saved_encoder(folder, device)


def _require_number(name: str, value: object) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    most = 1.0 if name in _SHARES else math.inf
    is_right = number > 0 if name in _ABOVE_ZERO else 0 <= number <= most
    if not is_right or math.isinf(number):
        wanted = "from 0 to 1" if name in _SHARES else "of 0 or more"
        wanted = "above 0" if name in _ABOVE_ZERO else wanted
        msg = f"{name} must be a number {wanted}, got {value!r}"
        raise ValueError(msg)


def _filled(inputs: Inputs) -> Inputs:
    """Return the inputs without empty texts."""
    if not inputs.empty.any():
        return inputs
    rows = inputs.filled
    return Inputs([inputs.values[row] for row in rows], False, np.zeros(len(rows), dtype=np.bool_))


def _filled_views(views: Views | None, inputs: Inputs) -> Views | None:
    if views is None or not inputs.empty.any():
        return views
    first, second = ([view[row] for row in inputs.filled] for view in views)
    return first, second
