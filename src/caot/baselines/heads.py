"""From vectors to clusters: what the methods end in, as modules that predict and can be saved.

Every head has ``predict``, which maps vectors (n, width) to log-shares (n, k), and ``arguments``,
from which, with its weights, it is made again.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caot.networks import ClusteringNetwork

Arguments: TypeAlias = dict[str, int | float | bool]
Vectors: TypeAlias = NDArray[np.float32]


class Head(nn.Module):
    """What prediction needs of a method."""

    n_clusters: int

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return the log-shares of the clusters, (n, k)."""
        raise NotImplementedError

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        raise NotImplementedError


class Centroids(Head):
    """The nearest centre wins; shares fall with the squared distance.

    Squared distances are divided by ``unit``, which `unit_of` sets to the typical gap between the
    nearest and the second nearest centre: a typical text's second choice then has 1/e of the share
    of its first, whatever the scale and width of the vectors.

    Parameters
    ----------
    n_clusters, width : int
        Number and length of the centres.
    cosine : bool
        Whether only directions count.
    """

    def __init__(self, n_clusters: int, width: int, *, cosine: bool = False) -> None:
        super().__init__()
        self.n_clusters, self.width, self.cosine = n_clusters, width, cosine
        self.centers = nn.Parameter(torch.zeros(n_clusters, width), requires_grad=False)
        self.unit = nn.Parameter(torch.ones(()), requires_grad=False)

    @classmethod
    def of(cls, vectors: Vectors, centers: Vectors, *, cosine: bool = False) -> Centroids:
        """Return the head of the given centres (k, width), its unit taken from the vectors."""
        head = cls(centers.shape[0], centers.shape[1], cosine=cosine)
        head.centers.copy_(torch.from_numpy(np.ascontiguousarray(centers, dtype=np.float32)))
        head.unit.fill_(unit_of(head.distances(torch.from_numpy(np.asarray(vectors)))))
        return head

    @classmethod
    def of_labels(cls, vectors: Vectors, labels: NDArray[np.int64], n_clusters: int) -> Centroids:
        """Return the head whose centres are the means of the labelled vectors; −1 is no label."""
        means = [vectors[labels == label].mean(axis=0) for label in range(n_clusters)]
        return cls.of(vectors, np.stack(means))

    def distances(self, embeddings: Tensor) -> Tensor:
        """Return squared distances to the centres, (n, k)."""
        centers: Tensor = self.centers
        if self.cosine:
            embeddings = nn.functional.normalize(embeddings, dim=1)
            centers = nn.functional.normalize(centers, dim=1)
        return squared_distances(embeddings, centers)

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return the log-shares of the clusters, (n, k)."""
        return torch.log_softmax(-self.distances(embeddings) / self.unit, dim=1)

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        return {"n_clusters": self.n_clusters, "width": self.width, "cosine": self.cosine}


class Similarities(Head):
    """Nearest centre where the vectors are already dot products with the centres, (n, k)."""

    def __init__(self, n_clusters: int) -> None:
        super().__init__()
        self.n_clusters = n_clusters
        self.norms = nn.Parameter(torch.zeros(n_clusters), requires_grad=False)  # squared
        self.unit = nn.Parameter(torch.ones(()), requires_grad=False)

    @classmethod
    def of(cls, products: Vectors, norms: Vectors) -> Similarities:
        """Return the head for centres of the given squared norms (k,)."""
        head = cls(len(norms))
        head.norms.copy_(torch.from_numpy(norms))
        head.unit.fill_(unit_of(head.norms - 2 * torch.from_numpy(products)))
        return head

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return the log-shares of the clusters, (n, k)."""
        return torch.log_softmax((2 * embeddings - self.norms) / self.unit, dim=1)

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        return {"n_clusters": self.n_clusters}


