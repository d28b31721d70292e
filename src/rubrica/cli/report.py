"""``rubrica report``: stored evaluations as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find, load
from rubrica.report.figures import count_of
from rubrica.report.page import write_report
from rubrica.runs.files.case_source import lines_of
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.page import write_page

from .broken_lines import BrokenLines
from .options import Force, StoredArgument
from .output_files import atomic_text_file, refuse_same
from .screen import out
from .sources import rubric_of
from .stored import is_run, stored_evaluations

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE.html", help="The page to write.")]
RubricNames = Annotated[
    list[str] | None,
    typer.Option(
        "--rubric", "-r", metavar="FILE", help="A rubric file, for its titles and anchors; bundled ones are found."
    ),
]
Title = Annotated[str | None, typer.Option("--title", help="The page's title.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica report results.jsonl -o results.html
  rubrica report runs/monday -o monday.html
  rubrica report results.jsonl -o week12.html --title 'Week 12'

The page is self-contained: it opens from disk and loads nothing."""


@app.command(epilog=EXAMPLES)
def report(
    stored: StoredArgument,
    output: Output,
    rubrics: RubricNames = None,
    title: Title = None,
    force: Force = False,
) -> None:
    """Write stored evaluations, or a run with its plots, as one HTML page."""
    refuse_same(output, stored, *(rubrics or []))
    if is_run(stored) and rubrics:
        raise typer.BadParameter("goes with a file: a run's folder keeps its rubrics", param_hint="--rubric")
    complaints = BrokenLines()
    if is_run(stored):
        run = StoredRun.open(stored, complaints)
        with atomic_text_file(output, force=force) as page:
            count = write_page(run, page, title=title)
    else:
        known = {loaded.name: loaded for loaded in map(rubric_of, rubrics or [])}
        with lines_of(stored) as lines, atomic_text_file(output, force=force) as page:
            evaluations = _known(stored_evaluations(lines, complaints), known)
            count = write_report(evaluations, page, title=title or f"Evaluations of {Path(stored).name}", rubrics=known)
    if not count:
        raise RubricaError(f"{stored} holds no evaluation; the page {output} is empty")
    out().print(f"{count_of(count, 'evaluation')} in {output}", soft_wrap=True)
    if complaints.count:
        raise typer.Exit(1)


def _known(evaluations: Iterable[Evaluation], known: dict[str, Rubric]) -> Iterator[Evaluation]:
    """Look up bundled rubrics as they are met, so that the page can show their titles."""
    for evaluation in evaluations:
        if evaluation.rubric not in known and find(f"{evaluation.rubric}@{evaluation.version}") is not None:
            bundled = load(evaluation.rubric)
            if bundled.hash == evaluation.hash:
                known[evaluation.rubric] = bundled
        yield evaluation
