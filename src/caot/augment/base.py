"""What augmenters share that make views text by text, wherever the text stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from caot.augment.protocol import TextViews, augment_distinct

if TYPE_CHECKING:
    from caot.encoders import Encoder


@dataclass(frozen=True, slots=True)
class Request:
    """What a call adds to the settings of an augmenter; see `Augmenter.__call__`."""

    encoder: Encoder | None
    random_state: int
    progress: bool


class TextAugmenter(ABC):
    """Base of augmenters: each distinct text that is not blank is augmented once.

    An augmenter of its own is an immutable record of its settings with a ``name``, and implements
    `_views_of`.
    """

    __slots__ = ()

    identical: ClassVar[bool] = False

    def __call__(
        self,
        texts: Sequence[str],
        *,
        encoder: Encoder | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> TextViews:
        """Return the two views of `texts`, n texts each; see `Augmenter`."""
        request = Request(encoder, random_state, progress)
        return augment_distinct(texts, lambda distinct: self._views_of(distinct, request))

    @abstractmethod
    def _views_of(self, texts: list[str], request: Request) -> tuple[Sequence[str], Sequence[str]]:
        """Return the two views of m distinct texts, m texts each."""
