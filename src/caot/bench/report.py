"""The report of the benchmark: records in, Markdown or HTML out; nothing is run."""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import replace
from pathlib import Path

from caot.bench.document import Picture, to_html, to_markdown
from caot.bench.figures import draw_figures
from caot.bench.records import read_records
from caot.bench.running import is_current
from caot.bench.sections import SECTIONS
from caot.bench.summaries import Results
from caot.extras import install_hint
from caot.files import atomic_file

logger = logging.getLogger("caot.bench")

TITLE = "Results"
WORDS = (
    "Made from records by `caot bench report`; every figure comes from a run whose settings, "
    "versions and machine its record holds. Labels score results and never reach a fit; the last "
    "iteration is reported. Accuracy and NMI are in percent, as mean ± standard deviation (number "
    "of seeds). What has not been run is empty. The encoder stands in every row: MiniLM is the "
    "embedded all-MiniLM-L6-v2, SBERT the paper's distilbert-base-nli-stsb-mean-tokens; MiniLM's "
    "training data include Stack Exchange titles, which may favour StackOverflow."
)


def write_report(results: Path, output: Path | None, findings: Path | None = None) -> str:
    """Return the report, and write it if a file is named; pictures lie in ``images`` beside it.

    Parameters
    ----------
    results
        The folder of the records.
    output
        A file that ends in .md or .html; None writes nothing.
    findings
        Words that stand before the tables, as Markdown.
    """
    if output is not None and output.suffix not in (".md", ".html"):
        msg = f"the report is written as .md or .html, not as {output.name!r}"
        raise ValueError(msg)
    records = read_records(results)
    if not records:
        msg = f"there are no records in {results}: make some with caot bench run"
        raise ValueError(msg)
    current = [record for record in records if not record.is_done or is_current(record)]
    if len(current) < len(records):
        told = "%d of %d records have other settings than their cells have now: they are left out"
        logger.warning(told, len(records) - len(current), len(records))
    found = Results(current)
    sections = [make(found) for make in SECTIONS]
    if output is not None:
        pictures = _pictures(found, output.parent / "images" / "bench")
        sections = [
            replace(s, pictures=[pictures[s.title]]) if s.title in pictures else s for s in sections
        ]
    words = WORDS if findings is None else f"{WORDS}\n\n{findings.read_text(encoding='utf-8')}"
    make_text = to_html if output is not None and output.suffix == ".html" else to_markdown
    text = make_text(TITLE, words, sections, "images/bench")
    if output is not None:
        with atomic_file(output) as temporary:
            temporary.write_text(text, encoding="utf-8")
            temporary.chmod(0o644)
    return text


def _pictures(results: Results, folder: Path) -> dict[str, Picture]:
    if importlib.util.find_spec("matplotlib") is None:
        logger.warning("no pictures are drawn: %s", install_hint("plots"))
        return {}
    return draw_figures(results, folder)
