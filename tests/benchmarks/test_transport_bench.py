"""The transport benchmark runs, and its record says what the documentation quotes."""

import json
import warnings

import numpy as np
import pytest

from benchmarks import records, transport
from benchmarks import transport_problems as problems
from caot.transport import compiled


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    paths = folder / "record.json", folder / "images" / "cost.png"
    transport.main(["--quick", "--output", str(paths[0]), "--plot", str(paths[1])])
    return json.loads(paths[0].read_text(encoding="utf-8")), *paths


def test_record_names_the_machine(quick):
    found = quick[0]["machine"]
    assert found["cpu_count"] >= 1
    assert found["versions"]["numpy"] == np.__version__


def test_speed_compares_every_solver_with_pot(quick):
    assert len(quick[0]["speed"]) == len(transport.QUICK.speed)
    for entry in quick[0]["speed"]:
        contenders = entry["contenders"]
        assert contenders[transport.POT]["speedup"] == 1
        assert contenders[transport.EXACT]["n_inner"] == 100
        assert contenders[transport.NO_NUMBA]["n_inner"] == 100
        assert contenders[transport.JOINT]["status"] == "CONVERGED"
        low, high = contenders[transport.EXACT]["speedup_quartiles"]
        assert 0 < low <= contenders[transport.EXACT]["speedup"] <= high
        if entry["aim"]:
            met = contenders[transport.EXACT]["speedup"] >= entry["aim"]
            assert entry["aim_met"] is met


def test_hundred_steps_are_taken_where_stopping_early_takes_fewer():
    calls = transport.contenders(transport._WIDE, problems.dense_problem(transport._WIDE))
    assert calls[transport.EARLY]().n_inner < 100
    assert calls[transport.EXACT]().n_inner == 100
    assert calls[transport.NO_NUMBA]().n_inner == 100


def test_labels_agree_with_and_without_numba(quick):
    for entry in quick[0]["speed"]:
        assert entry["contenders"][transport.NO_NUMBA]["agreement"] == 1


def test_numba_is_switched_off_for_the_array_version_only(monkeypatch):
    monkeypatch.setattr(compiled, "AVAILABLE", True)
    with transport.without_numba():
        assert not compiled.AVAILABLE
    assert compiled.AVAILABLE


def test_stopping_counts_steps_of_both_schemes(quick):
    for entry in quick[0]["stopping"]:
        assert set(entry["schemes"]) == {transport.EARLY, transport.JOINT}
        for row in entry["schemes"].values():
            assert 0 <= row["stopped_early"] <= row["converged"] <= 1
            assert 1 <= row["n_outer"] <= row["n_inner"] <= 100
            assert row["mass_change"] >= 0


def test_severe_imbalance_makes_alternating_oscillate_and_not_joint():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entry = transport.measure_stopping(transport._SEVERE, n_batches=3)
    schemes = entry["schemes"]
    assert schemes[transport.JOINT]["converged"] == 1
    assert schemes[transport.JOINT]["mass_change"] < 0.01
    assert schemes[transport.EARLY]["mass_change"] > 0.1


def test_memory_grows_linearly(quick):
    for row in quick[0]["memory"]["schemes"].values():
        assert row["r_squared"] > 0.999
        assert 100 < row["bytes_per_sample"] < 5000


def test_growth_covers_both_axes_and_is_plotted(quick):
    record, _, plot = quick
    for axis, cases in transport.QUICK.growth.items():
        rows = record["growth"][axis]["cases"]
        assert [row[axis] for row in rows] == [getattr(case, axis) for case in cases]
        assert all(min(row["milliseconds"].values()) > 0 for row in rows)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_rounds_are_interleaved():
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    seconds = transport.interleaved(calls, rounds=2)
    assert order == list("ababab")
    assert seconds["a"].shape == (2,)


def test_geometric_sizes_are_uneven():
    shares = [
        np.exp(
            problems.dense_problem(problems.Case(2000, 5, sizes=sizes, margin=10)).log_prob
        ).mean(axis=0)
        for sizes in ("balanced", "geometric")
    ]
    assert shares[0].max() < 1.2 * shares[0].min()
    assert shares[1].max() > 50 * shares[1].min()


def test_sparse_similarity_has_fifteen_neighbours_that_matter():
    similarity = problems.sparse_problem(problems.Case(400, 4)).similarity
    assert similarity.nnz <= 400 * problems.N_NEIGHBOURS
    assert similarity.diagonal().max() == 0
    np.testing.assert_allclose(similarity.sum(axis=1), 40)


def test_failed_write_keeps_the_old_record(tmp_path):
    path = tmp_path / "record.json"
    records.write_record(path, {"value": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        records.write_record(path, {"value": float("nan")})
    assert json.loads(path.read_text(encoding="utf-8")) == {"value": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_table_columns_line_up(capsys):
    records.print_table("title", ["name", "ms"], [["a", "1.0"], ["long name", "10.0"]])
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines[0] == "title"
    assert lines[1].endswith("ms")
    assert {len(line) for line in lines[1:]} == {len("long name  10.0")}
