"""The report says what the records say, and leaves empty what was not run."""

import re

import pytest

from caot.bench import paper
from caot.bench.cells import Cell
from caot.bench.document import Picture, Section, Table, to_html, to_markdown
from caot.bench.records import CellStatus, write_record
from caot.bench.report import write_report
from caot.bench.running import cell_hash
from caot.bench.suites import DEVELOPMENT, EIGHT, SUITES, THREE
from caot.bench.summaries import Results, Summary
from caot.bench.variants import GRIDS

EVEN = {"coefficient": 0.1, "level": "balanced", "uniformity": 100.0, "floor": 0.0}


def record(results, cell, accuracy, **more):
    scores = dict.fromkeys(("accuracy", "nmi_geometric", "nmi_arithmetic", "ari"), accuracy)
    content = {
        "cell": cell.as_dict(),
        "status": "done",
        "scores": scores,
        "n_clusters": 20,
        "config_hash": cell_hash(cell, 20),
        "seconds": 30.0,
        "peak_memory_mb": 700.0,
        **more,
    }
    write_record(cell.path(results), content)


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    faithful = {"max_iter": 1000}
    for seed, accuracy in enumerate((0.80, 0.82, 0.84)):
        record(folder, Cell("stackoverflow", "kmeans", seed=seed), accuracy - 0.1)
        record(
            folder,
            Cell("stackoverflow", "caot-faithful", **faithful, seed=seed),
            accuracy,
            representation={"projection": {"accuracy": 0.5}},
            n_parameters={"networks": 1_000_000, "encoder": 22_000_000},
            pseudo_label_scores={"accuracy": 0.7, "nmi_geometric": 0.6},
            coupling={"matrix": [[0.9, 0.1]] * 5 + [[0.2, 0.8]] * 5},
        )
    record(
        folder,
        Cell("tweet", "caot"),
        0.75,
        imbalance={"coefficient": 0.7, "level": "severe", "uniformity": 0.05, "floor": 0.01},
    )
    for parameter in GRIDS:
        for value in GRIDS[parameter]:
            variant = f"{parameter}={value:g}"
            record(folder, Cell("tweet", "caot-faithful", variant=variant, **faithful), 0.4)
    rates = {"bin": 20, "values": [0.5, 0.2, 0.1, 0.04, 0.03]}
    long = Cell("tweet", "caot-faithful", max_iter=2000)
    record(folder, long, 0.4, change_rate=rates)
    record(
        folder,
        Cell("searchsnippets", "caot-faithful", **faithful),
        0.6,
        ns=[{"iteration": 0, "value": 0.2}, {"iteration": 9, "value": None}],
    )
    failed = Cell("agnews", "caot-faithful", **faithful)
    write_record(
        failed.path(folder), {"cell": failed.as_dict(), "status": "timeout", "error": "late"}
    )
    return folder


def rows_of(text, start):
    return [line for line in text.splitlines() if line.startswith(f"| {start}")]


def test_modes_side_by_side_have_means_where_all_sets_were_run(tmp_path):
    for place, data in enumerate(EIGHT):
        record(tmp_path, Cell(data, "caot"), 0.1 * place, seconds=60.0 * place, imbalance=EVEN)
        if data in DEVELOPMENT:
            record(tmp_path, Cell(data, "kmeans"), 0.5)
    text = write_report(tmp_path, None).split("\n## Both modes")[1].split("\n## ")[0]
    (default,) = rows_of(text, "CAOT, default, MiniLM, frozen")
    chosen = [10 * place for place, data in enumerate(EIGHT) if data in DEVELOPMENT]
    others = [10 * place for place, data in enumerate(EIGHT) if data not in DEVELOPMENT]
    means = f"| {sum(chosen) / 3:.2f} | {sum(others) / 5:.2f} | 35.00 |"
    assert default.endswith(f"{means} 3.50 | 7.00 |")
    assert rows_of(text, "K-means")[0].endswith("| 50.00 |  |  |  |  |")
    assert "| 82.44 |" in rows_of(text, "paper: OURS, bge-base")[0]


def test_rows_of_images_name_no_encoder(tmp_path):
    record(tmp_path, Cell("mnist_t10k", "kmeans"), 0.5)
    record(tmp_path, Cell("mnist_t10k", "caot"), 0.6)
    text = write_report(tmp_path, None).split("\n## Images")[1]
    assert rows_of(text, "K-means, patches |")
    assert rows_of(text, "CAOT, default, patches |")
    assert "MiniLM" not in text


def test_means_spreads_and_differences(results):
    text = write_report(results, None)
    (accuracy, less, nmi, _) = rows_of(text, "CAOT, as printed, MiniLM, frozen, 1,000 it")[:4]
    assert "82.00 ± 2.00 (3)" in accuracy
    assert "timeout" in accuracy
    assert "-3.96" in less  # 82.00 less the paper's 85.96
    assert "82.00 ± 2.00 (3)" in nmi
    assert "72.00 ± 2.00 (3)" in rows_of(text, "K-means, MiniLM")[0]
    assert "| 75.00 (1) |" in text
    assert rows_of(text, "paper: OURS, SBERT")[0].endswith("| 82.36 | 77.46 |")


def test_every_suite_has_its_section_and_figures_of_the_records(results):
    text = write_report(results, None)
    assert text.count("\n## ") == 15
    assert "`caot bench run ablations`" in text
    assert "| Tweet | 0.70 | severe | 0.05 | 0.01 | 0.61 |" in text
    # The mean of the last fifth of five bins.
    (rate,) = rows_of(text, "CAOT, as printed, MiniLM, frozen, 2,000 iterations")[-1:]
    assert "3.00 (1)" in text
    assert rate.count("|") == len(EIGHT) + 2
    assert re.search(r"\| K-means on trained Z\(0\): .* 50.00 ± 0.00 \(3\)", text)
    assert "| 23.0 |" in text  # millions of parameters
    assert "70.00 ± 0.00 (3)" in text  # pseudo-labels
    for name in SUITES:
        assert SUITES[name].at("frozen")


