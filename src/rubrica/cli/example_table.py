"""Many evaluations under one rubric as a table that fits the terminal, with the reason below each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.text import Text

from rubrica.model.evaluation import DimensionResult, Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.figures import figure
from rubrica.report.titles import dimension_titles, title_of

from .screen import safe, short
from .verdict_style import share_style, verdict_text

SCORE_WIDTH = 7
LONGEST_CASE, SHORTENED_CASE = 24, 18


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """One example, what came of it, and what was expected otherwise."""

    case: str
    evaluation: Evaluation
    differences: tuple[str, ...] = ()
    by_points: str = ""  # the verdict of the offline values alone, where their bounds leave it open


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Column widths, and the headings that fit them."""

    headings: Mapping[str, str]  # by dimension
    cell: int
    case: int


def example_table(pack: str, rubric: Rubric, exhibits: Sequence[ExampleRow], width: int) -> Group:
    """The table of one rubric's examples, at most `width` characters wide."""
    layout = _layout(rubric, exhibits, width)
    name = pack if pack == rubric.name else f"{pack} / {rubric.name}"
    lines = [
        Text.assemble("\n", (safe(name), "bold"), (f"  {safe(rubric.display_title)}", "dim")),
        _header(layout),
    ]
    for exhibit in exhibits:
        lines += [_row(exhibit, rubric, layout), _why(exhibit, width)]
    titles = dimension_titles(rubric)
    legend = "  ".join(f"{head}={safe(titles[name])}" for name, head in layout.headings.items() if head != titles[name])
    return Group(*lines, Text(legend, "dim")) if legend else Group(*lines)


def abbreviations(titles: Sequence[str], width: int) -> list[str]:
    """Titles cut to a width, each still different from the others.

    >>> abbreviations(["Accuracy", "Token use", "Actionability"], 5)
    ['Accur', 'Token', 'Actio']
    """
    found: list[str] = []
    for title in titles:
        words = title.split() or [""]
        tries = [title, words[0], title[:width].rstrip(), "".join(word[:1] for word in words), words[-1][:width]]
        tries += [f"{title[: width - 1]}{digit}" for digit in range(2, 10)]
        fitting = [one for one in tries if len(one) <= width and one not in found]
        found.append(fitting[0] if fitting else title[:width])
    return found


def _layout(rubric: Rubric, exhibits: Sequence[ExampleRow], width: int) -> TableLayout:
    dimensions = list(rubric.dimensions)
    case = min(max(len(exhibit.case) for exhibit in exhibits), LONGEST_CASE)
    verdict = max(len("verdict"), *(len(exhibit.evaluation.verdict) for exhibit in exhibits))
    narrowest = max(len(_value(exhibit.evaluation.dimensions[name])) for exhibit in exhibits for name in dimensions)
    room = width - min(case, SHORTENED_CASE) - SCORE_WIDTH - 2 - verdict
    titles = [safe(title_of(name, axis)) for name, axis in rubric.dimensions.items()]
    short_titles = abbreviations(titles, max(narrowest, 3, room // len(dimensions) - 1))
    headings = dict(zip(dimensions, short_titles, strict=True))
    cell = max(narrowest, *map(len, headings.values()))
    left = width - len(dimensions) * (cell + 1) - SCORE_WIDTH - 2 - verdict
    return TableLayout(headings, cell, max(8, min(case, left)))


def _header(layout: TableLayout) -> Text:
    line = Text("case".ljust(layout.case), "dim")
    for head in layout.headings.values():
        line.append(f" {head:>{layout.cell}}")
    return line.append(f"{'score':>{SCORE_WIDTH}}  verdict")


def _row(exhibit: ExampleRow, rubric: Rubric, layout: TableLayout) -> Text:
    evaluation = exhibit.evaluation
    line = Text(short(exhibit.case, layout.case).ljust(layout.case))
    for name in layout.headings:
        result = evaluation.dimensions[name]
        line.append(f" {_value(result):>{layout.cell}}", share_style(result.share))
    share = evaluation.score / evaluation.out_of if evaluation.score is not None else None
    digits = 1 if evaluation.out_of > 1 else 2
    score = figure(round(evaluation.score, digits)) if evaluation.score is not None else "–"
    line.append(f"{score:>{SCORE_WIDTH}}  ", f"bold {share_style(share)}")
    return line.append_text(verdict_text(evaluation.verdict, rubric))


def _value(result: DimensionResult) -> str:
    if result.value is None:
        return "–"
    return figure(round(result.value, 1 if result.high > 1 else 2))


def _why(exhibit: ExampleRow, width: int) -> Text:
    evaluation = exhibit.evaluation
    reason = evaluation.reason
    line = Text("  ")
    for gate in evaluation.gates:
        if gate.fired:
            line.append(f"▲ {safe(gate.name)}  ", "red")
            reason = reason.removeprefix(f"gate {gate.name}: ")
    if exhibit.by_points:
        line.append(f"by points alone {safe(exhibit.by_points)}  ", "yellow")
        if reason.startswith("the verdict could be "):
            reason = reason.partition(": ")[0]  # that bounds leave it open is said once, below the tables
    for difference in exhibit.differences:
        line.append(f"≠ {safe(difference)}  ", "bold yellow")
    if not reason:  # a rubric with one verdict has nothing to say about it: what counts is where the points came from
        reason = "; ".join(result.why for result in evaluation.dimensions.values())
    line.append(short(reason, 300), "dim")
    line.truncate(width, overflow="ellipsis")
    return line
