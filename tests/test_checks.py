"""Settings that cannot be are refused by their names."""

import math

import pytest

from caot.checks import check_device, check_finetune, check_layers, require_choice, require_integer


@pytest.mark.parametrize("value", [1, 1.0, 2.5, "2", None, math.nan])
def test_whole_numbers_have_a_least_value(value):
    require_integer("n_things", 2, 2)
    with pytest.raises(ValueError, match="n_things must be an integer of at least 2, got") as error:
        require_integer("n_things", value, 2)
    assert repr(value) in str(error.value)


def test_choices_are_listed():
    require_choice("colour", "red", ("red", "blue"))
    with pytest.raises(ValueError, match="colour must be one of 'red', 'blue', got 'grey'"):
        require_choice("colour", "grey", ("red", "blue"))


def test_devices_are_known_by_name():
    for spec in (None, "cpu", "cuda:1"):
        check_device(spec)
    for other in ("abacus", 1.5):
        with pytest.raises(ValueError, match="device must be None or a name such as 'cpu'"):
            check_device(other)


@pytest.mark.parametrize("spec", ["all", 2])
def test_vectors_cannot_be_fine_tuned(spec):
    with pytest.raises(ValueError, match="vectors have none: use 'none'"):
        check_layers(spec, 0)


def test_more_layers_than_there_are_cannot_be_trained():
    with pytest.raises(ValueError, match="finetune=7 is more than the encoder's 6 layers"):
        check_layers(7, 6)


def test_layers_that_can_be_trained():
    for spec in ("auto", "none"):
        check_layers(spec, 0)
    for spec in ("auto", "none", "all", 2):
        check_layers(spec, 6)


def test_fine_tuning_is_a_name_or_a_number_of_layers():
    for spec in ("auto", "all", "none", 1, 12):
        check_finetune(spec)
    for spec in ("some", 0, -1, True, 1.5, None):
        with pytest.raises(ValueError, match="'auto', 'all', 'none' or a number of top layers"):
            check_finetune(spec)
