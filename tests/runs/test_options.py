"""Names of settings on the command line are those of its options."""

import typer

from caot.cli import app
from caot.estimator import CAOT
from caot.runs.options import OPTIONS, option_of


def test_every_option_is_one_of_fit_and_every_name_a_setting():
    fit = typer.main.get_command(app).commands["fit"]
    known = {name for option in fit.params for name in option.opts}
    assert set(OPTIONS.values()) <= known
    assert set(OPTIONS) <= set(CAOT().get_params())


def test_other_settings_are_given_as_pairs():
    assert option_of("random_state") == "--seed"
    assert option_of("epsilon") == "--set epsilon=..."
