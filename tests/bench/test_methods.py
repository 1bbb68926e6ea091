"""Settings that decide a result, and those that came later and are off."""

import pytest

from caot.bench.cells import Cell
from caot.bench.methods import METHODS, deciding_settings, find_method


@pytest.mark.parametrize("name", METHODS)
def test_a_setting_that_was_added_decides_only_where_it_is_asked_for(name):
    model = find_method(name).make(Cell("tweet", name), 5)
    assert "max_chunks" not in deciding_settings(model)
    if "max_chunks" in model.get_params():
        assert deciding_settings(model.set_params(max_chunks=8))["max_chunks"] == 8