class StudentT(Head):
    """Shares by Student's t-distribution around centres that learn, as in DEC.

    q_ij ∝ (1 + |v_i − c_j|²/α)^(−(α+1)/2) (Xie, Girshick and Farhadi, ICML 2016).

    Parameters
    ----------
    n_clusters, width : int
        Number and length of the centres.
    alpha : float
        Degrees of freedom; 1 in DEC.
    scale : float
        Multiplies vectors and centres.
    """

    def __init__(self, n_clusters: int, width: int, alpha: float = 1.0, scale: float = 1.0) -> None:
        super().__init__()
        self.n_clusters, self.width, self.alpha, self.scale = n_clusters, width, alpha, scale
        self.centers = nn.Parameter(torch.zeros(n_clusters, width))

    @classmethod
    def at(cls, centers: Vectors, alpha: float = 1.0, scale: float = 1.0) -> StudentT:
        """Return the head that starts at the given centres (k, width), not scaled yet."""
        head = cls(centers.shape[0], centers.shape[1], alpha, scale)
        head.move_to(centers)
        return head

    def move_to(self, centers: Vectors) -> None:
        """Put the centres (k, width), not scaled yet, in the place of its own."""
        with torch.no_grad():
            self.centers.copy_(self.scale * torch.from_numpy(np.asarray(centers)))

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return log q, (n, k)."""
        power = -(self.alpha + 1) / 2
        far = squared_distances(self.scale * embeddings, self.centers)
        return torch.log_softmax(power * torch.log1p(far / self.alpha), dim=1)

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        return {
            "n_clusters": self.n_clusters,
            "width": self.width,
            "alpha": self.alpha,
            "scale": self.scale,
        }


class ClusterNetwork(Head):
    """The clustering network of CAOT and RSTC on scaled vectors (Eq. 17).

    ``scale`` gives vectors of all encoders a mean square of one, as in `caot.training.Networks`.
    """

    def __init__(
        self, n_clusters: int, width: int, scale: float = 1.0, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.n_clusters, self.width, self.scale = n_clusters, width, scale
        self.dropout = dropout
        self.network = ClusteringNetwork(width, n_clusters, dropout)

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return log P, (n, k)."""
        log_prob: Tensor = self.network(self.scale * embeddings)
        return log_prob

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        return {
            "n_clusters": self.n_clusters,
            "width": self.width,
            "scale": self.scale,
            "dropout": self.dropout,
        }


class Prototypes(Head):
    """Shares by the cosine with prototypes that learn."""

    def __init__(self, n_clusters: int, width: int, temperature: float = 0.1) -> None:
        super().__init__()
        self.n_clusters, self.width, self.temperature = n_clusters, width, temperature
        self.prototypes = nn.Parameter(torch.zeros(n_clusters, width))

    @classmethod
    def at(cls, centers: Vectors, temperature: float) -> Prototypes:
        """Return the head that starts at the directions of the given centres (k, width)."""
        head = cls(centers.shape[0], centers.shape[1], temperature)
        with torch.no_grad():
            head.prototypes.copy_(nn.functional.normalize(torch.from_numpy(centers), dim=1))
        return head

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return log P, (n, k)."""
        unit = nn.functional.normalize(embeddings, dim=1)
        cosines = unit @ nn.functional.normalize(self.prototypes, dim=1).T
        return torch.log_softmax(cosines / self.temperature, dim=1)

    def arguments(self) -> Arguments:
        """Return what the head is made with."""
        return {
            "n_clusters": self.n_clusters,
            "width": self.width,
            "temperature": self.temperature,
        }


def squared_distances(rows: Tensor, centers: Tensor) -> Tensor:
    """Return the squared Euclidean distances, (n, k)."""
    products = rows @ centers.T
    norms = rows.square().sum(dim=1, keepdim=True) + centers.square().sum(dim=1)
    return (norms - 2 * products).clamp_min(0.0)


def unit_of(distances: Tensor) -> float:
    """Return the median gap between the smallest and the second smallest of each row."""
    if distances.shape[1] < 2:
        return 1.0
    smallest = distances.topk(2, dim=1, largest=False).values
    gap = float((smallest[:, 1] - smallest[:, 0]).median())
    return gap if gap > 0 and math.isfinite(gap) else 1.0
