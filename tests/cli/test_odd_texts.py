"""Odd texts go from a file through a fit to the report: rows in are rows out, in order."""

import json
import tempfile
from pathlib import Path

import hypothesis
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caot.io import write_table
from caot.texts import whole_text
from tests.cli.commands import fit, read_csv
from tests.io.odd_texts import ODD, texts

FEW = hypothesis.settings(max_examples=5, deadline=None)
PLAIN = ["open the old door", "red car on the road", "sort a list of data"]


def through(frame: pd.DataFrame, extension: str) -> None:
    """Fit a table in one format and check that its rows come back."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / f"odd{extension}"
        write_table(frame, source, raw=True)
        result = fit(source, folder / "out", "-k", 2, "--text", "text", "--on-empty", "own-cluster")
        assert result.exit_code == 0, result.output
        rows = pd.read_parquet(folder / "out" / "assignments.parquet")
        assert rows["number"].astype(int).tolist() == list(range(len(frame)))
        assert rows["text"].tolist() == [whole_text(text) for text in frame["text"]]
        assert rows["cluster"].between(0, 2).all()
        written = read_csv(folder / "out" / "assignments.csv")
        assert [int(row["number"]) for row in written] == list(range(len(frame)))
        page = (folder / "out" / "report.html").read_text(encoding="utf-8")
        assert "</html>" in page
        json.loads((folder / "out" / "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("extension", [".csv", ".jsonl"])
@given(odd=st.lists(texts, min_size=1, max_size=8))
@FEW
def test_rows_in_are_rows_out(extension, odd):
    given_texts = [*PLAIN, *odd]
    frame = pd.DataFrame({"number": range(len(given_texts))})
    frame["text"] = pd.Series(given_texts, dtype=object)
    through(frame, extension)


def test_two_hundred_columns_of_odd_texts():
    cells = [*PLAIN, *ODD]
    columns = {"number": range(len(cells)), "text": cells}
    columns |= {f"c{i}": cells[i % 7 :] + cells[: i % 7] for i in range(198)}
    through(pd.DataFrame(columns, dtype=object), ".csv")
