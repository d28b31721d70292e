"""``rubrica eval``: judge one response, or a file of cases."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError

from .batch import Batch, Shelf, Tally
from .card import card
from .complaints import Complaints
from .delivery import Destinations, deliver, judge_file
from .options import HOW, WHAT, WHERE, ContextPairs, ForceOutput, Output, PrintJson, Prompt, Response, SettingPairs
from .screen import out
from .sinks import refuse_same
from .sources import context_of, rubric_of, settings_of, single_context

VERDICT_FAILED = 100

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Cases = Annotated[
    str | None,
    typer.Argument(
        metavar="CASES.jsonl", help="One JSON object a line with prompt, response and context; - reads standard input."
    ),
]
RubricName = Annotated[
    str | None,
    typer.Option(
        "--rubric",
        "-r",
        metavar="NAME|FILE",
        help="A bundled rubric or a file; left out, each case's own.",
        rich_help_panel=HOW,
    ),
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Judge only the first N cases.", rich_help_panel=WHAT)
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE.html", help="Write an HTML report too.", rich_help_panel=WHERE)
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="VERDICT",
        help="Exit with 100 if this verdict comes out; repeat it or write a,b.",
        rich_help_panel=HOW,
    ),
]
CheckExpected = Annotated[
    bool,
    typer.Option("--check", help="Exit with 100 if a case comes out other than its expect says.", rich_help_panel=HOW),
]

EXAMPLES = """[bold]Examples[/bold]
  rubrica eval -r answer-quality -p 'What is 2 + 2?' --response '4'
  rubrica eval -r my-rubric.yaml -p @question.txt --response @answer.txt
  rubrica eval cases.jsonl -r answer-quality -o results.jsonl
  rubrica eval cases.jsonl -r answer-quality --report results.html
  rubrica eval cases.jsonl -r answer-quality --fail-on fail,inconclusive

A broken line is told with its number and the rest goes on; the exit code
is then 1."""


@app.command(epilog=EXAMPLES)
def eval(
    cases: Cases = None,
    prompt: Prompt = None,
    response: Response = None,
    context: ContextPairs = None,
    limit: Limit = None,
    rubric: RubricName = None,
    settings: SettingPairs = None,
    fail_on: FailOn = None,
    check: CheckExpected = False,
    output: Output = None,
    report: Report = None,
    force: ForceOutput = False,
    as_json: PrintJson = False,
) -> None:
    """Judge one response, or a file of cases.

    Without a model, judged dimensions use their offline scorer, and the result
    says so.
    """
    extra = context_of(context or [])
    single = (
        prompt is not None or response is not None or bool({"response", "messages"} & extra.keys() and cases is None)
    )
    if single == (cases is not None):
        wanted = "give --response TEXT, or a file of cases" + (", not both" if single else "")
        raise typer.BadParameter(wanted, param_hint="CASES.jsonl")
    if rubric is None and (single or settings):
        raise typer.BadParameter("name a rubric; `rubrica list` shows the bundled ones", param_hint="--rubric")
    refuse_same(output, cases, report, rubric)
    refuse_same(report, cases, rubric)
    given = rubric_of(rubric, settings_of(settings or [])) if rubric is not None else None
    shelf = Shelf(given)
    watched = _labels(fail_on or [])
    if given is not None:
        _refuse_unknown(watched, shelf)
    to = Destinations(output, report, force, as_json)
    tally = Tally()
    if single and given is not None:
        evaluation = evaluate(shelf.plan(None), single_context(prompt, response, extra))
        tally.add(evaluation)
        deliver(iter([evaluation]), to, shelf)
        if not to.printed:
            out().print(card(evaluation))
    elif cases is not None:
        judge_file(cases, Batch(shelf, tally, Complaints(), extra, limit), to)
        _refuse_unknown(watched, shelf)
    if tally.broken:
        raise typer.Exit(1)
    if tally.count(watched) or (check and tally.mismatched):
        raise typer.Exit(VERDICT_FAILED)


def _labels(given: list[str]) -> list[str]:
    return [label.strip() for labels in given for label in labels.split(",") if label.strip()]


def _refuse_unknown(watched: list[str], shelf: Shelf) -> None:
    """A misspelt verdict would never fail anything: refuse it."""
    labels = list(shelf.labels())
    for label in watched:
        if label not in labels and shelf.rubrics:
            near = get_close_matches(label, labels, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise RubricaError(f"--fail-on {label!r}: {', '.join(shelf.rubrics)} gives {', '.join(labels)}{hint}")
