"""``rubrica prefer``: which of several responses to the same prompt is better."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from rubrica.engine.cases import BadLine
from rubrica.errors import RubricaError
from rubrica.judges.preference import LETTERS, Preference
from rubrica.model.evaluation import Unscored, total_cost
from rubrica.report.figures import count_of, figure
from rubrica.runs.compared_responses import TIE, ComparedCase, PreferenceTerms, named, read_comparisons
from rubrica.runs.events import RunAdvanced
from rubrica.runs.files.case_source import lines_of
from rubrica.runs.request import JudgeSettings

from .broken_lines import BrokenLines
from .figures_table import FiguresTable
from .judge_options import (
    BudgetLimit,
    DryRun,
    Jobs,
    Judges,
    NoCache,
    Record,
    estimate_table,
    interrupted,
    judge_names,
    open_judging,
)
from .options import HOW, WHAT, WHERE, ForceOutput, Prompt, rubric_option
from .output_files import atomic_text_file, refuse_same
from .progress import run_progress
from .screen import echo_json, out, safe
from .sources import rubric_of, text_of

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Pairs = Annotated[
    str | None,
    typer.Argument(
        metavar="PAIRS.jsonl", help="One JSON object a line with prompt and responses; - reads standard input."
    ),
]
Responses = Annotated[
    list[str] | None,
    typer.Option("--response", help="A response, twice or more often; also @file or -.", rich_help_panel=WHAT),
]
RubricName = Annotated[
    str | None,
    rubric_option("The rubric to compare by, with learned weights of judges; left out, in general.", HOW),
]
Graded = Annotated[
    bool, typer.Option("--graded", help="Ask for a grade from 1 to 7 instead of a choice.", rich_help_panel=HOW)
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="A,B",
        help="The names under which the judge sees the responses, in order; left out, A, B and so on.",
        rich_help_panel=HOW,
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT.jsonl", help="Store preferences here.", rich_help_panel=WHERE),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print preferences as JSON lines.", rich_help_panel=WHERE)]
EXAMPLES = """[bold]Examples[/bold]
  rubrica prefer -p 'What is 2 + 2?' --response '4' --response '5' -J MODEL
  rubrica prefer pairs.jsonl -J MODEL -J OTHER -o choices.jsonl
  rubrica prefer pairs.jsonl -r calibrated.yaml -J MODEL -J OTHER

Every judge is asked twice, with the responses in both orders, so that position
bias cancels out; it is reported. A line of PAIRS.jsonl:
  {"id": "q1", "prompt": "2 + 2?", "responses": ["4", "5"], "human": "first"}
`human`, what people chose, is optional; with it, `rubrica calibrate
choices.jsonl` learns what each judge's choice should count."""


@app.command(epilog=EXAMPLES)
def prefer(
    pairs: Pairs = None,
    prompt: Prompt = None,
    response: Responses = None,
    rubric: RubricName = None,
    graded: Graded = False,
    labels: Labels = None,
    judge: Judges = None,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    jobs: Jobs = 16,
    no_cache: NoCache = False,
    record: Record = None,
    output: Output = None,
    force: ForceOutput = False,
    as_json: AsJson = False,
) -> None:
    """Say which of several responses to the same prompt is better."""
    if (pairs is None) == (not response):
        raise typer.BadParameter("give --response twice, or a file of pairs, and not both", param_hint="PAIRS.jsonl")
    names = judge_names(judge, offline=False)
    if not names:
        raise typer.BadParameter("name a model that compares; `rubrica config` shows how", param_hint="--judge")
    refuse_same(output, pairs, rubric)
    how = PreferenceTerms(
        rubric_of(rubric) if rubric is not None else None,
        graded,
        tuple(label.strip() for label in labels.split(",")) if labels is not None else LETTERS,
    )
    judging = JudgeSettings(
        tuple(names), None, budget, jobs, cached=not no_cache, record=Path(record) if record else None, dry=dry_run
    )
    complaints = BrokenLines()
    cases = list(_cases(pairs, prompt, response or [], complaints))
    with open_judging(judging) as jury:
        found = _in_order(cases, jury.rankings(cases, how))
        if dry_run:
            out().print(estimate_table(jury.estimates))
            return
    rows = [_row(case, preference) for case, preference in found]
    if output is not None:
        with atomic_text_file(output, force=force) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if as_json:
        for row in rows:
            echo_json(row, indent=None)
    else:
        _show(found, output)
    if complaints.count or any(isinstance(preference, Unscored) for _, preference in found):
        raise typer.Exit(1)


