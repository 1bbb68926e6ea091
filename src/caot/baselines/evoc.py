"""EVoC, which clusters embeddings without UMAP before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caot.baselines.base import Vectors
from caot.baselines.rivals import Rival, import_rival
from caot.inputs import Inputs


@dataclass(eq=False, repr=False, kw_only=True)
class EVoCAdapter(Rival):
    """Embedding Vector Oriented Clustering.

    Parameters
    ----------
    n_clusters
        How many clusters it should come near to; None leaves their number to it.
    n_neighbors, min_samples
        Neighbours in its graph, and how many near texts make a text dense.
    noise_level
        From 0, where all texts are clustered as far as possible, to 1.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.rivals.Rival`. Needs
    ``pip install "/path/to/caot[rivals]"``.

    References
    ----------
    The library evoc of the Tutte Institute for Mathematics and Computing.
    """

    n_clusters: int | None = field(default=None, kw_only=False)  # type: ignore[assignment]
    n_neighbors: int = 15
    min_samples: int = 5
    noise_level: float = 0.5

    _least: ClassVar[dict[str, int]] = {**Rival._least, "n_neighbors": 2, "min_samples": 1}

    def _labels_of(self, vectors: Vectors, inputs: Inputs) -> NDArray[np.int64]:
        model = import_rival("evoc").EVoC(
            approx_n_clusters=self.n_clusters,
            n_neighbors=min(self.n_neighbors, len(vectors) - 1),
            min_samples=self.min_samples,
            noise_level=self.noise_level,
            random_state=self.random_state,
        )
        return np.asarray(model.fit_predict(vectors), dtype=np.int64)
