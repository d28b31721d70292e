"""A comparison as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, percent, signed
from rubrica.runs.compare.annotations import change_text
from rubrica.runs.compare.comparison import MOST_POSITIONS, Comparison, MovedCase
from rubrica.runs.compare.measure_comparison import MeasureComparison, Verdict
from rubrica.runs.summary.grading import name_of
from rubrica.runs.summary.measures import measure_title

from .screen import safe, short
from .stored_run_options import format_figure, plain_table
from .verdict_style import verdict_text

STYLES: dict[Verdict, str] = {
    "improvement": "bold green",
    "regression": "bold red",
    "same": "",
    "cannot tell": "dim",
}
SIGNS: dict[Verdict, str] = {"improvement": "▲", "regression": "▼", "same": "=", "cannot tell": "?"}
WORDS: dict[Verdict, str] = {"improvement": "better", "regression": "worse", "same": "same", "cannot tell": "open"}
LineTitle = Callable[[MeasureComparison], str]
MOST_CHANGES = 8
MOST_CASES = 5


def comparison_page(found: Comparison, names: tuple[str, str], rubrics: Iterable[Rubric] = ()) -> RenderableType:
    """What `rubrica compare` and `rubrica baseline check` print."""
    called = partial(_title, tuple(rubrics))
    parts: list[RenderableType] = [_lines(found, names, called), Text()]
    if found.positions:
        parts += [_positions(found), Text()]
    if found.changes:
        parts += [_changes(found), Text()]
    for title, cases in (("fell furthest", found.worse), ("rose furthest", found.better)):
        if cases:
            parts += [_moved_table(title, cases), Text()]
    for note in found.notes:
        parts.append(Text.assemble(("! ", "bold yellow"), safe(note)))
    for own, name in ((found.only_a, names[0]), (found.only_b, names[1])):
        if own:
            listed = ", ".join(short(case, 24) for case in own[:MOST_CASES]) + (", …" if len(own) > MOST_CASES else "")
            parts.append(
                Text.assemble(("! ", "bold yellow"), safe(f"only {name} has {count_of(len(own), 'case')}: {listed}"))
            )
    return Group(*parts, Text(safe(conclusion(found, called)), STYLES[found.verdict]))


def conclusion(found: Comparison, title: LineTitle) -> str:
    """The comparison in one line."""
    basis = f"over {count_of(found.cases, 'case')} in both"
    if found.groups is not None:
        basis += f", in {count_of(found.groups, 'group')}"
    better, worse = (", ".join(map(title, lines)) for lines in (found.improvements, found.regressions))
    match found.verdict:
        case "regression":
            return f"regression in {worse}" + (f", improvement in {better}" if better else "") + f", {basis}"
        case "improvement":
            return f"improvement in {better}, {basis}"
        case "same":
            return f"no difference that matters, {basis}"
        case _:
            unclear = [line for line in found.lines if line.verdict == "cannot tell"]
            return f"cannot tell: {count_of(len(unclear), 'measure')} may differ, {basis}"


def _lines(found: Comparison, names: tuple[str, str], title: LineTitle) -> RenderableType:
    heading = Text.assemble(("A ", "dim"), short(names[0], 60), ("   B ", "dim"), short(names[1], 60))
    table = plain_table(("",), ("A", "B", "change", "interval", "p"), ("",))
    table.columns[0].overflow = "ellipsis"  # the name gives way, no figure does
    for column in table.columns[1:]:
        column.no_wrap = True
    for line in found.lines:
        interval = "—"
        if line.difference is not None:
            interval = f"{_bare(line, line.difference.low)} to {_bare(line, line.difference.high)}"
        table.add_row(
            short(title(line), 26),
            _value(line, line.before),
            _value(line, line.after),
            _bare(line, line.mean),
            interval,
            _p(line.p),
            Text(f"{SIGNS[line.verdict]} {WORDS[line.verdict]}", STYLES[line.verdict]),
        )
    said: dict[str, list[str]] = {}
    for line in found.lines:
        if line.verdict in ("same", "cannot tell"):
            said.setdefault(line.description, []).append(title(line))
    told = [Text.assemble((f"{words}: ", "dim"), safe(", ".join(measures))) for words, measures in said.items()]
    return Group(heading, Text(), table, *([Text(), *told] if told else []))


def _positions(found: Comparison) -> RenderableType:
    """The answers to the first criterion of every case, the second and so on."""
    table = plain_table(("criterion",), ("A", "B", "change", "cases", "p"))
    for place in found.positions[:MOST_POSITIONS]:
        name = f"{place.rubric}: {place.position}" if place.rubric else str(place.position)
        cells = (format_figure(place.before), format_figure(place.after), signed(round(place.after - place.before, 3)))
        table.add_row(short(name, 26), *cells, f"{place.cases:,}", _p(place.p))
    hidden = len(found.positions) - MOST_POSITIONS
    return Group(table, Text(f"… and {hidden:,} more; --json has them all", "dim")) if hidden > 0 else table


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _changes(found: Comparison) -> Table:
    table = plain_table(("verdict before", "after"), ("cases",))
    for (before, after), count in found.changes.most_common(MOST_CHANGES):
        table.add_row(verdict_text(before), verdict_text(after), f"{count:,}")
    return table


def _moved_table(title: str, cases: Sequence[MovedCase]) -> Table:
    table = plain_table((title,), ("before", "after", "by"), ("verdict",))
    for moved in cases[:MOST_CASES]:
        verdict = verdict_text(moved.verdicts[1])
        if moved.verdicts[0] != moved.verdicts[1]:
            verdict = Text.assemble(verdict_text(moved.verdicts[0]), " → ", verdict)
        change = signed(float(f"{moved.after - moved.before:.3g}"))
        table.add_row(short(moved.case, 40), format_figure(moved.before), format_figure(moved.after), change, verdict)
    return table


def _title(rubrics: Sequence[Rubric], line: MeasureComparison) -> str:
    """A line by the title of what it measures; its rubric is named where the runs hold several."""
    owners = [rubric for rubric in rubrics if not line.rubric or rubric.name == name_of(line.rubric)]
    title = measure_title(line.measure, *owners)
    return f"{line.rubric}: {title}" if line.rubric else title


def _value(line: MeasureComparison, value: float) -> str:
    return percent(value) if line.measure.kind == "passed" else format_figure(value)


def _bare(line: MeasureComparison, value: float) -> str:
    return change_text(line, value).removesuffix(" points")
