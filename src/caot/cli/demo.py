"""``caot demo``: a first look, on tickets that ship with the package."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caot.cli import options, values
from caot.cli.errors import guarded
from caot.cli.fit import show
from caot.cli.progress import shown
from caot.cli.screen import Screen

if TYPE_CHECKING:
    from caot.runs import RunFolder

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
        values.require_encoder(encoder)
        from caot.demo import load_demo
        from caot.runs import RunSettings, fit_run, table_of

        folder = _prepared(output, force=force)
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
        with _not_kept(folder, force=force), shown(screen) as callbacks:
            record = fit_run(
                table,
                folder,
                settings,
                callbacks=callbacks,
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


def _prepared(output: Path, *, force: bool) -> RunFolder:
    """Return the run folder; what was interrupted there cannot go on, the demo has no --resume."""
    from caot.runs import RunError, RunFolder

    if RunFolder(output).has_begun and not force:
        msg = (
            f"{output} holds an interrupted run: begin anew with --force, or choose another "
            "folder with -o"
        )
        raise RunError(msg)
    return RunFolder.prepare(output, force=force)


@contextmanager
def _not_kept(folder: RunFolder, *, force: bool) -> Iterator[None]:
    """After Ctrl-C leave no training behind, and say how to begin anew."""
    from caot.runs import RunError

    try:
        yield
    except KeyboardInterrupt as interrupt:
        with suppress(RunError), folder.locked():  # unless another process writes there
            folder.checkpoint_path.unlink(missing_ok=True)
            folder.abandon()
        is_there = folder.path.is_dir() and not force  # all but the report was written
        again = "again with --force" if is_there else "again"
        msg = f"interrupted; the demo keeps no training: run it {again}"
        raise type(interrupt)(msg) from None
