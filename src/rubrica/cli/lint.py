"""``rubrica lint``: criteria that could be worded better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from rubrica.authoring.criterion_text import criteria_of
from rubrica.authoring.lint import LintReport, lint_cases, lint_rubric
from rubrica.authoring.lint_warning import LINT_RULES
from rubrica.authoring.linted_file import LintedFile
from rubrica.engine.cases import BadLine, Case
from rubrica.errors import RubricaError, RubricError
from rubrica.extras import requires
from rubrica.report.figures import count_of, dollars
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.probes.probe import MOST_GAIN, ProbeReport
from rubrica.runs.request import JudgeSettings
from rubrica.runs.stored import StoredRun
from rubrica.text.sentence_model import sentence_model

from .broken_lines import BrokenLines
from .judge_options import BudgetLimit, Jobs, Judges, NoCache, open_judging, split_list
from .lint_probe import MostGain, ProbeCases, ProbeWanted, probe_cases, show_probes
from .options import AsJson
from .screen import echo_json, note, out, safe, say_error

if TYPE_CHECKING:
    from rubrica.runs.jury_session import JurySession

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Rubrics = Annotated[
    list[str] | None, typer.Argument(metavar="RUBRIC…", help="Rubric files, or names of bundled rubrics.")
]
RunFolder = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="RUN", help="A run they judged: finds criteria that are always, never or randomly met."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if there is a warning.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica lint my-rubric.yaml
  rubrica lint rubrics/*.yaml --strict
  rubrica lint my-rubric.yaml --run runs/july
  rubrica lint my-rubric.yaml -J anthropic:claude-haiku-4-5
  rubrica lint --cases cases.jsonl
  rubrica lint my-rubric.yaml --probe --cases cases.jsonl

`rubrica validate` says whether a file can be used; lint reads what its criteria say. Rules find what they can without a
model; with --judge, a model reads each criterion too. --probe changes answers in ways that make them no better, and
measures what that gains, by code or by the judge. Exits with 1 if a probe gains too much, a file cannot be used or a
model could not be asked, and with --strict also if there is a warning; otherwise with 0."""


@app.command(epilog=EXAMPLES)
def lint(
    rubrics: Rubrics = None,
    run: RunFolder = None,
    strict: Strict = False,
    as_json: AsJson = False,
    judge: Judges = None,
    budget: BudgetLimit = None,
    jobs: Jobs = 16,
    no_cache: NoCache = False,
    probe: ProbeWanted = False,
    cases: ProbeCases = None,
    most_gain: MostGain = MOST_GAIN,
) -> None:
    """Find criteria that ask two things, are vague, overlap or contradict each other."""
    names = split_list(judge)
    if len(names) > 1:
        raise typer.BadParameter("one model reads the criteria; name one", param_hint="--judge")
    if not rubrics and cases is None:
        raise typer.BadParameter("name a rubric, or --cases whose criteria are read", param_hint="RUBRIC…")
    stored = StoredRun.open(run) if run is not None else None
    reports: dict[str, LintReport] = {}
    probed: dict[str, ProbeReport] = {}
    unusable = False
    with ExitStack() as stack:
        jury = None
        if names:
            jury = stack.enter_context(
                open_judging(JudgeSettings(tuple(names), None, budget, jobs, cached=not no_cache))
            )
        for name in rubrics or ():
            try:
                file = LintedFile.read(name)
            except RubricError as error:
                for problem in error.problems:
                    say_error(str(problem) if problem.file else f"{name}: {problem}")
                unusable = True
                continue
            reports[name] = file.placed(_report(file, stored, jury, jobs))
            if probe:
                probed[name] = probe_cases(file.rubric, cases, jury)
    if cases is not None and (found := _case_report(cases, probe=probe)) is not None:
        reports[cases] = found
    if as_json:
        echo_json([_plain(name, report, probed.get(name)) for name, report in reports.items()])
    else:
        _print(reports)
        for tried in probed.values():
            show_probes(tried, most_gain)
    for report in reports.values():
        for unread in report.unread:
            note(f"not read by the model: {unread}")
    failed = unusable or any(report.unread for report in reports.values())
    failed = failed or any(tried.exceeding(most_gain) or not tried.scored for tried in probed.values())
    if failed or (strict and any(report.warnings for report in reports.values())):
        raise typer.Exit(1)


def _report(file: LintedFile, run: StoredRun | None, jury: JurySession | None, jobs: int) -> LintReport:
    report = lint_rubric(file.rubric, run, sentence_model())
    if jury is None:
        return report
    with requires("judges", "--judge"):
        from rubrica.authoring.criterion_review import review_criteria  # late: rules need no models
    return report.with_review(jury.runner.run(review_criteria(criteria_of(file.rubric), jury.jury, jobs)))


def _case_report(source: str, *, probe: bool) -> LintReport | None:
    """What is said of the criteria that the cases of a file bring; None where they bring none, and are for probes."""
    complaints, count = BrokenLines(), 0

    def read() -> Iterator[Case]:
        nonlocal count
        with cases_of(source) as cases:
            for case in cases.cases():
                if isinstance(case, BadLine):
                    complaints(case)
                else:
                    count += len(case.context.criteria)
                    yield case

    report = lint_cases(read(), source)
    if complaints.count:
        raise typer.Exit(1)
    if not count and not probe:
        raise RubricaError(f"no case of {source} has criteria of its own; add --probe to try what its responses gain")
    return report if count else None


def _plain(name: str, report: LintReport, probed: ProbeReport | None) -> dict[str, Any]:
    return {
        "rubric": name,
        **({} if probed is None else {"probed": probed.plain}),
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
        console.print(f"{count_of(sum(counts), 'warning')} in {count_of(len(counts), 'file')}")
