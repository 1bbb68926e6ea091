"""Where names stand on the map."""

import numpy as np
import pytest

from caot.report.layout import lay_out_map


def anchor_of(points, frame=20.0):
    """Return the place of the name of one cluster, in the units of its points."""
    corners = np.array([[-frame, -frame], [frame, frame]])  # texts without a cluster
    coordinates = np.concatenate([points, corners]).astype(np.float32)
    positions = np.array([0] * len(points) + [-1, -1])
    layout = lay_out_map(coordinates, positions, np.array([len(points)]))
    return layout.anchors[0] / 32767 * frame - frame


def test_the_name_of_a_small_cluster_stands_in_its_midst():
    # No two of them share a cell of a grid of 24 x 24; the first lies far off.
    points = np.array([[-18, -18], [4, 4], [6, 4], [4, 6], [6, 6], [8, 5], [5, 8], [5.5, 5.4]])
    assert anchor_of(points) == pytest.approx([5.5, 5.4], abs=0.01)


@pytest.mark.parametrize("n", [60, 600, 6000])
def test_the_name_of_a_cluster_stands_where_most_texts_are(n):
    rng = np.random.default_rng(0)
    spread = rng.uniform(-15, 15, (n // 2, 2))
    heap = rng.normal([7, -7], 0.8, (n - n // 2, 2))
    assert anchor_of(np.concatenate([spread, heap])) == pytest.approx([7, -7], abs=1)


def test_clusters_of_few_or_no_texts_have_a_place():
    coordinates = np.array([[0, 0], [4, 2], [4, 2], [8, 8]], dtype=np.float32)
    layout = lay_out_map(coordinates, np.array([0, 1, 1, -1]), np.array([1, 2, 0]))
    assert layout.anchors[:2].tolist() == layout.places[:2].tolist()
    assert np.isfinite(layout.anchors).all()
