"""From what a user writes to an augmenter that fits the encoder."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from caot.augment.contextual import Contextual
from caot.augment.dropout import Dropout, WordDropout
from caot.augment.given import Custom
from caot.augment.noise import FeatureNoise
from caot.augment.protocol import Augmenter
from caot.augment.substitute import Substitute
from caot.augment.word_space import has_words

if TYPE_CHECKING:
    from caot.encoders import Encoder

logger = logging.getLogger("caot.augment")

_BY_NAME: dict[str, Callable[[], Augmenter]] = {
    "contextual": Contextual,
    "substitute": Substitute,
    "word-dropout": WordDropout,
    "dropout": Dropout,
    "feature-noise": FeatureNoise,
}


def resolve_augmenter(
    spec: str | Augmenter | Callable[[list[str]], object],
    *,
    encoder: Encoder | None,
    frozen: bool,
    offline: bool,
    changes_texts: bool = False,
) -> Augmenter:
    """Return the augmenter that `spec` means, after checking that it fits.

    Parameters
    ----------
    spec : str, Augmenter or callable
        "auto", a name ("contextual", "substitute", "word-dropout", "dropout", "feature-noise"),
        an augmenter, or a function `texts -> (first, second)`. "auto" takes `FeatureNoise` for
        vectors and behind a frozen encoder, which then reads every text once. Otherwise it takes
        the best that works without a network: `Contextual` if its models are here, `Substitute` if
        the encoder has words, else `WordDropout`. The log says which.
    encoder : Encoder, optional
        The encoder of the run.
    frozen : bool
        Whether the encoder stays as it is, so that equal texts have equal vectors.
    offline : bool
        Whether models must be here already.
    changes_texts : bool
        Whether "auto" changes texts behind a frozen encoder, too, as the paper does.

    Raises
    ------
    ValueError
        An unknown name, or an augmenter that cannot work with this encoder.
    OSError
        Offline, and a masked language model is not here.
    """
    vectors = _gives_vectors(encoder)
    on_vectors = vectors or (frozen and not changes_texts)
    augmenter = _automatic(encoder, on_vectors=on_vectors) if _is_auto(spec) else _meant(spec)
    if vectors:
        _check_vectors(augmenter)
    elif frozen and augmenter.identical:
        raise ValueError(
            f"The augmenter {augmenter.name!r} gives the same text twice, and an encoder that is "
            "not trained gives equal texts equal vectors: the two views would not differ. Use "
            "augmenter='auto', 'substitute', 'word-dropout' or 'feature-noise', give views, or "
            "train the encoder (finetune='all' or a number of layers)."
        )
    elif isinstance(augmenter, FeatureNoise) and not frozen:
        raise ValueError(
            "FeatureNoise changes vectors that stay the same during training, but this encoder is "
            "trained. Use augmenter='auto' or another text augmenter, or finetune='none'."
        )
    if isinstance(augmenter, Substitute) and not has_words(encoder):
        raise ValueError(
            "Substitute needs an encoder with a tokenizer and an input embedding, and this one "
            f"({type(encoder).__name__}) has none. Use augmenter='word-dropout' or give views."
        )
    return _without_network(augmenter) if offline else augmenter


def check_augmenter(spec: str | Augmenter | Callable[[list[str]], object]) -> None:
    """Raise unless `spec` means an augmenter; nothing is loaded."""
    if not _is_auto(spec):
        _meant(spec)


def _is_auto(spec: object) -> bool:
    return isinstance(spec, str) and spec == "auto"


def _automatic(encoder: Encoder | None, *, on_vectors: bool) -> Augmenter:
    from caot.augment.masked_loading import is_available  # noqa: PLC0415 - brings in torch

    contextual = Contextual(local_files_only=True)
    absent = [name for name in contextual.models if not is_available(name)]
    augmenter: Augmenter
    if on_vectors:
        augmenter, reason = FeatureNoise(), "vectors stay as they are, and are made once"
    elif not absent:
        augmenter, reason = contextual, "its masked language models are here"
    else:
        reason = f"Contextual needs {' and '.join(absent)}, not found on this machine"
        augmenter = Substitute() if has_words(encoder) else WordDropout()
    logger.info("augmenter='auto' takes %r: %s (%s).", augmenter.name, augmenter, reason)
    return augmenter


def _meant(spec: str | Augmenter | Callable[[list[str]], object]) -> Augmenter:
    if isinstance(spec, str):
        if spec not in _BY_NAME:
            names = ", ".join(repr(name) for name in ("auto", *_BY_NAME))
            raise ValueError(f"Unknown augmenter {spec!r}; choose one of {names}.")
        return _BY_NAME[spec]()
    if isinstance(spec, type):
        raise TypeError(f"augmenter is the class {spec.__name__}; make one: {spec.__name__}(...).")
    if isinstance(spec, Augmenter):
        return spec
    if callable(spec):
        return Custom(spec)
    raise TypeError(
        f"augmenter must be a name, an augmenter or a function, got {type(spec).__name__}; "
        "two columns of texts are given as Views(first, second)."
    )


def _gives_vectors(encoder: Encoder | None) -> bool:
    from caot.encoders import Features  # noqa: PLC0415 - brings in torch

    return isinstance(encoder, Features)


def _check_vectors(augmenter: Augmenter) -> None:
    if not isinstance(augmenter, FeatureNoise):
        raise ValueError(
            f"The augmenter {augmenter.name!r} changes texts, but the inputs are vectors. Use "
            "augmenter='feature-noise', or give the vectors of two views."
        )


def _without_network(augmenter: Augmenter) -> Augmenter:
    from caot.augment.masked_loading import is_available, not_available  # noqa: PLC0415

    if not isinstance(augmenter, Contextual):
        return augmenter
    for name in augmenter.models:
        if not is_available(name):
            raise not_available(name)
    return replace(augmenter, local_files_only=True)
