"""All methods by name, found without importing any of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from caot.baselines.base import Baseline


@dataclass(frozen=True, slots=True)
class Method:
    """A method, and what a table or a help text says about it.

    Attributes
    ----------
    name : str
        The name that users write.
    title : str
        The name in tables.
    description : str
        One line.
    module, class_name : str
        Where its class is.
    learns : bool
        Whether it trains networks, and so has a number of iterations.
    takes_views : bool
        Whether two views of each text have a part in it.
    approximation : bool
        Whether the original is not known well enough to be sure of the details.
    needs : str or None
        What must be at hand besides the library itself.
    finds_k : bool
        Whether it decides on the number of clusters itself.
    """

    name: str
    title: str
    description: str
    module: str
    class_name: str
    learns: bool = False
    takes_views: bool = False
    approximation: bool = False
    needs: str | None = None
    finds_k: bool = False

    def load(self) -> type[Baseline]:
        """Import the class."""
        module = import_module(f"caot.baselines.{self.module}")
        return cast("type[Baseline]", getattr(module, self.class_name))


RIVALS = "caot[rivals]"

_ALL = (
    Method(
        "tfidf",
        "TF-IDF",
        "K-means on TF-IDF weights of words",
        "tfidf",
        "TfidfKMeans",
    ),
    Method(
        "kmeans",
        "K-means",
        "K-means on the encoder's embeddings",
        "kmeans",
        "EmbeddingKMeans",
    ),
    Method(
        "spherical-kmeans",
        "Spherical K-means",
        "K-means by cosine on the encoder's embeddings",
        "spherical",
        "SphericalKMeans",
    ),
    Method(
        "agglomerative",
        "Agglomerative",
        "clusters merged pair by pair, by Ward's criterion unless told otherwise",
        "agglomerative",
        "Agglomerative",
    ),
    Method(
        "stcc",
        "STCC",
        "a convolutional network on word vectors that predicts binary codes, then K-means",
        "stcc",
        "STCC",
        learns=True,
    ),
    Method(
        "self-train",
        "Self-Train",
        "an auto-encoder of averaged word vectors and DEC's self-training",
        "self_train",
        "SelfTrain",
        learns=True,
    ),
    Method(
        "back-trans",
        "Back-Trans",
        "contrast of a text with its translation there and back, then K-means",
        "back_translation",
        "BackTrans",
        learns=True,
        takes_views=True,
        needs="two translation models",
    ),
    Method(
        "simcse",
        "SimCSE",
        "contrast of a text with itself under another dropout mask, then K-means",
        "simcse",
        "SimCSE",
        learns=True,
    ),
    Method(
        "esimcse",
        "ESimCSE",
        "SimCSE with repeated words and a momentum queue of negatives, then K-means",
        "esimcse",
        "ESimCSE",
        learns=True,
    ),
    Method(
        "sccl",
        "SCCL",
        "contrast of two views together with DEC's sharpened targets",
        "sccl",
        "SCCL",
        learns=True,
        takes_views=True,
    ),
    Method(
        "rstc",
        "RSTC",
        "pseudo-labels from adaptive transport over the whole data set, and contrast",
        "rstc",
        "RSTC",
        learns=True,
        takes_views=True,
    ),
    Method(
        "scl",
        "SCL",
        "contrast of a text with what the others of its subspace say, then K-means",
        "scl",
        "SCL",
        learns=True,
    ),
    Method(
        "scpcl",
        "SCPCL",
        "pseudo-labels from adaptive transport guide a contrast with prototypes",
        "scpcl",
        "SCPCL",
        learns=True,
        takes_views=True,
        approximation=True,
    ),
    Method(
        "fnscc",
        "FNSCC",
        "SCCL with near texts out of the negatives and shares mixed among neighbours",
        "fnscc",
        "FNSCC",
        learns=True,
        takes_views=True,
    ),
    Method(
        "cc",
        "CC",
        "contrast of instances in rows and of clusters in columns",
        "cc",
        "CC",
        learns=True,
        takes_views=True,
    ),
    Method(
        "tcllm",
        "TCLLM-BERT",
        "embeddings of a language model and a classical algorithm",
        "tcllm",
        "TCLLM",
    ),
    Method(
        "bertopic",
        "BERTopic",
        "BERTopic with its K-means option at k, or by its defaults without k",
        "bertopic",
        "BERTopicAdapter",
        needs=RIVALS,
        finds_k=True,
    ),
    Method(
        "umap-hdbscan",
        "UMAP + HDBSCAN",
        "dense regions after UMAP; finds the number of clusters, and noise",
        "umap_hdbscan",
        "UmapHdbscan",
        needs=RIVALS,
        finds_k=True,
    ),
    Method(
        "evoc",
        "EVoC",
        "dense regions of a neighbour graph's own embedding; finds noise",
        "evoc",
        "EVoCAdapter",
        needs=RIVALS,
        finds_k=True,
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})
"""Every method by its name."""


def make_method(name: str, n_clusters: int | None = None, **parameters: Any) -> Baseline:  # noqa: ANN401
    """Return an estimator that is not fitted yet.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    n_clusters : int, optional
        Needed unless the method finds it itself.
    **parameters
        Of the method's class.

    Examples
    --------
    >>> make_method("kmeans", 20).n_clusters
    20
    """
    method = METHODS.get(name)
    if method is None:
        near = difflib.get_close_matches(name.lower(), METHODS, n=1, cutoff=0.4)
        advice = f"did you mean {near[0]!r}? " if near else ""
        msg = f"there is no method {name!r}: {advice}choose one of {', '.join(METHODS)}"
        raise ValueError(msg)
    if n_clusters is None:
        if not method.finds_k:
            msg = f"the method {name!r} needs n_clusters"
            raise ValueError(msg)
        return method.load()(**parameters)
    return method.load()(n_clusters, **parameters)
