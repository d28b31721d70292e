"""Where every point of an evaluation came from, as a page for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rubrica.model.evaluation import DimensionResult, Evaluation, Remarks, RuleHit, Step, every_result
from rubrica.model.evidence import Span
from rubrica.model.rubric import Rubric
from rubrica.report.figures import SOURCE_WORDS, STATUS_WORDS, count_of, figure, signed, within
from rubrica.report.parts_tree import earned_words
from rubrica.report.titles import dimension_title, section_title

from .card import gate_line, headline
from .screen import safe, short
from .verdict_style import share_style, verdict_text

QUOTES_SHOWN = 4
BAR_WIDTH = 30


def explanation(evaluation: Evaluation, rubric: Rubric | None = None) -> Group:
    """Steps to the score, dimensions with their evidence, gates, sections, verdict, and notes."""
    case = f" · case {safe(evaluation.case)}" if evaluation.case else ""
    parts: list[RenderableType] = [
        Text.assemble((f"{evaluation.rubric}@{evaluation.version}", "bold"), case),
        headline(evaluation),
    ]
    if evaluation.steps:
        parts += [_heading("The way to the score"), _waterfall(evaluation, rubric)]
    parts += [_heading("Dimensions"), _dimension_tree(evaluation, rubric)]
    if evaluation.tags:
        parts += [_heading("By tag"), _tags(evaluation)]
    if evaluation.gates:
        parts += [_heading("Gates"), *(_gates(evaluation))]
    if evaluation.sections:
        parts += [_heading("Sections"), _sections(evaluation, rubric)]
    parts += [_heading("Verdict"), Text.assemble(verdict_text(evaluation.verdict), f"  {safe(evaluation.reason)}")]
    if evaluation.remarks is not None:
        parts += [_heading("What the judge remarks"), *_remarks(evaluation.remarks)]
    notes = _notes(evaluation, rubric)
    if notes:
        parts += [_heading("Notes"), *notes]
    return Group(*parts)


def _remarks(remarks: Remarks) -> list[Text]:
    kinds = (("−", remarks.issues), ("+", remarks.strengths), ("→", remarks.suggestions))
    lines = [Text(f"{mark} {safe(line)}") for mark, said in kinds for line in said]
    return lines + [Text.assemble((safe(name), "bold"), f": {safe(line)}") for name, line in remarks.sections.items()]


def _heading(title: str) -> Text:
    return Text(f"\n{title}", "bold underline")


def _waterfall(evaluation: Evaluation, rubric: Rubric | None) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, max_width=30)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    asked = {name: result.asks for name, result in every_result(evaluation.dimensions)}
    for step in evaluation.steps:
        label = f"gate {step.label}" if step.kind == "gate" else step.label
        label = dimension_title(label, rubric) if step.kind == "dimension" else label
        label = short(asked.get(label, "") or label, 60) if step.kind == "criterion" else label
        amount = "" if step.kind == "base" else signed(step.amount)
        table.add_row(
            safe(label), Text(amount, _tone(step)), figure(step.total), _floating_bar(step, evaluation.out_of)
        )
    out_of = figure(evaluation.out_of)
    table.add_row(Text("score", "bold"), "", Text(figure(evaluation.score), "bold"), Text(f"of {out_of}", "dim"))
    return table


def _tags(evaluation: Evaluation) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for tag, own in evaluation.tags.items():
        told = f"{figure(own.earned)} of {figure(own.possible)} points over "
        told += count_of(own.count, "criterion", "criteria")
        told += f", {own.unscored} not scored" if own.unscored else ""
        table.add_row(Text(safe(tag), "bold"), Text(figure(own.share), share_style(own.share)), Text(told, "dim"))
    return table


def _tone(step: Step) -> str:
    if step.kind == "base":
        return "dim"
    return "green" if step.amount > 0 else "red" if step.amount < 0 else "dim"


def _floating_bar(step: Step, out_of: float) -> Text:
    before = 0.0 if step.kind == "base" else step.total - step.amount
    start, end = sorted(round(min(max(value / out_of, 0.0), 1.0) * BAR_WIDTH) for value in (before, step.total))
    shown = "█" * (end - start) or "▏"
    return Text.assemble(" " * start, (shown, _tone(step)))


def _dimension_tree(evaluation: Evaluation, rubric: Rubric | None) -> Group:
    gains = {step.label: step.amount for step in evaluation.steps if step.kind == "dimension"}
    return Group(*(_axis(name, result, rubric, gains.get(name)) for name, result in evaluation.dimensions.items()))


def _axis(name: str, result: DimensionResult, rubric: Rubric | None, gain: float | None = None) -> Tree:
    tree = Tree(_axis_line(short(result.asks, 200) or dimension_title(name, rubric), result, gain), guide_style="dim")
    if result.start:
        tree.add(Text(f"{figure(result.start)} to start with", "dim"))
    for hit in result.hits:
        tree.add(_hit(hit))
    if result.reason:
        tree.add(Text(short(result.reason, 400), "dim" if result.source == "code" else ""))
    for part, part_result in result.parts.items():
        tree.children.append(_axis(part, part_result, rubric))
    return tree


def _axis_line(title: str, result: DimensionResult, gain: float | None) -> Text:
    line = Text.assemble((safe(title), "bold"), "  ")
    if result.value is None:
        line.append(STATUS_WORDS[result.status], "yellow")
    else:
        line.append(figure(result.value), f"bold {share_style(result.share)}")
        line.append(f" on {figure(result.low)}–{figure(result.high)}", "dim")
    if result.label:
        line.append(f" ({safe(result.label)})", "bold")
    if result.weight is not None:
        line.append(f", weight {figure(result.weight)}", "dim")
    if words := earned_words(result):
        line.append(f", {words}", "dim")
    if result.tags:
        line.append(f" #{' #'.join(map(safe, result.tags))}", "cyan")
    if gain is not None:
        line.append(f" → {signed(gain)}", "dim")
    if result.value is not None:
        line.append(f"  [{', '.join(_provenance(result))}]", "dim")
    return line


def _provenance(result: DimensionResult) -> list[str]:
    facts = [STATUS_WORDS[result.status]] if result.status != "scored" else []
    facts.append(
        "offline in a judge’s place" if result.offline else f"by {safe(result.judge) or SOURCE_WORDS[result.source]}"
    )
    if ends := within(result.bounds):
        facts.append(f"known within {ends}: {safe(result.kind) or 'such texts were not measured'}")
    if result.confidence < 1:
        facts.append(f"scorer’s confidence {figure(result.confidence)}")
    return facts


def _hit(hit: RuleHit) -> Text:
    if hit.error:
        return Text.assemble(
            ("! ", "bold yellow"), (safe(hit.rule), "yellow"), f": could not be applied: {safe(hit.error)}"
        )
    style = "green" if hit.points > 0 else "red" if hit.points < 0 else "dim"
    points = signed(hit.points)
    if hit.type == "check":
        points, style = ("✓", "green") if hit.points else ("✕", "red")
    line = Text.assemble((f"{points} ", style), safe(hit.rule))
    if hit.category:
        line.append(f" ({safe(hit.category)})", "dim")
    if hit.count > 1:
        line.append(f" ×{hit.count}", "dim")
    if hit.reason and hit.reason != hit.rule:
        line.append(f": {short(hit.reason, 200)}")
    return line.append_text(_quotes(hit.spans))


def _quotes(spans: tuple[Span, ...]) -> Text:
    """The matched text; a word that was found often is quoted once."""
    line = Text()
    quotes = list(dict.fromkeys((span.field, short(span.text, 60)) for span in spans))
    for place, quote in quotes[:QUOTES_SHOWN]:
        where = "" if place == "response" else f" in the {place}"
        line.append(f"  “{quote}”", "cyan").append(where, "dim")
    if len(quotes) > QUOTES_SHOWN:
        line.append(f"  and {len(quotes) - QUOTES_SHOWN} more", "dim")
    return line


def _gates(evaluation: Evaluation) -> list[Text]:
    lines = []
    for gate in evaluation.gates:
        line = gate_line(gate)
        if gate.fired and gate.when not in gate.reason:
            line.append(f"  when {safe(gate.when)}", "dim")
        lines.append(line.append_text(_quotes(gate.spans)))
    return lines


def _sections(evaluation: Evaluation, rubric: Rubric | None) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, section in evaluation.sections.items():
        verdict = verdict_text(section.verdict) if section.verdict else Text()
        score = f"{figure(section.score)} of {figure(evaluation.out_of)}" if section.score is not None else "–"
        table.add_row(safe(section_title(name, rubric)), score, verdict, Text(safe(section.reason), "dim"))
    return table


def _notes(evaluation: Evaluation, rubric: Rubric | None) -> list[Text]:
    lines = [
        Text.assemble(
            (safe(dimension_title(name, rubric)), "bold"), f": {STATUS_WORDS[result.status]}; {safe(result.reason)}"
        )
        for name, result in evaluation.dimensions.items()
        if result.status not in ("scored", "not_applicable")
    ]
    lines += [Text.assemble(("! ", "bold yellow"), safe(error)) for error in evaluation.errors]
    lines += [Text(safe(note), style="dim") for note in evaluation.notes]
    if evaluation.score is None or within(evaluation.bounds):
        low, high = (figure(end) for end in evaluation.bounds)
        lines.append(Text(f"The score lies between {low} and {high}."))
    return lines
