"""Views that come from outside: given columns, or any callable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from caot.augment.base import Request, TextAugmenter
from caot.augment.protocol import TextViews, check_texts

if TYPE_CHECKING:
    from caot.encoders import Encoder


@dataclass(frozen=True, slots=True)
class Views:
    """Views given in advance, row by row, such as the columns text1 and text2 of a table.

    Parameters
    ----------
    first, second : iterable of str
        View 1 and view 2 of the texts, in the order of the texts. Kept as tuples.
    """

    first: Iterable[str]
    second: Iterable[str]
    name: ClassVar[str] = "views"
    identical: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in ("first", "second"):
            column = getattr(self, field)
            if isinstance(column, str):
                raise TypeError(f"Views: {field} must be a column of texts, not a single string.")
            object.__setattr__(self, field, tuple(column))
        first, second = tuple(self.first), tuple(self.second)
        if len(first) != len(second):
            raise ValueError(
                f"Views: the first view has {len(first)} texts and the second {len(second)}; "
                "both need one text for each row."
            )
        for number, column in enumerate((first, second), start=1):
            for row, text in enumerate(column):
                if not isinstance(text, str):
                    raise TypeError(
                        f"Views: row {row} of view {number} is of type {type(text).__name__}, "
                        "not str; fill missing values first, for example with the original text."
                    )

    def __call__(
        self,
        texts: Sequence[str],
        *,
        encoder: Encoder | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> TextViews:
        """Return the given views after a check against `texts`."""
        check_texts(texts)
        views = TextViews(list(self.first), list(self.second))
        if len(texts) != len(views.first):
            raise ValueError(
                f"Views has {len(views.first)} rows but there are {len(texts)} texts; "
                "give one view of each kind for each text, in the same order."
            )
        for row, (text, *pair) in enumerate(zip(texts, *views, strict=True)):
            for number, view in enumerate(pair, start=1):
                if text.strip() and not view.strip():
                    raise ValueError(
                        f"Views: view {number} of row {row} is empty although its text is not; "
                        "put the original text there or augment it again."
                    )
        return views


@dataclass(frozen=True, slots=True)
class Custom(TextAugmenter):
    """Any function of texts that returns two lists of texts.

    Parameters
    ----------
    function : callable
        `function(texts) -> (first, second)`. It gets the distinct texts that are not blank, each
        once; views that belong to rows rather than to texts are given with `Views`.
    """

    function: Callable[[list[str]], object]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Custom needs a callable, got {type(self.function).__name__}.")

    @property
    def name(self) -> str:
        """The name of the function, marked as custom."""
        function = self.function
        return f"custom:{getattr(function, '__name__', type(function).__name__)}"

    def _views_of(self, texts: list[str], request: Request) -> tuple[list[str], list[str]]:
        return self._checked(self.function(texts))

    def _checked(self, result: object) -> tuple[list[str], list[str]]:
        if not isinstance(result, Iterable) or isinstance(result, str | bytes):
            raise TypeError(
                f"{self.name} returned {type(result).__name__}; return two lists of texts: "
                "(first, second)."
            )
        columns = list(result)
        if any(isinstance(column, str) for column in columns):
            raise ValueError(
                f"{self.name} returned one list of texts; an augmenter returns two views: "
                "(first, second). Call it twice, or return (texts, augmented)."
            )
        if len(columns) != 2:
            raise ValueError(f"{self.name} returned {len(columns)} views; return exactly two.")
        first, second = (list(column) for column in columns)
        check_texts(first)
        check_texts(second)
        return first, second
