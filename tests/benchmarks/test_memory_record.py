"""The memory figures of the guide are those of the record."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_memory_figures_are_those_of_the_record():
    record = json.loads((ROOT / "benchmarks/results/memory.json").read_text(encoding="utf-8"))
    text = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    for row in record["rows"]:
        assert f"| {row['n_texts']:,} | {row['peak_mb']:.0f} MB |" in text
    assert f"{record['kb_per_text']:.0f} kB a text" in text
