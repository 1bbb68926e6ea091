"""The contract of an augmenter: texts in, two views out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from caot.encoders import Encoder


class TextViews(NamedTuple):
    """Two views of n texts, row by row.

    Attributes
    ----------
    first, second : list of str
        View 1 and view 2, n texts each.
    """

    first: list[str]
    second: list[str]


@runtime_checkable
class Augmenter(Protocol):
    """Turns texts into two views of them.

    An augmenter is an immutable record of its settings; the work happens in the call. Equal texts
    get equal views, blank texts come back as they are, and the same `random_state` gives the same
    views again.
    """

    @property
    def name(self) -> str:
        """The name shown to users and put in records."""
        ...

    @property
    def identical(self) -> bool:
        """Whether both views are the text itself, told apart by a trained encoder's dropout."""
        ...

    def __call__(
        self,
        texts: Sequence[str],
        *,
        encoder: Encoder | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> TextViews:
        """Return the two views of `texts`, n texts each.

        Parameters
        ----------
        texts : sequence of str
            The n original texts.
        encoder : Encoder, optional
            The encoder of the run; some augmenters take words or similarities from it.
        random_state : int
            Seed of all draws.
        progress : bool
            Show a progress bar where the work is long.
        """
        ...


def check_texts(texts: Sequence[str]) -> None:
    """Raise unless `texts` is a sequence of strings (a lone string is a frequent slip)."""
    if isinstance(texts, str):
        raise TypeError("An augmenter takes a sequence of texts, not a single string; pass [text].")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"Row {row} is of type {type(text).__name__}, not str; "
                "convert or fill missing values before augmenting."
            )


def augment_distinct(
    texts: Sequence[str], views_of: Callable[[list[str]], tuple[Sequence[str], Sequence[str]]]
) -> TextViews:
    """Augment each distinct text that is not blank once and spread the views over all rows.

    Parameters
    ----------
    texts : sequence of str
        The n original texts; may repeat, may be blank.
    views_of : callable
        m distinct texts → two sequences of m views.
    """
    check_texts(texts)
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    first, second = views_of(distinct) if distinct else ([], [])
    if not len(first) == len(second) == len(distinct):
        raise ValueError(
            f"The augmenter got {len(distinct)} texts but gave views of {len(first)} and "
            f"{len(second)} texts; both views need one text for each input."
        )
    first_of = dict(zip(distinct, first, strict=True))
    second_of = dict(zip(distinct, second, strict=True))
    return TextViews(
        [first_of.get(text, text) for text in texts],
        [second_of.get(text, text) for text in texts],
    )
