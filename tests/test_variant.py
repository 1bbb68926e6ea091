"""Choices that the paper leaves open."""

import math

import pytest

import caot
from caot.training import SimilaritySettings
from caot.variant import Variant


def test_a_variant_is_found_where_earlier_versions_had_it():
    from caot.settings import Variant as Former

    assert caot.Variant is Former is Variant


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pseudo_labels": "sinkhorn"}, "pseudo_labels must be one of 'consistent', .* 'sinkhorn'"),
        ({"similarity": "all"}, "similarity must be one of 'both', .* got 'all'"),
        ({"uniformity_scale": 0.0}, "uniformity_scale must be positive, got 0.0"),
        ({"uniformity_scale": math.inf}, "uniformity_scale must be positive, got inf"),
        ({"uniformity_scale": math.nan}, "uniformity_scale must be positive, got nan"),
    ],
)
def test_variants_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Variant(**changes)


@pytest.mark.parametrize(
    ("name", "weights"),
    [("both", (1, 1)), ("cosine", (1, 0)), ("attention", (0, 1)), ("none", (0, 0))],
)
def test_a_variant_weighs_the_similarities(name, weights):
    assert Variant(similarity=name).similarity_settings == SimilaritySettings(*weights)
    assert Variant(keep_diagonal=True).similarity_settings.keep_diagonal
