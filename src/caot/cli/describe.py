"""``caot describe``: the clusters of a run in words, again."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the library, which brings in torch, is not needed for --help
import dataclasses
from typing import TYPE_CHECKING

from caot.cli import options, values
from caot.cli.clusters import cluster_table, run_document
from caot.cli.errors import guarded
from caot.cli.screen import Screen

if TYPE_CHECKING:
    from caot.describe import Description
    from caot.runs import Endpoint, RunFolder, RunRecord, RunResult

EXAMPLES = """
Examples:

  caot describe tickets-run

  caot describe tickets-run --language de --language en --examples 10
"""


def describe(
    run: options.Run,
    *,
    language: options.Languages = None,
    examples: options.Examples = None,
    llm_url: options.LlmUrl = None,
    llm_model: options.LlmModel = None,
    send_texts: options.SendTexts = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Show the clusters of a run; with other settings, describe them anew and write them."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with guarded(), screen.listening():
        from caot.runs import RunFolder

        endpoint = values.endpoint(llm_url, llm_model, send_texts)
        folder = RunFolder.open(run)
        record = folder.record
        description: Description = folder.description()
        if language or examples or endpoint:
            with folder.locked():
                result, record = describe_again(screen, folder, language, examples, endpoint)
            description = result.description
            screen.note(f"described anew in {folder.path}; draw the report with caot report {run}")
        screen.show(cluster_table(description))
        screen.json(run_document(folder, record, description))


def describe_again(
    screen: Screen,
    folder: RunFolder,
    language: list[str] | None,
    examples: int | None,
    endpoint: Endpoint | None = None,
) -> tuple[RunResult, RunRecord]:
    """Describe the clusters with other settings and write them; the settings are kept.

    Labels change with the language or by an endpoint alone.
    """
    from caot.runs.reporting import result_of

    record = folder.record
    describing = values.changed(record, language, examples)
    keep = not language and endpoint is None
    before, writer = folder.description().labels, record.settings.get("endpoint")
    if writer is not None and not keep and endpoint is None:
        screen.warn(f"the labels that {writer['model']} wrote are replaced")
    result = result_of(folder, describing, endpoint, keep_labels=keep)
    settings = {**record.settings, "describing": dataclasses.asdict(describing)}
    if endpoint is None and not keep:
        settings["endpoint"] = None
    elif endpoint is not None and result.description.labels != before:
        settings["endpoint"] = {"base_url": endpoint.base_url, "model": endpoint.model}
    record = dataclasses.replace(record, settings=settings)
    return result, folder.rewrite(result, record, raw=bool(record.settings["raw"]))
