"""Runs of the command line in this process, on a tiny encoder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from caot.cli import app
from tests.estimator_corpus import corpus, model_folder

TEXTS, TOPICS = corpus()
K = 3


def caot(*words: object, stdin: bytes | None = None) -> Result:
    """Run a command; a traceback is a failure of the test."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result


def fit(source: object, output: object, *more: object, stdin: bytes | None = None) -> Result:
    """Run a quick fit."""
    words = more if "-k" in more else ("-k", K, *more)
    encoder = ("--encoder", model_folder(), "--finetune", "none", "--max-iter", 5, "--offline")
    return caot("fit", source, "-o", output, *encoder, *words, stdin=stdin)


def write_corpus(path: Path, **columns: list[Any]) -> Path:
    """Write the corpus as CSV with ids and topics."""
    rows = {
        "ticket": [f"T{i}" for i in range(len(TEXTS))],
        "subject": TEXTS,
        "topic": [f"topic {topic}" for topic in TOPICS],
        **columns,
    }
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run_json(folder: Path) -> dict[str, Any]:
    """Return what run.json says."""
    content: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return content
