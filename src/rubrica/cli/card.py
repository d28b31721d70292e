"""One evaluation at a glance: score, verdict, dimensions, gates and the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from rubrica.model.evaluation import DimensionResult, Evaluation, GateResult
from rubrica.model.rubric import Rubric
from rubrica.report.card import telling_gates
from rubrica.report.figures import STATUS_WORDS, dollars, duration, figure, price, within
from rubrica.report.titles import dimension_title
from rubrica.runs.summary.certainty import left_open_offline

from .screen import safe, short
from .verdict_style import bar, judge_hint, share_style, verdict_text

MOST_PARTS = 30
"""Parts of a dimension in the table at a glance."""
LEAST_FOR_REASONS = 24
"""Columns of the terminal that reasons need beside the scores; with fewer they stand below."""


def card(evaluation: Evaluation, rubric: Rubric | None = None, *, may_ask: bool = False) -> Panel:
    """The panel `rubrica eval` prints for one response. `may_ask`: no judge was asked, and one can be named."""
    parts: list[RenderableType] = [headline(evaluation)]
    if may_ask and left_open_offline(evaluation):
        parts.append(judge_hint())
    parts += [Text(), DimensionTable(evaluation, rubric)]
    parts += [gate_line(gate, explained=gate.reason in evaluation.reason) for gate in telling_gates(evaluation)]
    parts += [Text.assemble(("! ", "bold yellow"), (safe(error), "yellow")) for error in evaluation.errors]
    parts += [Text(safe(note), style="dim") for note in evaluation.notes]
    if evaluation.cost is not None:
        parts.append(Text(f"{price(evaluation.cost)}, {duration(evaluation.duration_ms)}", style="dim"))
    title = Text(f"{evaluation.rubric}@{evaluation.version}" + (f" · {evaluation.case}" if evaluation.case else ""))
    return Panel(Group(*parts), title=title, title_align="left", border_style="dim", padding=(1, 2))


def headline(evaluation: Evaluation) -> Text:
    """Score, verdict, and why, in two or three lines."""
    share = evaluation.score / evaluation.out_of if evaluation.score is not None else None
    line = Text.assemble(score_text(evaluation), "  ", bar(share, 20), "  ", verdict_text(evaluation.verdict))
    facts = []
    if evaluation.profile is not None:
        facts.append(f"profile {evaluation.profile}")
    if evaluation.threshold is not None:
        facts.append(f"threshold {figure(evaluation.threshold)}")
    if evaluation.band:
        facts.append(evaluation.band)
    if evaluation.offline:
        facts.append("offline: formulas stood in for judges")
    if facts:
        line.append("\n" + safe(", ".join(facts)), "dim")
    if evaluation.reason:
        line.append("\n" + safe(evaluation.reason))
    return line


def score_text(evaluation: Evaluation) -> Text:
    """The score on its scale, with the range it lies in where it is an estimate, or that range alone."""
    out_of = f" of {figure(evaluation.out_of)}"
    if evaluation.score is None:
        low, high = evaluation.bounds
        return Text.assemble((f"between {figure(low)} and {figure(high)}", "bold"), (out_of, "dim"))
    style = f"bold {share_style(evaluation.score / evaluation.out_of)}"
    ends = within(evaluation.bounds)
    return Text.assemble((figure(evaluation.score), style), (out_of + (f", within {ends}" if ends else ""), "dim"))


@dataclass(frozen=True, slots=True)
class DimensionTable:
    """Dimensions and their parts, with bars and reasons: beside them, or below where the terminal is narrow."""

    evaluation: Evaluation
    rubric: Rubric | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table, reasons = self._table(reasons=False), list(self._reasons())
        taken = Measurement.get(console, options, table).maximum
        if taken + LEAST_FOR_REASONS <= options.max_width:
            yield self._table(reasons=True)
            return
        yield table
        if reasons:
            yield Text()
            yield from reasons

    def _rows(self) -> Iterator[tuple[str, DimensionResult | None]]:
        for name, result in self.evaluation.dimensions.items():
            yield dimension_title(name, self.rubric), result
            shown = list(_inside(result, self.rubric, 0))
            yield from shown[:MOST_PARTS]
            if len(shown) > MOST_PARTS:
                yield f"  … and {len(shown) - MOST_PARTS:,} more parts; `rubrica explain` has them", None

    def _table(self, *, reasons: bool) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        results = self.evaluation.dimensions.values()
        weighted = any(result.weight is not None for result in results)
        judged = any(result.cost is not None for result in results)
        table.add_column("dimension", no_wrap=True)
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        if weighted:
            table.add_column("weight", justify="right", no_wrap=True)
        if judged:
            table.add_column("cost", justify="right", no_wrap=True)
        if reasons:
            table.add_column("why", ratio=1)
        for title, result in self._rows():
            if result is None:
                table.add_row(Text(title, "dim"))
            else:
                cells = _cells(title, result, weighted=weighted, judged=judged)
                table.add_row(*cells, *([_why(result)] if reasons else []))
        return table

    def _reasons(self) -> Iterator[Text]:
        for title, result in self._rows():
            if result is not None and (told := _why(result, longest=400)):
                yield Text.assemble((safe(title), "bold"), ": ", told)


def _inside(result: DimensionResult, rubric: Rubric | None, level: int) -> Iterator[tuple[str, DimensionResult]]:
    """The parts of a dimension, and theirs, each a little further in."""
    for name, part in result.parts.items():
        yield f"{'  ' * level}└ {short(part.asks, 40) or dimension_title(name, rubric)}", part
        yield from _inside(part, rubric, level + 1)


def gate_line(gate: GateResult, *, explained: bool = False) -> Text:
    """A gate that fired, or may have. `explained`: why it did was said."""
    reason = "" if explained else f"; {safe(gate.reason)}"
    match gate.effect:
        case "cap":
            effect = f"score at most {figure(gate.limit)}"
        case "floor":
            effect = f"score at least {figure(gate.limit)}"
        case "verdict":
            effect = f"verdict {gate.verdict}"
    if gate.fired:
        return Text.assemble(("▲ ", "bold red"), (safe(gate.name), "bold"), f": {safe(effect)}{reason}")
    if gate.when in gate.reason:
        reason = ""
    told = f": cannot tell whether it applies ({safe(gate.when)}); if it does, {safe(effect)}{reason}"
    return Text.assemble(("? ", "bold yellow"), (safe(gate.name), "bold"), told)


def _out_of(result: DimensionResult) -> str:
    ends = within(result.bounds)
    answer = f" {safe(result.label)}" if result.label else ""
    return (f" ({ends})" if ends else "") + f" / {figure(result.high)}{answer}"


def _cells(title: str, result: DimensionResult, *, weighted: bool, judged: bool) -> list[RenderableType]:
    cells: list[RenderableType] = [
        safe(title),
        Text.assemble((figure(result.value), share_style(result.share)), (_out_of(result), "dim")),
        bar(result.share),
    ]
    if weighted:
        cells.append(Text(figure(result.weight) if result.weight is not None else "", "dim"))
    if judged:
        spent = f"{dollars(result.cost.usd)}\n{duration(result.duration_ms)}" if result.cost is not None else ""
        cells.append(Text(spent, "dim"))
    return cells


def _why(result: DimensionResult, longest: int = 160) -> Text:
    state = "" if result.status == "scored" else STATUS_WORDS[result.status]
    told = ": ".join(part for part in (state, result.grounds) if part)
    return Text(short(told, longest), "" if result.status == "scored" else "dim")
