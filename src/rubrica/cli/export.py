"""``rubrica export``: a stored run as a table, or a rubric in another tool's format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubrica.errors import RubricaError
from rubrica.interchange.formats import CASES, RubricFormat, export_rubric, render
from rubrica.interchange.healthbench import export_cases
from rubrica.packs.library import load
from rubrica.report.figures import count_of
from rubrica.report.printable import printable, printable_json
from rubrica.runs.export import export_run
from rubrica.runs.files.case_source import lines_of
from rubrica.runs.stored import StoredRun

from .broken_lines import BrokenLines
from .converted_lines import write_converted
from .import_files import Format, Strict
from .losses import Losses
from .options import Force
from .output_files import STDOUT, refuse_same, refuse_taken, text_output
from .screen import note, out

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Exported = Annotated[
    str,
    typer.Argument(
        metavar="RUN|RUBRIC|CASES",
        help="A run's folder, or what `rubrica eval -o` stored; with --to a rubric, for healthbench a file of cases.",
    ),
]
ExportPath = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The table to write: .csv, .tsv, .xlsx, .parquet or .jsonl. With --to, left out or - prints it.",
    ),
]
WithTexts = Annotated[bool, typer.Option("--texts", help="Columns for what was asked and answered, too.")]
To = Annotated[
    Format | None,
    typer.Option("--to", metavar="FORMAT", help="healthbench, paperbench, openai-grader, autorubric or rubric."),
]
Model = Annotated[str | None, typer.Option("--model", help="--to openai-grader: the model that the graders ask.")]

EXAMPLES = """[bold]Examples[/bold]
  rubrica export runs/monday -o monday.xlsx
  rubrica export evaluation_results -o questions.csv --texts
  rubrica export results.jsonl -o results.parquet
  rubrica export paper-replication --to paperbench -o tree.json
  rubrica export cases.jsonl --to healthbench -o bench.jsonl

A row of a table holds the id, the verdict, the score, every dimension, and
the reasons. Texts that a spreadsheet would take for formulas have an
apostrophe before them in CSV files. What another tool's format
cannot hold is reported, one line each."""


@app.command(epilog=EXAMPLES)
def export(
    source: Exported,
    output: ExportPath = None,
    to: To = None,
    texts: WithTexts = False,
    model: Model = None,
    strict: Strict = False,
    force: Force = False,
) -> None:
    """Write a stored run as a table, or a rubric in another tool's format."""
    refuse_same(output, source)
    refuse_taken(output, force=force)
    if model is not None and to != "openai-grader":
        raise typer.BadParameter("goes with --to openai-grader", param_hint="--model")
    if to is None:
        _export_run(source, output, texts=texts)
        return
    losses = Losses(strict)
    if to == CASES:
        broken = _export_cases(source, output or STDOUT, losses, force=force)
        losses.tell()
        if broken:
            raise typer.Exit(1)
        return
    _export_rubric(source, output or STDOUT, to, model, losses, force=force)
    losses.tell()


def _export_run(source: str, output: str | None, *, texts: bool) -> None:
    if output is None:
        raise typer.BadParameter("names the table to write, such as -o run.csv", param_hint="--output")
    complaints = BrokenLines()
    count = export_run(StoredRun.open(source, complaints), Path(output), texts=texts)
    if not count:
        raise RubricaError(f"{source} holds no evaluation; the table {output} is empty")
    out().print(f"{count_of(count, 'record')} in {output}", soft_wrap=True)
    if complaints.count:
        raise typer.Exit(1)


def _export_rubric(
    source: str, output: str, form: RubricFormat, model: str | None, losses: Losses, *, force: bool
) -> None:
    rubric = load(source)
    found = export_rubric(rubric, form, **({} if model is None else {"model": model}))
    losses.add(found.lost)
    as_yaml = form in ("autorubric", "rubric") and Path(output).suffix != ".json"
    with text_output(output, printable if as_yaml else printable_json, force=force) as write:
        write(render(found.data, as_yaml=as_yaml))
    if output != STDOUT:
        note(f"{rubric.reference} is in {output}")


def _export_cases(source: str, output: str, losses: Losses, *, force: bool) -> int:
    """Write the lines; how many cases have no place among them."""
    with lines_of(source) as lines:
        count = write_converted(export_cases(lines), output, losses, force=force)
    if not count.written:
        raise RubricaError(f"{source} holds no case with criteria; --to healthbench takes a file of cases")
    if output != STDOUT:
        note(f"{count_of(count.written, 'line')} in {output}")
    return count.broken