def _cases(
    pairs: str | None, prompt: str | None, responses: list[str], complaints: BrokenLines
) -> Iterator[ComparedCase]:
    if pairs is None:
        asked = text_of(prompt, "--prompt") if prompt is not None else ""
        try:
            yield ComparedCase("1", asked, named([text_of(text, "--response") for text in responses]))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--response") from None
        return
    count = 0
    with lines_of(pairs) as lines:
        for case in read_comparisons(lines):
            count += 1
            if isinstance(case, BadLine):
                complaints(case)
            else:
                yield case
    if not count:
        raise RubricaError(f"{pairs} holds nothing to compare; `rubrica prefer --help` shows a line of it")


Found = list[tuple[ComparedCase, Preference | Unscored]]


def _in_order(cases: list[ComparedCase], found: Iterable[tuple[ComparedCase, Preference | Unscored]]) -> Found:
    """All that is found, as the cases stand; what is under way shows how far it has come."""
    places = {id(case): place for place, case in enumerate(cases)}
    ready: Found = []
    try:
        with run_progress() as show:
            began, spent = time.monotonic(), None
            for case, preference in found:
                ready.append((case, preference))
                if preference.cost is not None:
                    spent = preference.cost if spent is None else total_cost([spent, preference.cost])
                done = len(ready)
                show(RunAdvanced(done, done, time.monotonic() - began, len(cases), cost=spent))
    except KeyboardInterrupt:
        raise interrupted(f"{len(ready):,} of {count_of(len(cases), 'comparison')} made; nothing was written") from None
    return sorted(ready, key=lambda pair: places[id(pair[0])])


def _row(case: ComparedCase, found: Preference | Unscored) -> dict[str, Any]:
    head = {"id": case.id, "prompt": case.prompt, "responses": case.responses, **case.kept}
    if isinstance(found, Unscored):
        return {**head, "choice": None, "unscored": found.reason, "votes": []}
    return {**head, **found.plain}


def _show(found: Found, written: str | None) -> None:
    if len(found) == 1:
        _show_one(*found[0])
    else:
        table = FiguresTable()
        for name in ("id", "better"):
            table.add_column(name, overflow="fold")
        table.add_column("confidence", justify="right")
        table.add_column("reason", overflow="fold")
        for case, preference in found:
            table.add_row(safe(case.id), *_cells(preference))
        out().print(table)
        decided = sum(isinstance(own, Preference) and own.choice is not None for _, own in found)
        out().print(Text(f"{decided:,} of {count_of(len(found), 'comparison')} decided"))
        known = [
            (own.choice or TIE) == case.kept["human"]
            for case, own in found
            if "human" in case.kept and isinstance(own, Preference)
        ]
        if known:
            out().print(Text(f"{sum(known):,} of {len(known):,} as people chose"))
    if written is not None:
        out().print(Text(f"written to {safe(written)}"))


def _show_one(case: ComparedCase, preference: Preference | Unscored) -> None:
    better, confidence, reason = _cells(preference)
    out().print(Text.assemble((better, "bold"), f"  confidence {confidence}" if confidence else ""))
    if isinstance(preference, Preference) and len(case.responses) > 2:
        out().print(Text("order: " + ", ".join(safe(name) for name in preference.order)))
    out().print(Text(reason))


def _cells(preference: Preference | Unscored) -> tuple[str, str, str]:
    if isinstance(preference, Unscored):
        return "not decided", "", safe(preference.reason)
    return safe(preference.choice or "tie"), figure(round(preference.confidence, 2)), safe(preference.reason)
