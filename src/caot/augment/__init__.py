"""Augmenters: texts (or vectors) in, two views out."""

from caot.augment.contextual import Contextual
from caot.augment.dropout import Dropout, WordDropout
from caot.augment.given import Custom, Views
from caot.augment.noise import FeatureNoise
from caot.augment.protocol import Augmenter, TextViews
from caot.augment.resolve import check_augmenter, resolve_augmenter
from caot.augment.substitute import Substitute
from caot.augment.word_space import WordSpace, word_space

__all__ = [
    "Augmenter",
    "Contextual",
    "Custom",
    "Dropout",
    "FeatureNoise",
    "Substitute",
    "TextViews",
    "Views",
    "WordDropout",
    "WordSpace",
    "check_augmenter",
    "resolve_augmenter",
    "word_space",
]
