"""What every estimator that clusters texts has in common, whatever its method."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from caot.checks import require_integer
from caot.describe import (
    DescribeSettings,
    Description,
    cluster_info,
    describe,
    document_info,
)
from caot.encoders import Encoder, reads_vectors
from caot.inputs import EMPTY_OWN, Inputs, read_inputs
from caot.prediction import probabilities
from caot.settings import OnEmpty, PreparationSettings
from caot.shares import most_probable
from caot.training import Callback
from caot.words import Words

if TYPE_CHECKING:
    from sklearn.utils import Tags

Probabilities = NDArray[np.float32]
_Settings = TypeVar("_Settings", bound=PreparationSettings)


class EmptyClusterWarning(UserWarning):
    """Fewer clusters hold texts than were asked for."""


class TextClusterer(
    ClusterMixin, TransformerMixin, ClassNamePrefixFeaturesOutMixin, BaseEstimator, ABC
):
    """Base of estimators that cluster texts, or vectors, by what an encoder makes of them.

    A method of its own names its parameters in ``__init__``, among them all fields of its settings,
    a :class:`~caot.settings.PreparationSettings`, and implements two things:

    - ``fit``: gets the checked settings from `_settings_as` and the inputs from `_read_samples`,
      trains, and ends with `_keep_encoder`, its own fitted attributes, and `_label`;
    - ``shares``: turns embeddings, with words beside them if ``words_`` is set, into the
      probability of each cluster.

    Attributes
    ----------
    encoder_
        The fitted encoder.
    has_own_cluster_
        Whether empty texts have a cluster of their own.
    labels_, cluster_centers_, cluster_sizes_
        (n,), (k, width) and (k,): see :class:`~caot.CAOT`.
    """

    n_clusters: int
    on_empty: OnEmpty
    networks_: Any
    words_: Words | None = None

    @abstractmethod
    def fit(
        self,
        X: Iterable[str] | ArrayLike,
        y: object = None,
        *,
        views: tuple[Iterable[str] | ArrayLike, Iterable[str] | ArrayLike] | None = None,
        sample_ids: Sequence[object] | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Cluster the texts, or the rows of a matrix of numbers; ``y`` is ignored."""

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to a folder, all or nothing; `caot.load_model` reads it."""
        msg = f"a {type(self).__name__} cannot be saved: it does not say how"
        raise NotImplementedError(msg)

    @abstractmethod
    def shares(self, vectors: NDArray[np.float32]) -> Probabilities:
        """Return the probability of each of the k clusters, (n, k).

        ``vectors`` are embeddings, with words beside them if ``words_`` is set; `predict_proba`
        takes texts.
        """

    def predict(
        self,
        X: Iterable[str] | ArrayLike,
        *,
        min_confidence: float | None = None,
        batch_size: int = 64,
    ) -> NDArray[np.int64]:
        """Return the cluster of each text, (n,); −1 where the confidence is below the minimum."""
        if min_confidence is not None and not 0 <= min_confidence <= 1:
            msg = f"min_confidence must lie between 0 and 1, got {min_confidence}"
            raise ValueError(msg)
        return most_probable(self.predict_proba(X, batch_size=batch_size), min_confidence)

    def predict_proba(
        self,
        X: Iterable[str] | ArrayLike,
        *,
        batch_size: int = 64,
    ) -> Probabilities:
        """Return each cluster's probability, (n, k), and that of the empty texts' own, if any."""
        check_is_fitted(self)
        inputs = self._read(X)
        return probabilities(self, self._embed(inputs, batch_size), inputs)

    def transform(
        self,
        X: Iterable[str] | ArrayLike,
        *,
        batch_size: int = 64,
    ) -> NDArray[np.float32]:
        """Return the embeddings of the fitted encoder, (n, width)."""
        check_is_fitted(self)
        return self._embed(self._read(X), batch_size)

    def describe(self, X: Iterable[str], **settings: Unpack[DescribeSettings]) -> Description:
        """Describe the clusters by the texts that fall into them: keywords, label, examples.

        ``settings`` are those of :func:`caot.describe.describe`.
        """
        return self._describe(X, settings)[0]

    def get_cluster_info(
        self, X: Iterable[str], **settings: Unpack[DescribeSettings]
    ) -> pd.DataFrame:
        """Return one row a cluster: label, keywords, size, share, mean confidence, examples."""
        description, texts, _ = self._describe(X, settings)
        return cluster_info(description, texts)

    def get_document_info(
        self,
        X: Iterable[str],
        *,
        ids: Sequence[object] | None = None,
        **settings: Unpack[DescribeSettings],
    ) -> pd.DataFrame:
        """Return one row a text, in order: cluster, its label, confidence, second choice.

        The rows have the index of X if X is a Series.
        """
        description, texts, shares = self._describe(X, settings)
        table = document_info(description, texts, shares, most_probable(shares), ids)
        return table.set_axis(X.index) if isinstance(X, pd.Series) else table

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

    def _settings_as(self, kind: type[_Settings]) -> _Settings:
        """Return the parameters as settings, after checking all that needs no data."""
        require_integer("n_clusters", self.n_clusters, 2)
        return kind.of(self.get_params(deep=False))

    def _read_samples(
        self, values: Iterable[str] | ArrayLike, sample_ids: Sequence[object] | None = None
    ) -> Inputs:
        """Return the inputs of a fit; ids, if any, must be as many."""
        inputs = read_inputs(values, on_empty=self.on_empty)
        if sample_ids is not None and len(sample_ids) != len(inputs):
            msg = f"sample_ids has {len(sample_ids)} entries for {len(inputs)} samples"
            raise ValueError(msg)
        return inputs

    def _keep_encoder(self, encoder: Encoder) -> None:
        """Keep what the embeddings of new inputs need."""
        self.encoder_: Encoder = encoder
        self.has_own_cluster_ = self.on_empty == EMPTY_OWN
        if reads_vectors(encoder):
            self.n_features_in_ = encoder.width
        elif hasattr(self, "n_features_in_"):  # of an earlier fit
            del self.n_features_in_

    def _label(self, inputs: Inputs, vectors: NDArray[np.float32]) -> None:
        """Set the labels and what follows from them: a last pass in float32."""
        shares = probabilities(self, vectors, inputs)
        self.labels_ = most_probable(shares)
        n_labels = shares.shape[1]
        sizes = np.bincount(self.labels_[self.labels_ >= 0], minlength=n_labels)
        means = [_mean(vectors, self.labels_ == label) for label in range(n_labels)]
        self.cluster_centers_ = np.stack(means).astype(np.float32)
        self.cluster_sizes_ = sizes

    def _read(self, values: Iterable[str] | ArrayLike) -> Inputs:
        return read_inputs(values, on_empty=EMPTY_OWN if self.has_own_cluster_ else "error")

    def _embed(self, inputs: Inputs, batch_size: int) -> NDArray[np.float32]:
        if inputs.is_vectors != reads_vectors(self.encoder_):
            kinds = ("texts", "vectors") if inputs.is_vectors else ("vectors", "texts")
            msg = f"the model was fitted on {kinds[0]}, X holds {kinds[1]}"
            raise TypeError(msg)
        return self.encoder_.encode(inputs.values, batch_size=batch_size)

    def _describe(
        self, X: Iterable[str], settings: DescribeSettings
    ) -> tuple[Description, list[str], Probabilities]:
        check_is_fitted(self)
        inputs = self._read(X)
        if inputs.is_vectors:
            msg = "vectors have no words: give their texts to caot.describe.describe yourself"
            raise TypeError(msg)
        vectors = self._embed(inputs, batch_size=64)
        shares = probabilities(self, vectors, inputs)
        description = describe(inputs.values, most_probable(shares), shares, vectors, **settings)
        return description, inputs.values, shares


def _mean(vectors: NDArray[np.float32], member: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean of the members' vectors, (width,); NaN if there is none."""
    if not member.any():
        return np.full(vectors.shape[1], np.nan)
    mean: NDArray[np.float64] = vectors[member].mean(axis=0, dtype=np.float64)
    return mean
