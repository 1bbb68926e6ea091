"""BERTopic, as its users run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from caot.baselines.base import Vectors
from caot.baselines.rivals import Rival, import_rival, make_umap
from caot.checks import require_choice
from caot.inputs import Inputs


@dataclass(eq=False, repr=False, kw_only=True)
class BERTopicAdapter(Rival):
    """BERTopic on our embeddings: by its defaults, or with its K-means option at k.

    Parameters
    ----------
    n_clusters
        k for K-means; None leaves clusters and their number to HDBSCAN, BERTopic's default.
    clustering
        "auto" is K-means where ``n_clusters`` is given, "kmeans", or "hdbscan", which merges
        topics down to ``n_clusters`` if that is given (one more where no text is noise).
    min_topic_size
        BERTopic's smallest topic.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.rivals.Rival`. Needs
    ``pip install "/path/to/caot[rivals]"``.

    References
    ----------
    Grootendorst. BERTopic: Neural Topic Modeling with a Class-Based TF-IDF Procedure. 2022.
    """

    n_clusters: int | None = field(default=None, kw_only=False)  # type: ignore[assignment]
    clustering: Literal["auto", "kmeans", "hdbscan"] = "auto"
    min_topic_size: int = 10

    _least: ClassVar[dict[str, int]] = {**Rival._least, "min_topic_size": 2}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("clustering", self.clustering, ("auto", "kmeans", "hdbscan"))
        if self.clustering == "kmeans" and self.n_clusters is None:
            msg = "clustering='kmeans' needs n_clusters"
            raise ValueError(msg)

    def _labels_of(self, vectors: Vectors, inputs: Inputs) -> NDArray[np.int64]:
        if inputs.is_vectors:
            msg = "BERTopic reads words: X must hold texts, not vectors"
            raise TypeError(msg)
        by_kmeans = self.n_clusters is not None and self.clustering != "hdbscan"
        model = import_rival("bertopic").BERTopic(
            umap_model=make_umap(len(vectors), self.random_state),
            hdbscan_model=KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
            if by_kmeans
            else None,
            min_topic_size=self.min_topic_size,
            # Topics are merged down to so many, one of which is the noise.
            nr_topics=None if by_kmeans or self.n_clusters is None else self.n_clusters + 1,
            verbose=False,
        )
        topics, _ = model.fit_transform(list(inputs.values), embeddings=vectors)
        return np.asarray(topics, dtype=np.int64)
