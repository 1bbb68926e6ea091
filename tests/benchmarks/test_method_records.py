"""The figures in benchmarks/README.md are those of the records."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from benchmarks import method

README = Path(method.__file__).with_name("README.md").read_text(encoding="utf-8")
GROUPS = method.record_groups()


@pytest.mark.parametrize("name", sorted(GROUPS))
def test_the_page_quotes_the_records(name):
    data, kind = name.split(".")[:2]
    names = {"stackoverflow": "StackOverflow", "tweet": "Tweet", "googlenews-t": "GoogleNews-T"}
    figures = [figure for figure in method.summary(GROUPS[name])[:3] if figure]
    kind = "K-means alone" if kind == "kmeans" else kind
    if len(GROUPS[name]) == 1:
        figures = [re.sub(r" ± .*", "", figure) for figure in figures]
    row = r"\|.*" + re.escape(names[data]) + ".*" + kind + ".*".join(["", *map(re.escape, figures)])
    assert re.search(row, README), figures


@pytest.mark.parametrize("path", sorted(method.RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_a_record_lies_where_its_cell_says(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert method.Cell(**record["cell"]).path == path
    assert 0 < record["scores"]["accuracy"] <= 1


def test_cells_differ_by_their_file():
    cell = method.Cell("tweet", "consistent", "none", 0)
    changes = [{"seed": 1}, {"method": "adaptive"}, {"finetune": "2"}, {"max_iter": 5}]
    changes += [
        {"time_budget": "1min"},
        {"mode": "faithful"},
        {"data": "agnews"},
        {"encoder_rate": 2e-4},
    ]
    paths = {dataclasses.replace(cell, **change).path for change in changes}
    assert len(paths | {cell.path}) == len(changes) + 1


def test_memory_figures_are_those_of_the_record():
    guide = Path(method.__file__).parents[1] / "docs" / "guide.md"
    record = json.loads(method.RESULTS.with_name("memory.json").read_text(encoding="utf-8"))
    text = guide.read_text(encoding="utf-8")
    for row in record["rows"]:
        assert f"| {row['n_texts']:,} | {row['peak_mb']:.0f} MB |" in text
    assert f"{record['kb_per_text']:.0f} kB a text" in text
