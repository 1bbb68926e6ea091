"""What a fit is given: texts or vectors, and two views of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from caot.texts import as_texts, empty_rows, is_vectors, reject_empty, tensor_values

EMPTY_OWN: Literal["own-cluster"] = "own-cluster"
Values: TypeAlias = Any  # a list of texts, or an array of vectors


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Checked inputs: texts, or vectors, and which rows are empty texts."""

    values: Values
    is_vectors: bool
    empty: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> str:
        """What the rows are, for messages."""
        return "vectors" if self.is_vectors else "texts"

    @property
    def filled(self) -> NDArray[np.int64]:
        """The numbers of the rows that are not empty."""
        return np.flatnonzero(~self.empty)

    def has_distinct(self, count: int) -> bool:
        """Tell whether at least ``count`` rows differ, empty ones left out."""
        seen: set[str | bytes] = set()
        for row in self.filled:
            value = self.values[row]
            seen.add(value.tobytes() if self.is_vectors else value)
            if len(seen) >= count:
                return True
        return False


def read_inputs(values: Iterable[str] | ArrayLike, *, on_empty: str) -> Inputs:
    """Check X: texts or vectors, at least one row, no empty text unless they have their cluster."""
    if scipy.sparse.issparse(values):
        msg = "X is sparse: make it dense and small first, for example with TruncatedSVD"
        raise TypeError(msg)
    if is_vectors(values):
        if hasattr(values, "detach"):  # a tensor of torch
            values = tensor_values(values)
        vectors = values if isinstance(values, np.ndarray) else np.asarray(values)
        inputs = Inputs(vectors, True, np.zeros(len(vectors), dtype=np.bool_))
    else:
        texts = as_texts(cast("Iterable[object]", values))
        inputs = Inputs(texts, False, empty_rows(texts))
        if on_empty != EMPTY_OWN:
            reject_empty(inputs.empty)
    if len(inputs) == 0:
        msg = "X is empty: pass at least one text"
        raise ValueError(msg)
    return inputs


def require_distinct(inputs: Inputs, n_clusters: int) -> None:
    """Raise if there are fewer distinct inputs than clusters."""
    if not inputs.has_distinct(n_clusters):
        msg = (
            f"n_clusters is {n_clusters}, but X has fewer distinct {inputs.kind} than that: "
            "ask for fewer clusters"
        )
        raise ValueError(msg)


def check_views(
    views: tuple[Iterable[str] | ArrayLike, Iterable[str] | ArrayLike], inputs: Inputs
) -> tuple[Values, Values]:
    """Check that two given views fit X; a view's empty text is replaced by the text itself."""
    if len(views) != 2:
        msg = f"views must be a pair of two views, got {len(views)}"
        raise ValueError(msg)
    checked = []
    for name, view in zip(("first", "second"), views, strict=True):
        read = read_inputs(view, on_empty=EMPTY_OWN)
        if read.is_vectors != inputs.is_vectors or len(read) != len(inputs):
            msg = (
                f"the {name} view has {len(read)} {read.kind}, X has {len(inputs)} {inputs.kind}: "
                "each sample needs one in each view"
            )
            raise ValueError(msg)
        checked.append(_filled_view(read, inputs))
    return checked[0], checked[1]


def _filled_view(view: Inputs, inputs: Inputs) -> Values:
    """Return a view's values, the text itself where its view is empty."""
    if view.is_vectors:
        return view.values
    return [
        original if empty else text
        for text, empty, original in zip(view.values, view.empty, inputs.values, strict=True)
    ]
