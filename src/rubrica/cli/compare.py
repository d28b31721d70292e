"""``rubrica compare``: two stored runs, case by case."""

from __future__ import annotations

from typing import Annotated

import typer

from rubrica.runs.compare.annotations import comparison_table, of_comparison
from rubrica.runs.compare.comparison import USUAL
from rubrica.runs.compare.comparison import compare as compared
from rubrica.runs.compare.measure_comparison import ComparisonTerms
from rubrica.runs.files.rows import GROUP
from rubrica.runs.summary.grading import Grading

from .broken_lines import BrokenLines
from .comparison_tables import comparison_page
from .judge_options import VERDICT_FAILED
from .options import AsJson
from .screen import echo_json, out
from .stored_run_options import Github, GroupKey, Independent, Level, Margin, Seed, open_stored_run, step_summary

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

First = Annotated[str, typer.Argument(metavar="A", help="The earlier run: a folder, or a file of evaluations.")]
Second = Annotated[str, typer.Argument(metavar="B", help="The later run.")]
Check = Annotated[bool, typer.Option("--check", help="Exit with 100 if anything got worse beyond noise.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica compare runs/monday runs/tuesday
  rubrica compare before.jsonl after.jsonl --group passage --check
  rubrica compare runs/monday runs/tuesday --margin 0.05 --json

Runs are paired by case; repeats of a case are averaged first. Differences are
B minus A, with a bootstrap interval. p is Wilcoxon's, for verdicts McNemar's,
and where cases share a group, whole groups are flipped; Holm's correction
holds all of them to the level. Higher is better."""


@app.command(epilog=EXAMPLES)
def compare(
    a: First,
    b: Second,
    group: GroupKey = GROUP,
    independent: Independent = False,
    margin: Margin = USUAL.margin,
    level: Level = USUAL.level,
    seed: Seed = 0,
    check: Check = False,
    github: Github = False,
    as_json: AsJson = False,
) -> None:
    """Show what got better or worse between two runs, and what cannot be decided."""
    complaints = BrokenLines()
    runs = open_stored_run(a, complaints), open_stored_run(b, complaints)
    found = compared(
        runs[0].rows(group),
        runs[1].rows(group),
        gradings=(Grading.of(runs[0].rubrics().values()), Grading.of(runs[1].rubrics().values())),
        names=(a, b),
        terms=ComparisonTerms(level=level, margin=margin, grouped=not independent, seed=seed),
    )
    if github:
        for line in of_comparison(found, f"{runs[1].name} against {runs[0].name}"):
            typer.echo(line, err=as_json)  # GitHub reads both
        step_summary(comparison_table(found, f"{runs[1].name} against {runs[0].name}"))
    if as_json:
        echo_json({"a": a, "b": b, **found.to_dict()})
    else:
        known = [rubric for run in runs for rubric in run.rubrics().values()]
        out().print(comparison_page(found, (a, b), known))
    if check and found.regressions:
        raise typer.Exit(VERDICT_FAILED)
    if complaints.count:
        raise typer.Exit(1)
