"""``caot demo``: a first look, on tickets that ship with the package."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
from pathlib import Path
from typing import Annotated

import typer

from caot.cli import options, values
from caot.cli.errors import guarded
from caot.cli.fit import run, show
from caot.cli.screen import Screen

EXAMPLES = """
Examples:

  caot demo

  caot demo -o my-demo --force
"""


def demo(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The run folder.")] = Path(
        "caot-demo"
    ),
    encoder: options.EncoderName = "auto",
    max_iter: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Cluster a thousand support tickets without a network, in about a minute."""
    values.go_offline(encoder == "auto")  # which is on this machine
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.demo import load_demo
        from caot.runs import RunFolder, RunSettings, table_of

        folder = RunFolder.prepare(output, force=force)
        tickets = load_demo()
        topics = [tickets.topic_names[topic] for topic in tickets.topics.tolist()]
        table = table_of(
            {"text": tickets.texts, "topic": topics}, "text", source="the demo tickets"
        )
        n_topics = len(tickets.topic_names)
        screen.note(f"{len(table):,} invented support tickets in {n_topics} topics")
        settings = RunSettings(
            n_clusters=n_topics,
            encoder=encoder,
            finetune="none",
            max_iter=max_iter,
            random_state=seed,
        )
        record = run(
            screen,
            table,
            folder,
            settings,
            title="A thousand support tickets",
            true_labels=tickets.topics.tolist(),
        )
        show(screen, folder, record)
        scores = record.training["scores"]
        screen.show(
            f"{scores['accuracy']:.1%} of the tickets are in the cluster of their true topic, "
            f"which the clustering never saw (NMI {scores['NMI']:.2f})."
        )
        taken = sum(record.timings.values())
        screen.show(f"It took {taken:.0f} s. Open {values.address(folder.report_path)}")
