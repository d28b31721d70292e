"""The options of ``rubrica run``."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import MODELS, WHAT, WHERE

CaseSources = Annotated[
    list[str],
    typer.Argument(
        metavar="CASES…",
        help="Any number of .jsonl, .json, .csv, .xlsx or .parquet files with prompt, response and context: paths, "
        "patterns such as 'cases/*.jsonl', addresses (s3://, gs://, az://, https://); - reads JSON lines.",
    ),
]
Folder = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR|ADDRESS",
        help="The run's folder, here or in a store (s3://…).",
        rich_help_panel=WHERE,
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "-k",
        metavar="CONDITION",
        help="Only cases that fit: name=value, name!=value (* is any text), a formula such as 'word_count > 100', "
        "or a stretch of the id. Repeated, all must hold.",
        rich_help_panel=WHAT,
    ),
]
SampleSize = Annotated[
    str | None,
    typer.Option(
        "--sample", metavar="N|N%", help="Only a sample of cases, drawn by their ids and --seed.", rich_help_panel=WHAT
    ),
]
Repeat = Annotated[
    int,
    typer.Option(
        "--repeat", min=1, max=100, help="Judge each case this many times, with new calls.", rich_help_panel=MODELS
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, max=1000, help="Cases under way at once.", rich_help_panel=MODELS)
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        help="Of the sample, and of the order in which judges see dimensions; 0: as written.",
        rich_help_panel=MODELS,
    ),
]
RetryErrors = Annotated[
    bool, typer.Option("--retry-errors", help="Judge cases again for which a model failed.", rich_help_panel=WHAT)
]
NoResume = Annotated[
    bool, typer.Option("--no-resume", help="Start again; the existing run is moved to earlier/.", rich_help_panel=WHERE)
]
MostFailures = Annotated[
    int,
    typer.Option(
        "--max-failures",
        min=0,
        help="Stop after this many cases in a row that no model answers; 0: never.",
        rich_help_panel=MODELS,
    ),
]

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Judge on every node of a Ray cluster: ray://HOST:10001, auto for the one of this machine's node, or "
        "local to start one here.",
        rich_help_panel=WHERE,
    ),
]
InBulk = Annotated[
    bool | None,
    typer.Option(
        "--bulk/--no-bulk",
        help="Store figures only, explanations on demand; left out, for large files that no model judges.",
        rich_help_panel=WHERE,
    ),
]
