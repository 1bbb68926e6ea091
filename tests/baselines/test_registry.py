from __future__ import annotations

import subprocess
import sys

import pytest

from caot.baselines import METHODS, make_method


def test_a_method_is_made_by_its_name() -> None:
    model = make_method("kmeans", 5, n_init=3)
    assert (model.n_clusters, model.get_params()["n_init"]) == (5, 3)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'kmeans'"):
        make_method("k-means", 5)


def test_the_number_of_clusters_is_needed() -> None:
    with pytest.raises(ValueError, match="needs n_clusters"):
        make_method("kmeans")


def test_every_method_says_what_it_is() -> None:
    for name, method in METHODS.items():
        assert name == method.name == name.lower()
        assert 10 < len(method.description) < 100
        assert method.load().__doc__


def test_names_are_known_without_torch() -> None:
    code = "import sys, caot.baselines; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
