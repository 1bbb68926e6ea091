"""Settings that decide a result, and those that came later and are off."""

from dataclasses import replace

import pytest

from caot import CAOT
from caot.bench.cells import Cell
from caot.bench.methods import METHODS, deciding_settings, find_method
from caot.bench.running import cell_hash


@pytest.mark.parametrize("name", METHODS)
def test_a_method_with_its_own_number_of_iterations_has_settings_that_it_takes(name):
    model = find_method(name).make(Cell("tweet", name), 5)
    if not isinstance(model, CAOT):
        model._check_parameters()
    assert "max_iter" not in model.get_params() or model.get_params()["max_iter"] != 7
    with_number = find_method(name).make(Cell("tweet", name, max_iter=7), 5)
    assert with_number.get_params().get("max_iter", 7) == 7


@pytest.mark.parametrize("name", METHODS)
def test_a_setting_that_was_added_decides_only_where_it_is_asked_for(name):
    model = find_method(name).make(Cell("tweet", name), 5)
    assert "max_chunks" not in deciding_settings(model)
    if "max_chunks" in model.get_params():
        assert deciding_settings(model.set_params(max_chunks=8))["max_chunks"] == 8


def test_a_method_that_has_changed_has_other_settings_than_before(monkeypatch):
    cell = Cell("tweet", "rstc")
    before = cell_hash(cell, 5)
    monkeypatch.setitem(METHODS, "rstc", replace(find_method("rstc"), version=2))
    assert cell_hash(cell, 5) != before
