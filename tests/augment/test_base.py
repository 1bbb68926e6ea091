"""The base of augmenters: distinct texts once, and what a call asks for."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from caot.augment import Augmenter
from caot.augment.base import Request, TextAugmenter
from tests.fakes import HashEncoder

seen = []


@dataclass(frozen=True, slots=True)
class Marked(TextAugmenter):
    """Puts a mark before, or behind, each text."""

    mark: str = "!"
    name: ClassVar[str] = "marked"

    def _views_of(self, texts, request):
        seen.append((texts, request))
        return [self.mark + text for text in texts], [text + self.mark for text in texts]


def test_an_augmenter_sees_distinct_texts_once_and_what_the_call_asks_for():
    seen.clear()
    encoder = HashEncoder()
    views = Marked("?")(["b", " ", "a", "b"], encoder=encoder, random_state=3, progress=True)
    assert views == (["?b", " ", "?a", "?b"], ["b?", " ", "a?", "b?"])
    assert seen == [(["b", "a"], Request(encoder, 3, True))]


def test_it_is_an_augmenter_whose_views_differ_and_a_record_without_a_dictionary():
    assert isinstance(Marked(), Augmenter)
    assert Marked("?") == Marked("?") != Marked()
    assert not Marked().identical
    assert not hasattr(Marked(), "__dict__")


def test_what_is_no_list_of_texts_is_refused():
    with pytest.raises(TypeError, match="not a single string"):
        Marked()("text")
