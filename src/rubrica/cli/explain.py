"""``rubrica explain``: where every point came from."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.printable import printable_json
from rubrica.runs.files.case_source import lines_of
from rubrica.runs.stored import StoredRun

from .broken_lines import BrokenLines
from .explanation import explanation
from .options import HOW, WHAT, AsJson, ContextPairs, Prompt, Response, SettingPairs, rubric_option
from .screen import out
from .sources import context_of, gives_text, rubric_of, settings_of, single_context
from .stored import WAY_OUT, is_run, stored_evaluations

IDS_SHOWN = 10

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Stored = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN|EVALUATIONS.jsonl",
        help="A run's folder, or what `rubrica eval -o` stored; - reads standard input.",
    ),
]
CaseId = Annotated[
    str | None, typer.Argument(metavar="CASE", help="The id of the case to explain; left out, the first.")
]
CaseOption = Annotated[
    str | None, typer.Option("--case", metavar="ID", help="The same, as an option.", rich_help_panel=WHAT)
]
RubricName = Annotated[str | None, rubric_option("With --response: judge it now, then explain.", HOW)]

EXAMPLES = """[bold]Examples[/bold]
  rubrica explain results.jsonl
  rubrica explain runs/monday ticket-17
  rubrica explain results.jsonl --case ticket-17
  rubrica explain -r answer-quality -p 'What is 2 + 2?' --response '4'"""


@app.command(epilog=EXAMPLES)
def explain(
    stored: Stored = None,
    case: CaseId = None,
    named: CaseOption = None,
    rubric: RubricName = None,
    prompt: Prompt = None,
    response: Response = None,
    context: ContextPairs = None,
    settings: SettingPairs = None,
    as_json: AsJson = False,
) -> None:
    """Show where every point came from.

    Steps to the score, each dimension's findings with the matched text, gates,
    sections, the rule that decided the verdict, and what was missing.
    """
    if case is not None and named is not None:
        raise typer.BadParameter("name the case once", param_hint="--case")
    case = case if case is not None else named
    extra = context_of(context or [])
    judged_now = rubric is not None and gives_text(prompt, response, extra)
    if (stored is not None) == (rubric is not None) or (stored is None and not judged_now):
        raise typer.BadParameter(
            "give stored evaluations, or --rubric with --response", param_hint="RUN|EVALUATIONS.jsonl"
        )
    if stored is not None:
        evaluation, known = _find(stored, case)
    elif rubric is not None:
        plan = compile_rubric(rubric_of(rubric, settings_of(settings or [])))
        evaluation, known = evaluate(plan, single_context(prompt, response, extra), case), plan.rubric
    if as_json:
        typer.echo(printable_json(evaluation.to_json()))
    else:
        out().print(explanation(evaluation, known))


def _find(source: str, case: str | None) -> tuple[Evaluation, Rubric | None]:
    """An evaluation, and the rubric that gave it where the run keeps it."""
    if is_run(source):
        run = StoredRun.open(source, BrokenLines())
        evaluation = _find_in_run(run, case)
        return evaluation, run.rubrics().get(evaluation.rubric)
    ids: list[str] = []
    with lines_of(source) as lines:
        for evaluation in stored_evaluations(lines, BrokenLines()):
            if case is None or evaluation.case == case:
                return evaluation, None
            if len(ids) < IDS_SHOWN:
                ids.append(evaluation.case or "(none)")
    raise _not_there(source, case, ids)


def _find_in_run(run: StoredRun, case: str | None) -> Evaluation:
    """One evaluation of a run: only its record is read, or made again where the run keeps figures only."""
    found = run.evaluations() if case is None else run.records({(case, 0)})
    for evaluation in found:
        return evaluation
    raise _not_there(str(run.path), case, [row.case for row in islice(run.rows(), IDS_SHOWN)])


def _not_there(source: str, case: str | None, ids: list[str]) -> RubricaError:
    if not ids:
        return RubricaError(f"{source} holds no evaluation; {WAY_OUT}")
    return RubricaError(f"{source} has no case {case!r}; it begins with {', '.join(ids)}")
