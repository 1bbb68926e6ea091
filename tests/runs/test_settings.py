"""Settings of a run: those of a fit and its own; records and runs of earlier versions."""

import json
from dataclasses import fields, replace

import pytest

from caot import CAOT, Variant
from caot.runs import Describing, Endpoint, RunError, RunSettings
from caot.runs.record import RunRecord, finite
from caot.runs.reporting import _shown_parameters, _shown_settings
from caot.runs.resuming import check_same
from caot.settings import FitSettings

# As checkpoint.json and run.json had them when a run knew ten of the estimator's parameters.
BEFORE = {
    "n_clusters": 3,
    "encoder": "auto",
    "finetune": "none",
    "imbalance": "auto",
    "max_iter": 30,
    "max_length": None,
    "on_empty": "error",
    "time_budget": None,
    "device": None,
    "random_state": 0,
}
BEGUN = {
    **BEFORE,
    "min_confidence": None,
    "describing": {"languages": ["auto"], "n_examples": 5, "n_keywords": 10},
    "endpoint": None,
    "raw": False,
    "checkpoint_every": 20,
}
SETTINGS = RunSettings(3, finetune="none", max_iter=30)


def test_a_run_has_all_settings_of_a_fit():
    settings = RunSettings(4, mode="faithful", epsilon=0.5)
    parameters = settings.parameters(7)
    assert CAOT(**parameters).get_params(deep=False) == parameters
    assert parameters["n_clusters"] == 7
    assert FitSettings.of(parameters) == FitSettings(mode="faithful", epsilon=0.5)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_clusters": 1}, RunError, "ask for at least 2, or auto"),
        ({"min_confidence": 2}, RunError, "give a number from 0 to 1"),
        ({"finetune": 0}, ValueError, "finetune must be"),
        ({"time_budget": "soon"}, ValueError, "time_budget must be"),
        ({"device": "abacus"}, ValueError, "device must be"),
        ({"epsilon": 0.0}, ValueError, "epsilon must be positive"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        RunSettings(**{"n_clusters": "auto", **changes})


def test_everything_is_written_but_a_key():
    settings = RunSettings("auto", endpoint=Endpoint("https://x.example/v1", "clever", "secret"))
    plain = settings.as_dict()
    assert set(plain) == {field.name for field in fields(RunSettings)}
    assert plain["n_clusters"] == "auto"
    assert plain["endpoint"] == {"base_url": "https://x.example/v1", "model": "clever"}
    assert "secret" not in json.dumps(plain)


def test_what_earlier_versions_wrote_is_still_written():
    plain = finite(SETTINGS.as_dict())
    assert {name: plain[name] for name in BEGUN} == BEGUN


def test_a_run_of_an_earlier_version_goes_on():
    begun = {"n_clusters": 3, "settings": BEGUN}
    check_same(begun, finite(SETTINGS.as_dict()))
    check_same(begun, finite(replace(SETTINGS, n_clusters="auto").as_dict()))
    with pytest.raises(RunError, match="--seed was 0 and is 1"):
        check_same(begun, finite(replace(SETTINGS, random_state=1).as_dict()))


def test_every_setting_of_the_fit_must_be_the_same():
    begun = {"n_clusters": 3, "settings": finite(SETTINGS.as_dict())}
    for changes, message in (
        ({"mode": "faithful"}, "--mode was default and is faithful"),
        ({"variant": Variant(head_iter=1)}, "--variant was not given"),
        ({"describing": Describing(n_examples=2)}, "--examples was 5 and is 2"),
    ):
        with pytest.raises(RunError, match=message):
            check_same(begun, finite(replace(SETTINGS, **changes).as_dict()))
    for changes in ({"verbose": 1}, {"cache_memory": "1GB"}, {"checkpoint_every": 7}):
        check_same(begun, finite(replace(SETTINGS, **changes).as_dict()))


def test_a_record_of_an_earlier_version_is_read(tmp_path):
    record = RunRecord(
        created="2026-01-01T00:00:00+00:00",
        settings=BEGUN,
        parameters=BEFORE,
        versions={"caot": "0.1.0"},
        encoder="auto",
        input={},
        columns={},
        counts={},
        training={},
        imbalance={},
        timings={},
    )
    record.write(tmp_path)
    assert RunRecord.read(tmp_path) == record


def rows(parameters):
    """Return the rows that a report has of parameters: none of what is not set."""
    return [(name, value) for name, value in parameters.items() if value is not None]


def test_a_report_shows_the_same_parameters_as_before_and_what_is_unusual():
    assert rows(_shown_parameters(BEFORE)) == rows(BEFORE)
    usual = {**SETTINGS.parameters(3)}
    assert rows(_shown_parameters(usual)) == rows(BEFORE)
    unusual = _shown_parameters({**usual, "mode": "faithful", "max_chunks": 8})
    assert dict(rows(unusual)) == dict(rows({**BEFORE, "mode": "faithful", "max_chunks": 8}))


def test_a_report_names_the_encoder_that_was_used_and_shows_no_unset_setting():
    record = RunRecord(
        created="2026-01-01T00:00:00+00:00",
        settings={"min_confidence": None},
        parameters={**BEFORE, "encoder": "auto", "time_budget": None},
        versions={},
        encoder="some/encoder",
        input={"name": "t.csv", "sha256": None, "text_columns": ["a", "b"]},
        columns={},
        counts={},
        training={"n_iter": 5, "n_iter_saved": 0, "end_reason": "all iterations done"},
        imbalance={},
        timings={"fit": 1.0},
    )
    shown = _shown_settings(record)
    assert shown["encoder"] == "some/encoder"
    assert shown["iterations saved"] == 0
    assert None not in shown.values()
    assert not {"sha256", "time_budget", "min_confidence", "imbalance level"} & set(shown)
