"""Clusters of many texts: from an iterator to an iterator, in constant memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from sklearn.exceptions import NotFittedError

from caot.encoders import Encoder, reads_vectors
from caot.inputs import EMPTY_OWN, read_inputs
from caot.shares import most_probable, next_probable
from caot.words import beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from caot.inputs import Inputs, Values
    from caot.words import Words

# Enough texts to sort them into batches of similar length; 6 MB of vectors of width 384.
CHUNK_SIZE = 4096
# Vectors that go through the networks at a time: many more would fill the memory.
_ROWS = 65_536


class Predicts(Protocol):
    """What turns embeddings into clusters: a module with these members."""

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        ...

    def predict(self, embeddings: torch.Tensor) -> torch.Tensor:
        """Return the log-probability of each cluster, (n, k); −∞ throughout for noise."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return the weights."""
        ...


class FittedModel(Protocol):
    """What prediction needs of a fitted estimator."""

    @property
    def encoder_(self) -> Encoder:
        """The encoder."""
        ...

    @property
    def words_(self) -> Words | None:
        """The words that count beside the embeddings, if any."""
        ...

    @property
    def has_own_cluster_(self) -> bool:
        """Whether empty texts have a cluster of their own."""
        ...

    def shares(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of each of the k clusters, (n, k), from `network_input`."""
        ...


class Encodes(Protocol):
    """Anything that turns texts into vectors, such as an `ExportedEncoder`."""

    def encode(
        self,
        inputs: Any,  # noqa: ANN401 - as in Encoder
        batch_size: int = ...,
        progress: bool = ...,
    ) -> NDArray[np.float32]:
        """Return vectors (n, width)."""
        ...


def encode_by(encoder: Encodes, inputs: Values, batch_size: int | None) -> NDArray[np.float32]:
    """Encode so many inputs together, or, with None, as many as the encoder itself takes."""
    if batch_size is None:
        return encoder.encode(inputs)
    return encoder.encode(inputs, batch_size=batch_size)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """The clusters of consecutive texts.

    One result per chunk and not per text: an object per text would cost more than its prediction,
    and arrays go into a table as they are.

    Parameters
    ----------
    start : int
        How many texts came before.
    labels : int64 array, shape (n,)
        The most probable cluster; −1 where its probability is below the minimum.
    confidence : float32 array, shape (n,)
        The probability of the most probable cluster, also where the label is −1.
    second_labels : int64 array, shape (n,)
        The most probable cluster other than the label, so that it is the best of all where the
        label is −1; −1 where no other has a share.
    second_confidence : float32 array, shape (n,)
        Its probability; NaN with one cluster alone.
    """

    start: int
    labels: NDArray[np.int64]
    confidence: NDArray[np.float32]
    second_labels: NDArray[np.int64]
    second_confidence: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.labels)


def predict_stream(
    model: FittedModel,
    texts: Iterable[str],
    *,
    chunk_size: int = CHUNK_SIZE,
    batch_size: int | None = None,
    min_confidence: float | None = None,
    encoder: Encodes | None = None,
) -> Iterator[Prediction]:
    """Predict chunk by chunk; no more than one chunk of texts is read ahead or kept.

    Parameters
    ----------
    model
        A fitted model; labels equal those of its ``predict``.
    texts
        Any iterable, also an endless one.
    chunk_size
        Texts per result. Larger chunks pad less and need more memory.
    batch_size
        Texts that are encoded together; None is as many as the encoder itself takes.
    min_confidence
        Texts whose most probable cluster is less probable get the label −1.
    encoder
        What encodes instead of the model's encoder, as `accelerate` returns it.

    Examples
    --------
    >>> for part in predict_stream(model, lines):  # doctest: +SKIP
    ...     table.append(part.labels, part.confidence)
    """
    if isinstance(texts, str | bytes):
        msg = "texts is a single text: pass a list or an iterator of texts"
        raise TypeError(msg)
    for name, size in (("chunk_size", chunk_size), ("batch_size", batch_size)):
        if size is not None and size < 1:
            msg = f"{name} must be at least 1, got {size}"
            raise ValueError(msg)
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        msg = f"min_confidence must lie between 0 and 1, got {min_confidence}"
        raise ValueError(msg)
    encodes = text_encoder(model) if encoder is None else encoder
    return _stream(
        model,
        iter(texts),
        encodes,
        chunk_size=chunk_size,
        batch_size=batch_size,
        min_confidence=min_confidence,
    )


def text_encoder(model: FittedModel) -> Encoder:
    """Return the encoder of a fitted model; raise if there is none, or none that reads texts."""
    encoder: Encoder | None = getattr(model, "encoder_", None)
    if encoder is None:
        msg = f"this {type(model).__name__} is not fitted yet: call fit first"
        raise NotFittedError(msg)
    if reads_vectors(encoder):
        msg = "the model was fitted on vectors: its predict() takes vectors, there are no texts"
        raise TypeError(msg)
    return encoder


def network_input(
    model: FittedModel, embeddings: NDArray[np.float32], values: Values
) -> NDArray[np.float32]:
    """Return what a model's networks read: embeddings, with words beside them if it knows any.

    Parameters
    ----------
    model
        A fitted model.
    embeddings
        (n, width), by the model's encoder.
    values
        The n texts, or vectors, that they are of.
    """
    return beside(embeddings, None if model.words_ is None else model.words_.vectors(values))


def probabilities(
    model: FittedModel, embeddings: NDArray[np.float32], inputs: Inputs
) -> NDArray[np.float32]:
    """Return each cluster's probability (n, k), and that of the empty texts' own, if any.

    Parameters
    ----------
    model
        A fitted model.
    embeddings
        (n, width), by the model's encoder or one that takes its place.
    inputs
        What they are of.
    """
    shares = model.shares(network_input(model, embeddings, inputs.values))
    return with_own_cluster(shares, inputs.empty) if model.has_own_cluster_ else shares


def network_shares(
    networks: Predicts, vectors: NDArray[np.float32], temperature: float = 1.0
) -> NDArray[np.float32]:
    """Return the probabilities (n, k) that the networks give vectors (n, width).

    A temperature above 1 softens them (Eq. 32).
    """
    device = next(networks.parameters()).device
    shares = np.empty((len(vectors), networks.n_clusters), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(vectors), _ROWS):
            rows = torch.tensor(vectors[start : start + _ROWS], device=device)
            log_prob = networks.predict(rows)
            if temperature != 1:
                log_prob = (log_prob / temperature).log_softmax(dim=1)
            shares[start : start + _ROWS] = log_prob.exp().cpu().numpy()
    return shares


def with_own_cluster(shares: NDArray[np.float32], empty: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Add a column for the empty texts' own cluster, (n, k + 1): all of theirs, none of others."""
    own = empty[:, None].astype(np.float32)
    return np.hstack([shares * (1 - own), own])


def _stream(
    model: FittedModel,
    texts: Iterator[str],
    encoder: Encodes,
    *,
    chunk_size: int,
    batch_size: int | None,
    min_confidence: float | None,
) -> Iterator[Prediction]:
    start = 0
    while chunk := list(islice(texts, chunk_size)):
        inputs = _read(model, chunk, start)
        embeddings = encode_by(encoder, inputs.values, batch_size)
        shares = probabilities(model, embeddings, inputs)
        yield _prediction(start, shares, min_confidence)
        start += len(chunk)


def _read(model: FittedModel, chunk: list[str], start: int) -> Inputs:
    try:
        return read_inputs(chunk, on_empty=EMPTY_OWN if model.has_own_cluster_ else "error")
    except (TypeError, ValueError) as error:
        if start == 0:
            raise
        msg = f"{error} (rows are counted from text {start})"
        raise type(error)(msg) from error


def _prediction(
    start: int,
    shares: NDArray[np.float32],
    min_confidence: float | None,
) -> Prediction:
    labels = most_probable(shares, min_confidence)
    second_labels, second_confidence = next_probable(shares, labels)
    return Prediction(start, labels, shares.max(axis=1), second_labels, second_confidence)
