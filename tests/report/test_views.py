"""What the page says in numbers."""

import numpy as np
import pytest

from caot.report.views import headline, make_cards
from tests.report.samples import make_data


@pytest.mark.parametrize(
    ("confidence", "shown"), [(0.999, "99%"), (0.994, "99%"), (1.0, "100%"), (0.5, "50%")]
)
def test_only_all_is_100_per_cent(confidence, shown):
    data = make_data(confidence=np.full(210, confidence))
    tiles = {tile.name: tile.value for tile in headline(data, make_cards(data))}
    assert tiles["mean confidence"] == shown
    assert tiles["in doubt"] == "0.0%"


def test_nearly_all_in_doubt_is_not_all():
    confidence = np.full(4000, 0.1)
    confidence[0] = 0.9
    data = make_data(4000, confidence=confidence)
    tiles = {tile.name: tile.value for tile in headline(data, make_cards(data))}
    assert tiles["in doubt"] == "99.9%"
