"""All methods by name, found without importing any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

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
    encodes : bool
        Whether its vectors come from an encoder.
    finetunes : bool
        Whether it can train layers of that encoder.
    takes_views : bool
        Whether two views of each text, made by any augmenter, have a part in it.
    approximation : bool
        Whether the original is not known well enough to be sure of the details.
    needs : str or None
        What must be at hand besides the library itself.
    libraries : tuple of str
        Modules that it imports and that are no part of an ordinary installation.
    finds_k : bool
        Whether it decides on the number of clusters itself where none is given.
    takes_k : bool
        Whether a number of clusters that is given has a part in it.
    version : int
        Goes up when the method finds other clusters with the same settings, so that records of
        before count as missing.
    """

    name: str
    title: str
    description: str
    module: str
    class_name: str
    learns: bool = False
    encodes: bool = True
    finetunes: bool = False
    takes_views: bool = False
    approximation: bool = False
    needs: str | None = None
    libraries: tuple[str, ...] = ()
    finds_k: bool = False
    takes_k: bool = True
    version: int = 1

    def load(self) -> type[Baseline]:
        """Import the class."""
        module = import_module(f"caot.baselines.{self.module}")
        return cast("type[Baseline]", getattr(module, self.class_name))


RIVALS = "rivals"

_ALL = (
    Method(
        "tfidf",
        "TF-IDF",
        "K-means on TF-IDF weights of words",
        "tfidf",
        "TfidfKMeans",
        encodes=False,
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
        version=2,  # seeds next to each other shared starts
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
        encodes=False,
    ),
    Method(
        "self-train",
        "Self-Train",
        "an auto-encoder of averaged word vectors and DEC's self-training",
        "self_train",
        "SelfTrain",
        learns=True,
        encodes=False,
    ),
    Method(
        "back-trans",
        "Back-Trans",
        "contrast of a text with its translation there and back, then K-means",
        "back_translation",
        "BackTrans",
        learns=True,
        finetunes=True,
        needs="two translation models",
    ),
    Method(
        "simcse",
        "SimCSE",
        "contrast of a text with itself under another dropout mask, then K-means",
        "simcse",
        "SimCSE",
        learns=True,
        finetunes=True,
    ),
    Method(
        "esimcse",
        "ESimCSE",
        "SimCSE with repeated words and a momentum queue of negatives, then K-means",
        "esimcse",
        "ESimCSE",
        learns=True,
        finetunes=True,
    ),
    Method(
        "sccl",
        "SCCL",
        "contrast of two views together with DEC's sharpened targets",
        "sccl",
        "SCCL",
        learns=True,
        finetunes=True,
        takes_views=True,
    ),
    Method(
        "rstc",
        "RSTC",
        "pseudo-labels from adaptive transport over the whole data set, and contrast",
        "rstc",
        "RSTC",
        learns=True,
        finetunes=True,
        takes_views=True,
    ),
    Method(
        "scl",
        "SCL",
        "contrast of a text with what the others of its subspace say, then K-means",
        "scl",
        "SCL",
        learns=True,
        finetunes=True,
        version=2,  # relations of the untrained vectors, and a slower rate
    ),
    Method(
        "scpcl",
        "SCPCL",
        "pseudo-labels from adaptive transport guide a contrast with prototypes",
        "scpcl",
        "SCPCL",
        learns=True,
        finetunes=True,
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
        finetunes=True,
        takes_views=True,
    ),
    Method(
        "cc",
        "CC",
        "contrast of instances in rows and of clusters in columns",
        "cc",
        "CC",
        learns=True,
        finetunes=True,
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
        needs=f"the extra {RIVALS}",
        libraries=("bertopic", "umap"),
        finds_k=True,
    ),
    Method(
        "umap-hdbscan",
        "UMAP + HDBSCAN",
        "dense regions after UMAP; finds the number of clusters, and noise",
        "umap_hdbscan",
        "UmapHdbscan",
        needs=f"the extra {RIVALS}",
        libraries=("umap",),
        finds_k=True,
        takes_k=False,
    ),
    Method(
        "evoc",
        "EVoC",
        "dense regions of a neighbour graph's own embedding; finds noise",
        "evoc",
        "EVoCAdapter",
        needs=f"the extra {RIVALS}",
        libraries=("evoc",),
        finds_k=True,
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})
"""Every method by its name."""


def method_of(class_name: str) -> Method:
    """Return the method whose class has that name; KeyError if there is none."""
    return {method.class_name: method for method in _ALL}[class_name]
