"""What the words of the texts say beside the encoder: vectors of shared, rare words (Eq. 36)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from caot.neighbours import unit_rows

_WIDTH = 100
_MAX_WORDS = 50_000
# A word of a single text connects nothing, one of every other text tells nothing.
_LEAST_TEXTS, _MOST_TEXTS = 2, 0.5


def word_vectors(
    texts: Sequence[str], width: int = _WIDTH, *, random_state: int = 0
) -> NDArray[np.float32] | None:
    """Return unit vectors of the texts by their weighted words, (n, at most ``width``).

    They are the leading singular vectors of TF-IDF, or TF-IDF itself where words are few. A text
    without a word that counts has a vector of zeros; None if no word counts, as in very few texts.

    Examples
    --------
    >>> things = ("door", "window", "gate", "roof", "lock", "wall")
    >>> word_vectors([f"{verb} the {thing}" for verb in ("lift", "mend") for thing in things]).shape
    (12, 8)
    """
    vectorizer = TfidfVectorizer(
        stop_words="english",  # without effect on other languages
        sublinear_tf=True,
        min_df=_LEAST_TEXTS,
        max_df=_MOST_TEXTS,
        max_features=_MAX_WORDS,
        dtype=np.float32,
    )
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError:  # no word is left: scikit-learn has no other sign for it
        return None
    if weights.shape[1] <= width:  # nothing to cut
        return unit_rows(weights.toarray())
    vectors = TruncatedSVD(width, random_state=random_state).fit_transform(weights)
    return unit_rows(vectors)


def beside(
    vectors: NDArray[np.float32], words: NDArray[np.float32] | None, weight: float
) -> NDArray[np.float32]:
    """Return unit embeddings with word vectors beside them (Eq. 36), (n, width + words' width).

    Without words, or with a weight of 0, the embeddings themselves are returned.
    """
    if words is None or weight == 0:
        return vectors
    return np.concatenate([unit_rows(vectors), weight * words], axis=1)
