"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Run: TypeAlias = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder that caot fit made.", show_default=False)
]
Input: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="CSV, TSV, JSONL, Parquet or plain text (one a line), gzipped or not; - is stdin.",
        show_default=False,
    ),
]
TextColumns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        "-t",
        metavar="COLUMN",
        help="The column of the texts; repeat it to join several by a space. Found if not named.",
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Of the input: csv, tsv, tsv-plain, jsonl, parquet or txt."),
]
NoHeader: TypeAlias = Annotated[
    bool,
    typer.Option("--no-header", help="The first line of CSV or TSV is a row, not column names."),
]
Encoding: TypeAlias = Annotated[str, typer.Option(help="Of the characters of the input.")]
EncoderName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--encoder",
        "-e",
        metavar="NAME",
        help="auto (embedded, English), a model of the Hugging Face hub, or a folder.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same result.")
]
MaxLength: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, metavar="TOKENS", help="Texts are cut after so many tokens."),
]
MaxChunks: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Longer texts are read in up to so many chunks instead of cut."
    ),
]
Languages: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--language",
        metavar="CODE",
        help="Language whose stop words are no keywords, such as de; repeat it; auto, or none.",
        show_default="auto",
    ),
]
Examples: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, help="Example texts of a cluster.", show_default="5"),
]
Raw: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--raw", help="Leave CSV cells that a spreadsheet would run as formulas as they are."
    ),
]
LlmUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="An OpenAI-compatible endpoint that writes the labels; its key in CAOT_LLM_API_KEY.",
    ),
]
LlmModel: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model at that endpoint.")
]
SendTexts: TypeAlias = Annotated[
    bool,
    typer.Option("--send-texts", help="Allow keywords and example texts to be sent to --llm-url."),
]
Offline: TypeAlias = Annotated[
    bool, typer.Option("--offline", help="Use only models that are on this machine.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", "-f", help="Replace results that exist; other files stay.")
]
MinConfidence: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Texts with less confidence get the cluster -1, and their best as second.",
    ),
]
