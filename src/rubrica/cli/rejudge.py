"""``rubrica rejudge``: a changed rubric over stored scores."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rubrica.engine.cases import BadLine
from rubrica.engine.compile import compile_rubric
from rubrica.engine.plan import Plan
from rubrica.engine.rejudge import rejudge as judged_again
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.files.case_source import LineSource, lines_of

from .broken_lines import BrokenLines
from .figures_table import FiguresTable
from .options import ForceOutput, Output, PrintJson, SettingPairs, StoredArgument
from .output_files import STDOUT, JsonLines, json_lines, refuse_same
from .screen import note, out
from .sources import rubric_of, settings_of
from .stored import evaluations_file, stored_evaluations
from .verdict_style import verdict_text

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

RubricName = Annotated[str, typer.Option("--rubric", "-r", metavar="NAME|FILE", help="The changed rubric.")]

EXAMPLES = """[bold]Examples[/bold]
  rubrica rejudge results.jsonl -r my-rubric-v2.yaml
  rubrica rejudge results.jsonl -r my-rubric-v2.yaml -o rejudged.jsonl

Dimension scores are taken as they were stored; weights, gates, sections
and verdicts are computed again."""

Changes = Counter[tuple[str, str]]


@app.command(epilog=EXAMPLES)
def rejudge(
    stored: StoredArgument,
    rubric: RubricName,
    settings: SettingPairs = None,
    output: Output = None,
    force: ForceOutput = False,
    as_json: PrintJson = False,
) -> None:
    """Apply a changed rubric to stored scores; nothing is scored again."""
    refuse_same(output, stored, rubric)
    plan = compile_rubric(rubric_of(rubric, settings_of(settings or [])))
    complaints = BrokenLines()
    printed = as_json or output == STDOUT
    with ExitStack() as stack:
        lines = stack.enter_context(lines_of(evaluations_file(stored)))
        sinks = [json_lines(STDOUT)] if printed else []
        if output is not None and output != STDOUT:
            sinks.append(stack.enter_context(json_lines(output, force=force)))
        changes = _rejudge_all(plan, lines, sinks, complaints)
    said = _sentence(changes, complaints.count)
    if printed:
        note(said)
    else:
        out().print(Group(_table(changes, plan), Text(f"\n{said}")))
    if complaints.count:
        raise typer.Exit(1)


def _rejudge_all(plan: Plan, lines: LineSource, sinks: list[JsonLines], complaints: BrokenLines) -> Changes:
    changes: Changes = Counter()
    for before in stored_evaluations(lines, complaints):
        try:
            after = judged_again(plan, before)
        except RubricaError as error:
            complaints(BadLine(lines.number, str(error)))
            continue
        changes[before.verdict, after.verdict] += 1
        for sink in sinks:
            sink.write(after)
    return changes


def _table(changes: Changes, plan: Plan) -> Table:
    table = FiguresTable()
    table.add_column("before", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column(f"under {plan.rubric.reference}", no_wrap=True)
    table.add_column("evaluations", justify="right", no_wrap=True)
    for (before, after), count in sorted(changes.items(), key=lambda item: (item[0][0] == item[0][1], -item[1])):
        same = before == after
        arrow = Text("=" if same else "→", "dim" if same else "bold")
        table.add_row(verdict_text(before, plan.rubric), arrow, verdict_text(after, plan.rubric), f"{count:,}")
    return table


def _sentence(changes: Changes, broken: int) -> str:
    changed = sum(count for (before, after), count in changes.items() if before != after)
    said = f"{changed:,} of {count_of(changes.total(), 'verdict')} changed; nothing was scored again"
    return f"{said}, {count_of(broken, 'broken line')}" if broken else said
