"""``rubrica export``: a stored run as a table for spreadsheets and programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.export import export_run
from rubrica.runs.stored import StoredRun

from .broken_lines import BrokenLines
from .options import Force
from .output_files import refuse_same, refuse_taken
from .screen import out

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN|EVALUATIONS.jsonl", help="A run's folder, or what `rubrica eval -o` stored.")
]
TablePath = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="The table to write: .csv, .tsv, .xlsx, .parquet or .jsonl."),
]
WithTexts = Annotated[bool, typer.Option("--texts", help="Columns for what was asked and answered, too.")]

EXAMPLES = """[bold]Examples[/bold]
  rubrica export runs/monday -o monday.xlsx
  rubrica export evaluation_results -o questions.csv --texts
  rubrica export results.jsonl -o results.parquet

A row holds the id, the verdict, the score, every dimension, and the reasons.
Texts that a spreadsheet would take for formulas have an apostrophe before
them in CSV files."""


@app.command(epilog=EXAMPLES)
def export(stored: RunArgument, output: TablePath, texts: WithTexts = False, force: Force = False) -> None:
    """Write a stored run as a table: CSV, XLSX, Parquet or JSON lines."""
    refuse_same(output, stored)
    refuse_taken(output, force=force)
    complaints = BrokenLines()
    count = export_run(StoredRun.open(stored, complaints), Path(output), texts=texts)
    if not count:
        raise RubricaError(f"{stored} holds no evaluation; the table {output} is empty")
    out().print(f"{count_of(count, 'record')} in {output}", soft_wrap=True)
    if complaints.count:
        raise typer.Exit(1)
