import re

import numpy as np
import pytest

from caot.report.palette import palette


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def places(k):
    return np.random.default_rng(0).uniform(0, 1, (k, 2))


@pytest.mark.parametrize("k", [1, 2, 20, 152])
def test_each_cluster_has_its_own_colour(k):
    colours = palette(places(k))
    assert len({colour.light for colour in colours}) == k
    for colour in colours:
        assert re.fullmatch("#[0-9a-f]{6}", colour.light)
        assert re.fullmatch("#[0-9a-f]{6}", colour.dark)


def test_colours_stand_out_from_the_page():
    for colour in palette(places(60)):
        assert contrast(colour.light, "#ffffff") > 1.9
        assert contrast(colour.dark, "#1a1e21") > 3.0


def test_twenty_colours_are_apart_also_without_green_cones():
    lacking_green = np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    )
    seen = np.array([linear(colour.light) @ lacking_green.T for colour in palette(places(20))])
    encoded = np.clip(seen, 0, 1) ** (1 / 2.2)
    gaps = np.linalg.norm(encoded[:, None] - encoded[None], axis=2)[np.triu_indices(20, 1)]
    assert gaps.min() > 0.05


def test_neighbours_on_the_map_differ_more_than_the_rest():
    spots = places(60)
    colours = np.array([linear(colour.light) ** (1 / 2.2) for colour in palette(spots)])
    apart = np.linalg.norm(colours[:, None] - colours[None], axis=2)
    away = np.linalg.norm(spots[:, None] - spots[None], axis=2)
    np.fill_diagonal(away, np.inf)
    beside = apart[np.arange(60), away.argmin(axis=1)]
    others = apart[np.triu_indices(60, 1)]
    assert np.quantile(beside, 0.1) > 1.3 * np.quantile(others, 0.1)


def test_more_clusters_than_colours_repeat_them():
    assert len(palette(places(700))) == 700
