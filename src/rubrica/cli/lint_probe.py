"""What ``rubrica lint --probe`` asks for and shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from rubrica.engine.cases import Case
from rubrica.engine.compile import compile_rubric
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, dollars
from rubrica.runs.batch import CaseWork, evaluate_each
from rubrica.runs.probes.probe import SAMPLE, ProbeFigures, ProbeReport, probe_rubric
from rubrica.runs.probes.probe_table import PROBES
from rubrica.runs.probes.sample_cases import sample_cases

from .figures_table import FiguresTable
from .screen import out, safe

if TYPE_CHECKING:
    from rubrica.runs.jury_session import JurySession

PANEL = "Writing for the rubric"
ProbeWanted = Annotated[
    bool,
    typer.Option(
        "--probe",
        help="Measure what answers gain by padding, quoting, flattery and the like; exit with 1 if it is too much.",
        rich_help_panel=PANEL,
    ),
]
ProbeCases = Annotated[
    str | None,
    typer.Option(
        "--cases",
        metavar="CASES",
        help="Cases whose own criteria are read. With --probe, their responses are changed; left out, those of the "
        "examples that come with the rubric.",
    ),
]
MostGain = Annotated[
    float,
    typer.Option(
        "--most-gain",
        min=0,
        max=1,
        help="What a probe may gain on average, as a share of the score.",
        rich_help_panel=PANEL,
    ),
]


def probe_cases(rubric: Rubric, cases: str | None, jury: JurySession | None) -> ProbeReport:
    """The probes of a rubric on a file of cases, by code or by the models that are asked anyway."""
    whole = rubric.scored_in_full()
    plan = compile_rubric(whole, None if jury is None else jury.judge_of(whole))

    def evaluations(contexts: Sequence[Context]) -> list[Evaluation]:
        works = [CaseWork(Case(str(number), number, one), plan, one) for number, one in enumerate(contexts)]
        found: dict[int, Evaluation] = {}
        for work, outcome in evaluate_each(works) if jury is None else jury.evaluator(works):
            if isinstance(outcome, RubricaError):
                raise outcome
            found[work.case.line] = outcome
        return [found[number] for number in range(len(works))]

    return probe_rubric(rubric, sample_cases(rubric, cases, SAMPLE), evaluations, is_judged=jury is not None)


def show_probes(report: ProbeReport, most_gain: float) -> None:
    """A table of how every probe fared, and a line for each that gains too much."""
    console = out()
    by = f"by models, {dollars(report.cost.usd if report.cost is not None else None)}" if report.judged else "by code"
    console.print(Text(f"{safe(report.rubric)}, probes on {count_of(report.cases, 'case')}, {by}", "bold"))
    exceeding = report.exceeding(most_gain)
    entries = {one.name: one for one in PROBES}
    table = FiguresTable()
    for name in ("probe", "what is tried"):
        table.add_column(name)
    for name in ("cases", "before", "after", "gain", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in report.figures:
        style = "bold red" if one in exceeding else ""
        table.add_row(one.probe, entries[one.probe].tries, str(one.cases), *_numbers(one), style=style)
    console.print(table)
    for one in exceeding:
        most = f"{one.gain:+.2f} on average (at most {most_gain:+.2f}), {one.largest:+.2f} in case"
        said = f"{one.probe} gains {most} {safe(one.largest_case)}; what helps: {entries[one.probe].helps}"
        console.print(Text.assemble(("✕  ", "bold red"), said), soft_wrap=True)
    unscored = sum(one.unscored for one in report.figures)
    if not report.scored:
        said = "no answer has a score, so nothing was probed" + (
            "" if report.judged else "; a judge can tell (--judge)"
        )
        console.print(Text.assemble(("✕  ", "bold red"), said), soft_wrap=True)
        return
    if unscored:
        console.print(Text(f"{count_of(unscored, 'pair')} of answers had no score", "dim"))
    if not exceeding:
        console.print(Text.assemble(("ok ", "bold green"), f"no probe gains more than {most_gain:g} on average"))


def _numbers(one: ProbeFigures) -> list[str]:
    if one.gain is None:
        return ["", "", "no score", ""]
    return [f"{one.before:.2f}", f"{one.after:.2f}", _signed(one.gain), _signed(one.largest)]


def _signed(gain: float | None) -> str:
    """A gain in two digits; a hair below zero is none."""
    return f"{round(gain or 0.0, 2) + 0.0:+.2f}"