def test_what_was_not_run_is_empty(results):
    (row,) = rows_of(write_report(results, None), "w/o CL")[:1]
    cells = [part.strip() for part in row.strip("|").split("|")]
    assert cells[1:] == ["", "", "56.65", "", "", "80.51", "", "", "75.12"]


def test_files_and_pictures(results, tmp_path):
    findings = tmp_path / "findings.md"
    findings.write_text("**What we found.** <b>x</b>\n", encoding="utf-8")
    page, plain = tmp_path / "out" / "r.html", tmp_path / "out" / "r.md"
    text = write_report(results, page, findings)
    assert page.read_text(encoding="utf-8") == text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "**What we found.**" in write_report(results, plain, findings)
    names = sorted(p.name for p in (tmp_path / "out" / "images" / "bench").iterdir())
    assert names == ["convergence.svg", "couplings.svg", "ns.svg", "sensitivity.svg"]
    assert "](images/bench/sensitivity.svg)" in plain.read_text(encoding="utf-8")
    before = (tmp_path / "out" / "images" / "bench" / "ns.svg").read_bytes()
    write_report(results, plain)
    assert (tmp_path / "out" / "images" / "bench" / "ns.svg").read_bytes() == before


def test_bad_requests(tmp_path, results):
    with pytest.raises(ValueError, match="no records in"):
        write_report(tmp_path / "nothing", None)
    with pytest.raises(ValueError, match=r"as \.md or \.html, not as 'r\.pdf'"):
        write_report(results, tmp_path / "r.pdf")


def test_summaries_say_how_many():
    assert str(Summary.of([1.0])) == "1.00 (1)"
    assert str(Summary.of([1.0, 3.0])) == "2.00 ± 1.41 (2)"


def test_results_of_nothing():
    empty = Results([])
    assert empty.cells() == []
    assert empty.summary(Cell("tweet")) is None
    assert empty.why_not(Cell("tweet")) == ""
    assert CellStatus("done") is CellStatus.DONE


def test_words_become_headlines_lists_and_code():
    page = to_html("T", "## A\n\n- one `x`\n- **two**\n\nrest <b>", [], "i")
    assert "<h2>A</h2>" in page
    assert "<ul><li>one <code>x</code></li><li><strong>two</strong></li></ul>" in page
    assert "<p>rest &lt;b&gt;</p>" in page


def test_a_document_is_escaped():
    section = Section("A & B", ["<i>"], [Table(["x", "y"], [["<td>", "1"]])], [Picture("p", '"')])
    page = to_html("T", "w", [section], "i")
    assert "<i>" not in page
    assert "&lt;td&gt;" in page
    assert 'alt="&quot;"' in page
    assert "| <td> | 1 |" in to_markdown("T", "w", [section], "i")


def test_the_papers_figures_are_complete():
    assert all(len(paper.MAIN[name]) >= 3 for name in paper.MAIN)
    assert set(paper.MAIN["OURS"]) == set(EIGHT) == set(paper.CONVENTIONAL)
    assert round(sum(p.accuracy for p in paper.MAIN["OURS"].values()) / 8, 2) == 77.46
    for table in (paper.ABLATIONS, paper.PSEUDO_LABELS):
        assert all(set(figures) == set(THREE) for figures in table.values())


def test_a_method_stands_above_the_papers_row_of_its_name(results):
    rivals = {"n_parameters": {"networks": 2_000_000, "encoder": 22_000_000}}
    ns = [{"iteration": 0, "value": 0.2}, {"iteration": 199, "value": 0.4}]
    for method in ("rstc", "caot"):
        cell = Cell("searchsnippets", method, finetune="2", max_iter=200)
        spaces = {"projection": {"accuracy": 0.61}, "encoder": {"accuracy": 0.62}}
        record(results, cell, 0.71, ns=ns, representation=spaces, **rivals)
    text = write_report(results, results.parent / "results.md")
    lines = text.splitlines()
    place = lines.index(rows_of(text, "paper: RSTC, SBERT")[0])
    assert lines[place - 1].startswith("| RSTC, MiniLM, top 2 layers, 200 iterations |")
    assert "71.00 (1)" in lines[place - 1]
    (ours,) = rows_of(text, "K-means on trained V(0): RSTC")
    assert "62.00 (1)" in ours
    assert any("24.0" in row for row in rows_of(text, "RSTC, MiniLM, top 2 layers"))
    assert rows_of(text, "paper: SCCL, SBERT | 67.05")
    picture = (results.parent / "images" / "bench" / "ns.svg").read_text(encoding="utf-8")
    assert "RSTC, MiniLM" in picture


def test_records_of_other_settings_are_left_out(tmp_path, caplog):
    results = tmp_path / "results"
    record(results, Cell("tweet", "kmeans"), 0.6)
    record(results, Cell("tweet", "kmeans", seed=1), 0.1, config_hash="of another version")
    record(results, Cell("tweet", "kmeans", seed=2), 0.1)
    old = Cell("tweet", "kmeans", seed=2).path(results)
    old.write_text(old.read_text().replace('"full"', '"no-more"'))
    text = write_report(results, None)
    assert "60.00 (1)" in text
    assert "2 of 3 records have other settings" in caplog.text
