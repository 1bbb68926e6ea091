"""The record of suggested K covers every benchmark set and judges its ranges rightly."""

import json

import pytest

from benchmarks import suggest_k

RECORD = json.loads(suggest_k.OUTPUT.read_text(encoding="utf-8"))


def test_every_set_is_recorded_and_says_whether_the_rule_had_seen_it():
    seen = {data: entry["rule_chosen_on_it"] for data, entry in RECORD["data"].items()}
    assert seen == {
        **dict.fromkeys(suggest_k.CHOSEN_ON, True),
        **dict.fromkeys(suggest_k.UNSEEN, False),
    }


@pytest.mark.parametrize("data", [*suggest_k.CHOSEN_ON, *suggest_k.UNSEEN])
def test_ranges_hold_the_true_k_where_the_record_says_so(data):
    entry = RECORD["data"][data]
    assert len(entry["runs"]) >= 1
    for run in entry["runs"]:
        assert run["holds_true_k"] == (run["low"] <= entry["true_k"] <= run["high"])
        best = max(run["curve"], key=lambda point: point["score"])
        assert run["low"] <= run["best"] == best["n_clusters"] <= run["high"]


def test_record_is_printed_with_a_line_for_each_set(capsys):
    suggest_k.print_records(RECORD)
    printed = capsys.readouterr().out
    for data in (*suggest_k.CHOSEN_ON, *suggest_k.UNSEEN):
        assert data in printed


def test_the_page_quotes_the_record():
    page = suggest_k.OUTPUT.parents[1].joinpath("README.md").read_text(encoding="utf-8")
    for data, entry in RECORD["data"].items():
        ranges = [f"{run['low']}–{run['high']} ({run['best']})" for run in entry["runs"]]
        seen = "" if entry["rule_chosen_on_it"] else " (unseen)"
        assert f"| {data}{seen} | {entry['true_k']} | {' | '.join(ranges)} |" in page
