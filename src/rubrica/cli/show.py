"""``rubrica show``: a rubric as a page for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rubrica.model.decisions import Gate, Profiles, Verdict
from rubrica.model.dimensions import Axis, Dimension
from rubrica.model.judge_options import ContextName
from rubrica.model.rubric import Rubric
from rubrica.packs.library import text_of
from rubrica.packs.validity import ScoreCard, agreement_of, card_place, cards_of
from rubrica.report.figures import count_of, figure
from rubrica.report.printable import printable_json
from rubrica.report.titles import dimension_title, section_title, title_of

from .options import AsJson, RubricArgument
from .screen import out, safe, short
from .sources import rubric_of
from .verdict_style import verdict_text

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

EXAMPLES = """[bold]Examples[/bold]
  rubrica show answer-quality
  rubrica show my-rubric.yaml --json
  rubrica show answer-quality --yaml > my-rubric.yaml"""
AsWritten = Annotated[
    bool, typer.Option("--yaml", help="Print the document as its author wrote it, to make one of your own from it.")
]


@app.command(epilog=EXAMPLES)
def show(rubric: RubricArgument, as_json: AsJson = False, as_written: AsWritten = False) -> None:
    """Show what a rubric asks, weighs and decides."""
    if as_json and as_written:
        raise typer.BadParameter("choose one", param_hint="--json, --yaml")
    loaded = rubric_of(rubric)
    if as_written:
        typer.echo(printable_json(text_of(rubric)), nl=False)
        return
    if as_json:
        typer.echo(printable_json(loaded.model_dump_json(exclude_defaults=True, indent=2)))
    else:
        out().print(page(loaded))


def page(rubric: Rubric) -> Group:
    """The whole rubric, in the order in which it is applied."""
    parts: list[RenderableType] = [
        Text.assemble((safe(rubric.display_title), "bold"), (f"  {rubric.reference}  {rubric.hash[:12]}", "dim"))
    ]
    if rubric.description:
        parts.append(Text(safe(" ".join(rubric.description.split()))))
    parts += [_heading("Dimensions"), *(_axis(name, axis, rubric) for name, axis in rubric.dimensions.items())]
    if rubric.profiles is not None:
        found = ", found from the prompt where it is not given" if rubric.profiles.classify is not None else ""
        parts += [_heading(f"Profiles by {rubric.profiles.by}{found}"), _profiles(rubric.profiles, rubric)]
    parts += [_heading("Score"), _score(rubric)]
    if rubric.sections:
        parts += [_heading("Sections"), _sections(rubric)]
    if rubric.gates:
        parts += [_heading("Gates"), *(_gate(gate) for gate in rubric.gates)]
    parts += [_heading("Verdicts, the first that holds"), *(_verdict(verdict, rubric) for verdict in rubric.verdicts)]
    if rubric.settings:
        parts += [_heading("Settings (--set name=value)"), _pairs({k: _value(v) for k, v in rubric.settings.items()})]
    if rubric.context:
        parts += [
            _heading("Context it reads (-c name=value)"),
            _pairs({k: _context_name(v) for k, v in rubric.context.items()}),
        ]
    if known := cards_of(rubric):
        parts += [_heading("What its scores are worth without a judge"), *_validity(rubric, known)]
    return Group(*parts)


def _heading(title: str) -> Text:
    return Text(f"\n{safe(title)}", "bold underline")


def _axis(name: str, axis: Axis, rubric: Rubric) -> Group:
    scale = rubric.scale_of(name) if isinstance(axis, Dimension) else None
    facts = [f"scale {scale}"] if scale is not None else []
    facts += [f"weight {figure(axis.weight)}"] if axis.weight is not None else []
    facts += [f"{figure(axis.points)} points"] if axis.points is not None else []
    lines: list[RenderableType] = [
        Text.assemble(
            (safe(title_of(name, axis)), "bold"), (f"  {', '.join([safe(name), *facts, _scored_by(axis)])}", "dim")
        )
    ]
    below: list[RenderableType] = []
    if axis.asks:
        below.append(Text(safe(" ".join(axis.asks.split()))))
    if axis.anchors:
        below.append(_anchors(axis))
    if axis.answer_set is not None:
        below.append(Text(f"answers: {safe(axis.answer_set.listed)}"))
    if axis.reference:
        below.append(Text(f"reference: {short(' '.join(axis.reference.split()), 200)}", "dim"))
    if axis.examples:
        below.append(Text(f"{count_of(len(axis.examples), 'example')} for the judge", "dim"))
    if isinstance(axis, Dimension) and axis.applies:
        below.append(Text(f"only when {safe(axis.applies)}", "dim"))
    below += [_axis(part_name, part, rubric) for part_name, part in axis.parts.items()]
    return Group(*lines, *(Padding(item, (0, 0, 0, 2)) for item in below))


def _anchors(axis: Axis) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", no_wrap=True, style="cyan")
    table.add_column(ratio=1)
    for anchor in axis.anchor_list:
        ends = f"{anchor.low:g}" if anchor.low == anchor.high else f"{anchor.low:g}–{anchor.high:g}"
        table.add_row(ends, safe(" ".join(anchor.text.split())))
    return table


def _scored_by(axis: Axis) -> str:
    match axis.kind:
        case "judge":
            way = axis.offline
            offline = f", offline by {_recipe(way.kinds[0], way)}" if way is not None else ", no offline scorer"
            kinds = len(way.reliability) if way is not None else 0
            return f"judged{offline}" + (f", bounds for {kinds} kind{'s' * (kinds > 1)} of text" if kinds else "")
        case "parts":
            return "from the criteria of each case" if axis.answers_for_parts else "from its parts"
        case kind:
            return f"scored by {_recipe(kind, axis)}"


def _recipe(kind: str, recipe: Axis | object) -> str:
    rules, checks = len(getattr(recipe, "rules", ())), len(getattr(recipe, "checks", ()))
    match kind:
        case "rules":
            return count_of(rules, "rule")
        case "check":
            return f"a checklist of {checks}"
        case _:
            return "a formula"


def _profiles(profiles: Profiles, rubric: Rubric) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("profile", no_wrap=True)
    table.add_column("threshold", justify="right", no_wrap=True)
    for name, dimension in rubric.dimensions.items():
        table.add_column(safe(title_of(name, dimension)), justify="right")
    for name, profile in profiles.named.items():
        weights = [profile.weights.get(d, spec.weight) for d, spec in rubric.dimensions.items()]
        threshold = profile.threshold if profile.threshold is not None else rubric.threshold
        label = f"{safe(name)} (default)" if name == profiles.default else safe(name)
        table.add_row(label, figure(threshold), *(figure(weight) for weight in weights))
    return table


def _score(rubric: Rubric) -> Text:
    way = rubric.score.formula or "the weighted mean of the dimensions"
    if rubric.score.points:
        way = "the points earned of those possible" + ("" if rubric.score.clip else ", also below 0")
    line = Text(f"{safe(way)}, out of {figure(rubric.score.out_of)}")
    if rubric.score.round is not None:
        line.append(f", rounded to {count_of(rubric.score.round, 'decimal')}")
    if rubric.threshold is not None:
        line.append(f"; threshold {figure(rubric.threshold)}")
    if rubric.bands:
        bands = sorted(rubric.bands.items(), key=lambda item: -item[1])
        line.append("\nbands: " + ", ".join(f"{safe(label)} from {figure(share * 100)}%" for label, share in bands))
    missing = {
        "neutral": "counts as neutral",
        "skip": "is left out and its weight shared",
        "inconclusive": "leaves the verdict open",
    }
    line.append(f"\na dimension without a score {missing[rubric.on_unscored.policy]}", "dim")
    return line


def _sections(rubric: Rubric) -> Group:
    lines = []
    for name, section in rubric.sections.items():
        members = ", ".join(dimension_title(one, rubric) for one in section.dimensions)
        line = Text.assemble(
            (safe(section_title(name, rubric)), "bold"), (f"  {safe(name)}", "dim"), f"  {safe(members)}"
        )
        line.append(f"  {safe(section.formula or 'their mean')}", "dim")
        for verdict in section.verdicts:
            line.append("\n  ").append_text(_verdict(verdict, rubric))
        lines.append(line)
    return Group(*lines)


def _gate(gate: Gate) -> Text:
    effect = (
        f"verdict {gate.verdict}"
        if gate.verdict is not None
        else f"score at most {_value(gate.cap)}"
        if gate.cap is not None
        else f"score at least {_value(gate.floor)}"
    )
    line = Text.assemble((safe(gate.name), "bold"), f"  when {safe(gate.when)}: {safe(effect)}")
    if gate.before:
        line.append(", before anything is scored", "dim")
    if gate.because:
        line.append(f"\n  {safe(' '.join(gate.because.split()))}", "dim")
    return line


def _verdict(verdict: Verdict, rubric: Rubric) -> Text:
    condition = f"  when {safe(verdict.when)}" if verdict.when is not None else "  otherwise"
    line = verdict_text(verdict.label, rubric).append(condition, "not bold default")
    if verdict.because:
        line.append(f"\n  {safe(' '.join(verdict.because.split()))}", "dim")
    return line


def _validity(rubric: Rubric, known: Mapping[str, ScoreCard]) -> Iterator[RenderableType]:
    """What was measured of each score, and what it is not for; the page has the rest."""
    found = "Agreement with people, and the range that holds the true figure 95 times in 100."
    yield Text(f"{found} More: {card_place(rubric.name)}", "dim")
    for name, card in known.items():
        yield Text(safe(dimension_title(name, rubric)), "bold")
        measured = [Text(safe(line)) for line in agreement_of(rubric.name, name)]
        not_for = Text(f"not for: {safe(card.not_for)}", "dim")
        yield from (Padding(line, (0, 0, 0, 2)) for line in (*measured, not_for))


def _value(value: float | bool | str | None) -> str:
    return str(value).lower() if isinstance(value, bool) else safe(value) if isinstance(value, str) else figure(value)


def _context_name(name: ContextName) -> str:
    """What a context name is, and what follows when the context does not give it."""
    without = f"{figure(name.default)} when left out" if name.default is not None else ""
    if name.optional:
        without = "may be left out"
    return f"{name.says} ({without})" if without else name.says


def _pairs(pairs: dict[str, str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(ratio=1)
    for name, text in pairs.items():
        table.add_row(safe(name), safe(text))
    return table
