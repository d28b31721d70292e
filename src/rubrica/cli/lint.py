"""``rubrica lint``: criteria that could be worded better."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from rubrica.authoring.criterion_text import criteria_of
from rubrica.authoring.lint import LintReport, lint_rubric
from rubrica.authoring.lint_warning import LINT_RULES
from rubrica.authoring.linted_file import LintedFile
from rubrica.errors import RubricError
from rubrica.extras import requires
from rubrica.report.figures import count_of, dollars
from rubrica.runs.request import JudgeSettings
from rubrica.runs.stored import StoredRun
from rubrica.text.sentence_model import sentence_model

from .judge_options import BudgetLimit, Jobs, Judges, NoCache, open_judging, split_list
from .options import AsJson
from .screen import echo_json, note, out, safe, say_error

if TYPE_CHECKING:
    from rubrica.runs.jury_session import JurySession

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Rubrics = Annotated[list[str], typer.Argument(metavar="RUBRIC…", help="Rubric files, or names of bundled rubrics.")]
RunFolder = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="RUN", help="A run they judged: tells criteria that are always, never or by chance met."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 where there is a warning.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica lint my-rubric.yaml
  rubrica lint rubrics/*.yaml --strict
  rubrica lint my-rubric.yaml --run runs/july
  rubrica lint my-rubric.yaml -J anthropic:claude-haiku-4-5

`rubrica validate` says whether a file can be used; lint reads what its criteria say. Rules find what they can without a
model; with --judge, a model reads each criterion too. Exits with 0, with --strict with 1 where there is a warning, and
with 1 where a file cannot be used or a model could not be asked."""


@app.command(epilog=EXAMPLES)
def lint(
    rubrics: Rubrics,
    run: RunFolder = None,
    strict: Strict = False,
    as_json: AsJson = False,
    judge: Judges = None,
    budget: BudgetLimit = None,
    jobs: Jobs = 16,
    no_cache: NoCache = False,
) -> None:
    """Find criteria that ask two things, are vague, overlap or contradict, or cannot fail."""
    names = split_list(judge)
    if len(names) > 1:
        raise typer.BadParameter("one model reads the criteria; name one", param_hint="--judge")
    stored = StoredRun.open(run) if run is not None else None
    reports: dict[str, LintReport] = {}
    with ExitStack() as stack:
        jury = None
        if names:
            jury = stack.enter_context(
                open_judging(JudgeSettings(tuple(names), None, budget, jobs, cached=not no_cache))
            )
        for name in rubrics:
            try:
                file = LintedFile.read(name)
            except RubricError as error:
                for problem in error.problems:
                    say_error(str(problem) if problem.file else f"{name}: {problem}")
                continue
            reports[name] = file.placed(_report(file, stored, jury, jobs))
    if as_json:
        echo_json([_plain(name, report) for name, report in reports.items()])
    else:
        _print(reports)
    for report in reports.values():
        for unread in report.unread:
            note(f"not read by the model: {unread}")
    failed = len(reports) < len(rubrics) or any(report.unread for report in reports.values())
    if failed or (strict and any(report.warnings for report in reports.values())):
        raise typer.Exit(1)


def _report(file: LintedFile, run: StoredRun | None, jury: JurySession | None, jobs: int) -> LintReport:
    report = lint_rubric(file.rubric, run, sentence_model())
    if jury is None:
        return report
    with requires("judges", "--judge"):
        from rubrica.authoring.criterion_review import review_criteria  # late: rules need no models
    return report.with_review(jury.runner.run(review_criteria(criteria_of(file.rubric), jury.jury, jobs)))


def _plain(name: str, report: LintReport) -> dict[str, Any]:
    return {
        "rubric": name,
        "warnings": [warning.plain for warning in report.warnings],
        "unread": list(report.unread),
        "usd": report.cost.usd if report.cost is not None else None,
    }


def _print(reports: dict[str, LintReport]) -> None:
    console = out()
    for name, report in reports.items():
        if not report.warnings:
            console.print(Text.assemble(("ok ", "bold green"), safe(name)), soft_wrap=True)
        for warning in report.warnings:
            console.print(Text.assemble(("!  ", "bold yellow"), safe(str(warning.problem))), soft_wrap=True)
            says = f" ({safe(warning.judge)} says so)" if warning.judge else ""
            console.print(Text(f"   {warning.rule}: {LINT_RULES[warning.rule]}{says}", "dim"), soft_wrap=True)
            if warning.wording:
                console.print(Text(f"   rather: {safe(warning.wording)}"), soft_wrap=True)
        if report.cost is not None:
            console.print(Text(f"reading {safe(name)} cost {dollars(report.cost.usd)}", "dim"), soft_wrap=True)
    counts = [len(report.warnings) for report in reports.values() if report.warnings]
    if counts:
        console.print(f"{count_of(sum(counts), 'warning')} in {count_of(len(counts), 'rubric')}")
