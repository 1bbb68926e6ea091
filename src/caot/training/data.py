"""What a training run learns from: the samples in three views, and the order they come in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from caot.augment import FeatureNoise
from caot.encoders import Batchable, Encoder, Ragged
from caot.encoders.device import device_of, half_precision, to_device
from caot.training.lookahead import Lookahead
from caot.words import beside


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """n samples prepared for an encoder.

    Parameters
    ----------
    original
        The samples themselves, X(0).
    first, second
        Their two augmented views, X(1) and X(2); None where ``noise`` makes them from the vectors
        of the original, batch by batch.
    noise
        Makes views of vectors.
    mixed_precision
        Whether the encoder computes in bfloat16; its weights and what it returns stay float32.
    words
        Vectors of the words of the samples, of X(0) and both views, each (n, w): they stand beside
        the unit embeddings (Eq. 36). None leaves the embeddings as they are.
    lookahead
        Holds what :meth:`gather` took early.
    """

    original: Batchable
    first: Batchable | None = None
    second: Batchable | None = None
    noise: FeatureNoise | None = None
    mixed_precision: bool = False
    words: tuple[NDArray[np.float32], ...] | None = None
    lookahead: Lookahead = field(default_factory=Lookahead, repr=False)

    def __post_init__(self) -> None:
        if (self.first is None) != (self.second is None):
            msg = "give both views or neither"
            raise ValueError(msg)
        if self.first is None or self.second is None:
            if self.noise is None:
                msg = "views are missing: give first and second, or a FeatureNoise"
                raise ValueError(msg)
            return
        lengths = {len(self.original), len(self.first), len(self.second)}
        if len(lengths) > 1:
            msg = f"the views have {len(self.first)} and {len(self.second)} rows for "
            msg += f"{len(self.original)} samples: each sample needs one row in each view"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.original)

    def view(self, number: int) -> Batchable:
        """Return X(0), X(1) or X(2)."""
        found = (self.original, self.first, self.second)[number]
        if found is None:
            msg = f"view {number} is made by noise, batch by batch: only view 0 can be had"
            raise ValueError(msg)
        return found

    def gather(self, rows: NDArray[np.int64], *, original: bool, views: bool) -> None:
        """Take rows early that will be encoded next; what is encoded stays the same."""
        sources = [self.original] if original or (views and self.first is None) else []
        if views and self.first is not None and self.second is not None:
            sources += [self.first, self.second]
        self.lookahead.gather(sources, rows)

    def width(self, encoder: Encoder) -> int:
        """Return the length of a row of V."""
        return encoder.width + (0 if self.words is None else self.words[0].shape[1])

    def encode_all(self, encoder: Encoder, view: int) -> NDArray[np.float32]:
        """Return V(0), V(1) or V(2) of all samples, without gradients, (n, width)."""
        vectors = encoder.encode(self.view(view))
        return beside(vectors, None if self.words is None else self.words[view])

    def encode_original(self, encoder: Encoder, rows: NDArray[np.int64]) -> Tensor:
        """Return V(0) of the given rows, (n, width)."""
        vectors = self._forward(encoder, self.lookahead.take(self.original, rows))
        return self._beside(vectors, 0, rows)

    def encode_views(
        self, encoder: Encoder, rows: NDArray[np.int64], generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return V(1) and V(2) of the given rows, both (n, width)."""
        if self.first is None or self.second is None:
            assert self.noise is not None  # checked when made
            return self.noise.perturb(self.encode_original(encoder, rows), generator)
        first, second = (self.lookahead.take(view, rows) for view in (self.first, self.second))
        if isinstance(first, Ragged) and isinstance(second, Ragged):  # one pass for both
            both = self._forward(encoder, type(first).concat(first, second))
            v1, v2 = both[: len(rows)], both[len(rows) :]
        else:
            v1, v2 = self._forward(encoder, first), self._forward(encoder, second)
        return self._beside(v1, 1, rows), self._beside(v2, 2, rows)

    def _beside(self, vectors: Tensor, view: int, rows: NDArray[np.int64]) -> Tensor:
        """Put the vectors of words beside unit embeddings (Eq. 36)."""
        if self.words is None:
            return vectors
        words = to_device(self.words[view][rows], vectors.device)
        return torch.cat([functional.normalize(vectors), words], dim=1)

    def _forward(self, encoder: Encoder, batch: Batchable) -> Tensor:
        with half_precision(device_of(encoder), use=self.mixed_precision):
            return encoder.forward(batch).float()


class Sampler:
    """Batches without replacement, shuffled anew when the data is through.

    The rows left over at the end of a pass begin the next one, so that every sample is seen equally
    often and every batch is full.
    """

    def __init__(self, n_samples: int, batch_size: int, random_state: int) -> None:
        self.n_samples = n_samples
        self.batch_size = min(batch_size, n_samples)
        self._rng = np.random.default_rng(random_state)
        self._queue = np.empty(0, dtype=np.int64)

    def peek(self) -> NDArray[np.int64]:
        """Return what :meth:`next` will return; the state goes on to the same batches."""
        if self._queue.size < self.batch_size:
            fresh = self._rng.permutation(self.n_samples)
            # A row that still waits must not come twice in one batch: its second turn comes last.
            waiting = np.isin(fresh, self._queue)
            self._queue = np.concatenate([self._queue, fresh[~waiting], fresh[waiting]])
        return self._queue[: self.batch_size]

    def next(self) -> NDArray[np.int64]:
        """Return the row numbers of the next batch, all different."""
        batch = self.peek()
        self._queue = self._queue[self.batch_size :]
        return batch

    def state(self) -> tuple[dict[str, object], NDArray[np.int64]]:
        """Return the generator's state and the rows that wait."""
        return dict(self._rng.bit_generator.state), self._queue.copy()

    def restore(self, generator: dict[str, object], queue: NDArray[np.int64]) -> None:
        """Go on from what :meth:`state` returned."""
        self._rng.bit_generator.state = generator
        self._queue = queue.copy()
