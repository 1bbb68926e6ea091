"""The words that an encoder knows, as vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caot.augment.function_words import FUNCTION_WORDS
from caot.augment.vocabulary import whole_words
from caot.augment.words import fold, is_unspaced
from caot.vectors import unit_rows

if TYPE_CHECKING:
    from torch import nn

    from caot.encoders import Encoder

_BLOCK = 512  # words whose similarities to all others are held at a time

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class WordSpace(NamedTuple):
    """V words and their vectors.

    Attributes
    ----------
    words : list of str
        Whole words.
    vectors : ndarray, shape (V, d)
        A row for each word.
    """

    words: list[str]
    vectors: Matrix


class Neighbors(NamedTuple):
    """The nearest words of one word, nearest first.

    Attributes
    ----------
    words : list of str
        At most k words.
    similarities : list of float
        Their cosine similarities.
    """

    words: list[str]
    similarities: list[float]


def has_words(encoder: Encoder | None) -> bool:
    """Whether `word_space` can read words and their vectors from an encoder."""
    return _tokenizer(encoder) is not None and _input_embedding(encoder) is not None


def word_space(encoder: Encoder) -> WordSpace:
    """Read the whole words of an encoder's tokenizer and their input embeddings.

    Raises
    ------
    ValueError
        The encoder has no vocabulary or no input embedding, as with precomputed vectors.
    """
    tokenizer, embedding = _tokenizer(encoder), _input_embedding(encoder)
    if tokenizer is None or embedding is None:
        raise ValueError(
            f"{type(encoder).__name__} has no words to substitute: no tokenizer with an input "
            "embedding. Use augmenter='word-dropout' for texts, 'feature-noise' for vectors, or "
            "give views."
        )
    found = whole_words(tokenizer)
    weight = embedding.weight.detach()[found.ids].float().cpu().numpy()
    return WordSpace(found.words, weight)


def nearest_words(
    space: WordSpace, words: Iterable[str], *, n_neighbors: int, min_similarity: float
) -> dict[str, Neighbors]:
    """Find the nearest words of each word that the space knows and that is no function word.

    Similarity is the cosine of the centred vectors: centring removes the direction that all
    words share. Function words, the word itself in any case, and words of the other kind of
    script (with or without spaces) are no neighbours.

    Parameters
    ----------
    space : WordSpace
        The V words.
    words : iterable of str
        Words to look up, by their form in the space or else in lower case.
    n_neighbors : int
        At most this many neighbours a word.
    min_similarity : float
        The least cosine of a neighbour.

    Returns
    -------
    dict of str to Neighbors
        Only words with at least one neighbour.
    """
    row_of = {word: row for row, word in enumerate(space.words)}
    folded = [fold(word) for word in space.words]
    unspaced = np.array([is_unspaced(word) for word in space.words], dtype=bool)
    content = np.array([form not in FUNCTION_WORDS for form in folded], dtype=bool)
    rows = {word: row_of.get(word, row_of.get(word.lower())) for word in dict.fromkeys(words)}
    wanted = {word: row for word, row in rows.items() if row is not None and content[row]}
    same: dict[str, list[int]] = {}
    for row, form in enumerate(folded):
        same.setdefault(form, []).append(row)
    unit = _unit(space.vectors)
    queries = sorted(set(wanted.values()))
    found: dict[int, Neighbors] = {}
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        cosine = unit[block] @ unit.T  # (block, V)
        cosine[:, ~content] = -np.inf
        cosine[unspaced[block][:, None] != unspaced] = -np.inf
        for row, own in zip(block, cosine, strict=True):
            own[same[folded[row]]] = -np.inf
            found[row] = _best(own, space.words, n_neighbors, min_similarity)
    return {word: found[row] for word, row in wanted.items() if found[row].words}


def _best(
    cosine: np.ndarray[Any, np.dtype[np.float32]],
    words: Sequence[str],
    n_neighbors: int,
    min_similarity: float,
) -> Neighbors:
    """Return the best words, each in one spelling alone (cased vocabularies have several)."""
    n_looked_at = min(4 * n_neighbors, len(cosine))
    order = np.argpartition(-cosine, n_looked_at - 1)[:n_looked_at]
    order = order[np.lexsort((order, -cosine[order]))]
    best: dict[str, int] = {}
    for row in order[cosine[order] >= min_similarity].tolist():
        best.setdefault(fold(words[row]), row)
    chosen = list(best.values())[:n_neighbors]
    return Neighbors([words[row] for row in chosen], [float(cosine[row]) for row in chosen])


def _unit(vectors: Matrix) -> Matrix:
    return unit_rows(vectors - vectors.mean(axis=0))


def _tokenizer(encoder: Encoder | None) -> Any:  # noqa: ANN401 - a tokenizer of any library
    for owner in (encoder, *_parts(encoder)):
        tokenizer = getattr(owner, "tokenizer", None)
        if hasattr(tokenizer, "get_vocab") and hasattr(tokenizer, "convert_tokens_to_string"):
            return tokenizer
    return None


def _input_embedding(encoder: Encoder | None) -> nn.Embedding | None:
    from torch import nn  # noqa: PLC0415 - heavy import

    for part in _parts(encoder):
        get_embedding = getattr(part, "get_input_embeddings", None)
        embedding = get_embedding() if callable(get_embedding) else None
        if isinstance(embedding, nn.Embedding):
            return embedding
    return None


def _parts(encoder: Encoder | None) -> Iterator[object]:
    """Yield the encoder's module and all modules inside it; nothing for other encoders."""
    modules = getattr(getattr(encoder, "module", None), "modules", None)
    if callable(modules):
        yield from modules()
