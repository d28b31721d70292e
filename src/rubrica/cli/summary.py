"""``rubrica summary``: a stored run in figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from rubrica.errors import InputError, RubricaError
from rubrica.runs.compare.annotations import of_rows, summary_table
from rubrica.runs.files.rows import GROUP, RunRow
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.grading import Grading
from rubrica.runs.summary.junit import write_junit
from rubrica.runs.summary.outcomes import FailureRule
from rubrica.runs.summary.summary import SummaryBuilder, summarise

from .broken_lines import BrokenLines
from .judge_options import VERDICT_FAILED, split_list
from .options import AsJson, Force
from .output_files import atomic_text_file, refuse_same
from .screen import echo_json, note, out
from .stored_run_options import Github, RunArgument, open_stored_run, reread_silently, step_summary
from .summary_tables import by_page, summary_page

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="KEY", help="Also for each rubric, profile, verdict, or value of a piece of metadata."
    ),
]
Junit = Annotated[
    str | None, typer.Option("--junit", metavar="FILE.xml", help="Write JUnit XML, a test for each case.")
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="VERDICT",
        help="What counts as failed, instead of bad verdicts; exits with 100 if it came out. Repeat it or write a,b.",
    ),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica summary runs/monday
  rubrica summary runs/monday --by question_type
  rubrica summary results.jsonl --json
  rubrica summary runs/monday --junit junit.xml --github --fail-on fail,inconclusive

Rates have Wilson's interval: cases of one group, and repeats of a case, count
for less than as many independent ones. An outlier lies more than 3.5 robust
standard deviations from the median."""
OWN_KEYS = ("rubric", "profile", "verdict")


@app.command(epilog=EXAMPLES)
def summary(
    run: RunArgument,
    by: By = None,
    junit: Junit = None,
    github: Github = False,
    fail_on: FailOn = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show a stored run in figures: scores, verdicts, times, cost, outliers."""
    refuse_same(junit, run)
    complaints = BrokenLines()
    stored = open_stored_run(run, complaints)
    failing = split_list(fail_on)
    bar = FailureRule(Grading.of(stored.rubrics().values()), frozenset(failing))
    parts: dict[str, SummaryBuilder] = {}
    found = summarise(_split(stored.rows(by if by not in (None, *OWN_KEYS) else GROUP), by, parts))
    if not found.evaluations:
        raise RubricaError(f"{run} holds no evaluation")
    if by is not None and set(parts) == {""}:
        raise InputError(f"no case of {run} says what its {by} is; name a piece of the cases' metadata")
    came_out = {label for part in found.parts.values() for label in part.verdicts}
    _refuse_misspelt(failing, stored, came_out)
    by_value = {value: gathering.summary() for value, gathering in parts.items()}
    again = reread_silently(stored)
    if junit is not None:
        with atomic_text_file(junit, force=force) as page:
            write_junit(again.rows, page, name=stored.name, bar=bar)
    if github:
        for line in of_rows(again.rows(), bar):
            typer.echo(line, err=as_json)  # GitHub reads both
        step_summary(summary_table(found, f"Run {stored.name}"))
    if as_json:
        plain: dict[str, Any] = {"run": stored.name, **found.to_dict()}
        if by is not None:
            plain["by"] = {"key": by, "values": {value: own.to_dict() for value, own in by_value.items()}}
        echo_json(plain)
    else:
        out().print(summary_page(found, stored.rubrics(), out().width))
        if by is not None:
            out().print(by_page(by, by_value))
        if junit is not None:
            note(f"wrote {junit}")
    if failing and came_out & set(failing):
        raise typer.Exit(VERDICT_FAILED)
    if complaints.count:
        raise typer.Exit(1)


def _split(rows: Iterable[RunRow], by: str | None, parts: dict[str, SummaryBuilder]) -> Iterator[RunRow]:
    """The rows as they are, counted on the way by what `by` says of them."""
    for row in rows:
        if by is not None:
            value = getattr(row, by) if by in OWN_KEYS else row.group
            parts.setdefault(value or "", SummaryBuilder()).add(row)
        yield row


def _refuse_misspelt(failing: list[str], stored: StoredRun, came_out: set[str]) -> None:
    """A verdict that no rubric gives would never fail anything."""
    known = came_out | {label for roles in Grading.of(stored.rubrics().values()).roles.values() for label in roles}
    for label in failing:
        if label not in known and stored.rubrics():
            raise InputError(f"--fail-on {label!r}: the verdicts are {', '.join(sorted(known))}")
