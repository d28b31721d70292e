"""What the commands that read stored runs share: opening a run, tables, GitHub summaries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rubrica.errors import RubricaError
from rubrica.report.figures import figure
from rubrica.runs.stored import StoredRun

from .broken_lines import BrokenLines
from .figures_table import FiguresTable

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
RUN_HELP = "A run's folder or its address (s3://…), or a file of stored evaluations."

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]
GroupKey = Annotated[
    str,
    typer.Option("--group", metavar="KEY", help="The metadata that says which cases belong together."),
]
Github = Annotated[
    bool, typer.Option("--github", help="Print GitHub annotations, and fill the job's summary page where there is one.")
]
Independent = Annotated[
    bool, typer.Option("--independent", help="Treat every case as independent, whatever its group.")
]
Margin = Annotated[
    float,
    typer.Option(min=0, max=1, metavar="SHARE", help="Differences smaller than this share of the scale are ignored."),
]
Level = Annotated[float, typer.Option(min=0.5, max=0.9999, help="How sure a difference must be.")]
Seed = Annotated[int, typer.Option(help="Seed for random choices; the same seed gives the same figures.")]


def open_stored_run(path: str, complaints: BrokenLines) -> StoredRun:
    """A stored run; its broken lines are told and passed over."""
    return StoredRun.open(path, complaints)


def reread_silently(run: StoredRun) -> StoredRun:
    """The same run, to be read once more: its broken lines have been told."""
    return StoredRun(run.path, run.manifest, lambda _: None)


def format_figure(value: float | None) -> str:
    """A figure with as many digits as a table has room for.

    >>> format_figure(0.79707), format_figure(64.517), format_figure(None)
    ('0.797', '64.52', '—')
    """
    return figure(None if value is None else float(f"{value:.4g}"))


def plain_table(words: tuple[str, ...], numbers: tuple[str, ...], last: tuple[str, ...] = ()) -> Table:
    """A table without lines: words to the left, numbers to the right."""
    table = FiguresTable()
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in last:
        table.add_column(name, overflow="fold")
    return table


def step_summary(markdown: str) -> None:
    """Add to the summary page of a GitHub job; nothing where this is none."""
    place = os.environ.get(STEP_SUMMARY)
    if not place:
        return
    try:
        with Path(place).open("a", encoding="utf-8") as page:
            page.write(markdown)
    except OSError as error:
        raise RubricaError(f"{place} ({STEP_SUMMARY}) cannot be written: {error.strerror}") from None
