"""``rubrica calibrate``: corrections learned from human labels, and the rubric that carries them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.judges.panel_fit import BY_AGREEMENT, ChoiceFit
from rubrica.model.calibration import CalibrationFigures, Correction, DimensionRaters
from rubrica.packs.library import SUFFIXES, find
from rubrica.report.figures import count_of, figure, people_around, signed
from rubrica.report.titles import dimension_title
from rubrica.runs.files.case_source import STDIN, LineSource, lines_of
from rubrica.runs.review.calibration_fit import CalibrationFit, document_with, learn_calibration, next_version

from .figures_table import FiguresTable
from .options import AsJson, Force
from .output_files import atomic_text_file, refuse_same
from .screen import echo_json, out, safe
from .sources import rubric_of

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

LabelFile = Annotated[
    str, typer.Argument(metavar="LABELS.jsonl", help="Judges' scores beside people's, or .csv; - standard input.")
]
RubricName = Annotated[
    str, typer.Option("--rubric", "-r", metavar="NAME|FILE", help="The rubric whose judges gave the scores.")
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="RUBRIC.yaml", help="Write the rubric with its corrections to this file."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed for the folds of the cross-validation.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica calibrate labels.jsonl -r answer-quality
  rubrica calibrate labels.jsonl -r my-rubric.yaml -o calibrated.yaml

A line of labels holds scores as a judge gave them, and what people gave:
  {"id": "q1", "judge": "openai:gpt-5-mini",
   "scores": {"accuracy": 6, "depth": 4},
   "human": {"accuracy": 8, "depth": 5}}
(all on one line; with a single judge its name may be left out). "rater" names
the person: with several, how harsh each is gets learned, and taken out.
Verdicts (0 or 1, "pass" or "fail") without "human" on any line weigh at least
three judges by how far they agree.
Choices between two responses, as `rubrica prefer` makes them:
  {"id": "q1", "judge": "openai:gpt-5-mini", "choice": "first", "human": "second"}
A .csv has the same names as columns; `tone` is people's, `judge_tone` a judge's.

A dimension is corrected only where that clearly helps on labels it was not
learned from. Exits with 0 when at least one is corrected, else with 1; how
reliable each judge is is kept in either case."""


@app.command("calibrate", epilog=EXAMPLES)
def calibrate_judges(
    labels: LabelFile,
    rubric: RubricName,
    output: Output = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Correct judges by people's scores of the same responses."""
    suffix = Path(output).suffix if output is not None else ".yaml"
    if suffix not in SUFFIXES:
        raise typer.BadParameter(f"the name of a rubric file ends in {', '.join(SUFFIXES)}", param_hint="--output")
    refuse_same(output, None if labels == STDIN else labels)
    loaded = rubric_of(rubric)
    with lines_of(labels) as lines:
        fit = learn_calibration(loaded, _decoded(lines, labels), file=labels, seed=seed, on=datetime.now(UTC).date())
    calibration = fit.found.calibration
    written = output if calibration is not None else None
    if output is not None and calibration is not None:
        text = document_with(calibration, loaded, _text_of(rubric), as_json=suffix == ".json")
        with atomic_text_file(output, force=force) as file:
            file.write(text)
    if as_json:
        echo_json(_plain(fit, written))
    else:
        out().print(_page(fit, written))
    if not fit.found.helps:
        kept = "how reliable each judge is was written" if calibration is not None else "nothing was written"
        what = "no dimension could be corrected" if fit.items else "no weights of judges' choices were learned"
        raise RubricaError(f"{what}, for the reasons given" + (f"; {kept}" if output is not None else ""))


def _decoded(lines: LineSource, file: str) -> Iterator[str]:
    for line in lines:
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise RubricaError(f"{file}:{lines.number}: not UTF-8 text at byte {error.start}") from None


def _text_of(name: str) -> str:
    """The text of a rubric that has been loaded by this name already."""
    bundled = find(name)
    return (bundled.file if bundled is not None else Path(name)).read_bytes().decode()


# --- what is told -----------------------------------------------------------------------------------------


def _plain(fit: CalibrationFit, written: str | None) -> dict[str, Any]:
    found = fit.found
    return {
        "rubric": fit.rubric.reference,
        "calibration": found.calibration.model_dump(mode="json") if found.calibration is not None else None,
        "refused": {
            name: {
                "reason": refusal.reason,
                "labels": fit.items[name],
                "before": refusal.before.model_dump() if refusal.before is not None else None,
                "after": refusal.after.model_dump() if refusal.after is not None else None,
            }
            for name, refusal in found.refused.items()
        },
        "choices": {
            "pairs": found.choices.pairs,
            "right": found.choices.right.model_dump() if found.choices.right is not None else None,
            "weights": dict(found.choices.weights.judges) if found.choices.weights is not None else None,
            "reason": found.choices.reason,
        },
        "people": {name: own.model_dump() for name, own in found.people.items()},
        "reliability": {
            name: {judge: alone.model_dump() for judge, alone in own.items()} for name, own in found.reliability.items()
        },
        "by_agreement": list(fit.by_agreement),
        "unlabelled": list(fit.unlabelled),
        "left_out": fit.left_out,
        "written": written,
    }


def _page(fit: CalibrationFit, written: str | None) -> Group:
    calibration, refused = fit.found.calibration, fit.found.refused
    parts: list[RenderableType] = [_figures(fit), Text()] if fit.items else []
    if fit.found.reliability or fit.by_agreement:
        parts += [_judges(fit), Text()]
    if fit.found.people:
        parts += [*_people(fit.found.people), Text()]
    if fit.found.choices.pairs or fit.found.choices.reason:
        parts += [*_choices(fit.found.choices), Text()]
    parts += [
        Text.assemble(("! ", "bold yellow"), safe(f"no label says what people think of {name}: {BY_AGREEMENT}"))
        for name in fit.by_agreement
    ]
    parts += [Text.assemble(("✕ ", "bold yellow"), safe(refusal.reason)) for refusal in refused.values()]
    parts += [Text(line, "dim") for line in _notes(fit)] if fit.items else []
    if written is not None:
        version = next_version(fit.rubric.version)
        said = f"{fit.rubric.name}@{version} with {calibration}"
        parts.append(Text.assemble("wrote ", (safe(written), "bold"), f": {said}"))
    elif calibration is not None:
        parts.append(Text("nothing is written yet: -o calibrated.yaml keeps it"))
    return Group(*parts)


def _figures(fit: CalibrationFit) -> Table:
    table = FiguresTable()
    table.add_column("", no_wrap=True)
    table.add_column("dimension", overflow="fold")
    for heading in ("labels", "MAE", "RMSE", "bias", "rank corr."):
        table.add_column(heading, justify="right", no_wrap=True)
    kept = fit.found.calibration.dimensions if fit.found.calibration is not None else {}
    for name, items in fit.items.items():
        of = kept.get(name) or fit.found.refused[name]
        mark = Text("✓", "bold green") if name in kept else Text("✕", "bold yellow")
        table.add_row(mark, safe(dimension_title(name, fit.rubric)), f"{items:,}", *_changes(of.before, of.after))
    return table


def _changes(before: CalibrationFigures | None, after: CalibrationFigures | None) -> list[str]:
    if before is None or after is None:
        return ["–"] * 4
    places = 2 if before.rmse >= 0.3 else 3  # of a small error, one more
    pairs = [(before.mae, after.mae), (before.rmse, after.rmse)]
    ranks = [figure(None if rank is None else round(rank, 2)) for rank in (before.spearman, after.spearman)]
    return [
        *(f"{figure(round(was, places))} → {figure(round(now, places))}" for was, now in pairs),
        f"{signed(round(before.bias, places))} → {signed(round(after.bias, places))}",
        " → ".join(ranks),
    ]


def _judges(fit: CalibrationFit) -> Table:
    table = FiguresTable()
    for heading in ("dimension", "judge"):
        table.add_column(heading, no_wrap=True)
    for heading in ("labels", "offset", "weight", "RMSE", "rank", "people"):
        table.add_column(heading, justify="right", no_wrap=True)
    kept = fit.found.calibration.dimensions if fit.found.calibration is not None else {}
    for name in dict.fromkeys((*kept, *fit.found.reliability)):
        alone = fit.found.reliability.get(name, {})
        correction = kept.get(name)
        for judge in dict.fromkeys((*(correction.judges if correction is not None else ()), *alone)):
            title = safe(dimension_title(name, fit.rubric))
            table.add_row(title, safe(judge), *_counts(correction, judge), *_alone(alone.get(judge)))
    return table


def _counts(correction: Correction | None, judge: str) -> tuple[str, str, str]:
    """A judge's labels, offset and weight; dashes where its scores stay as they are."""
    if correction is None:
        return "–", "–", "–"
    known = correction.judges[judge]
    if correction.panel is not None:
        return f"{known.labels:,}", "learned", signed(round(correction.panel.judges[judge].weight, 3))
    return f"{known.labels:,}", signed(known.offset), figure(known.weight)


def _alone(found: CalibrationFigures | None) -> tuple[str, str, str]:
    if found is None:
        return "–", "–", "–"
    rank = figure(None if found.spearman is None else round(found.spearman, 2))
    return figure(round(found.rmse, 2)), rank, people_around(found)


def _people(people: Mapping[str, DimensionRaters]) -> Iterator[RenderableType]:
    table = FiguresTable()
    for heading in ("dimension", "person"):
        table.add_column(heading, overflow="fold")
    for heading in ("labels", "offset", "spread"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, own in people.items():
        for rater, effect in own.raters.items():
            offset, spread = signed(round(effect.offset, 2)), figure(round(effect.spread, 2))
            table.add_row(name, safe(rater), f"{effect.labels:,}", offset, spread)
    yield table
    for name, own in people.items():
        ranks = " → ".join(_rank(value) for value in (own.figures.spearman, own.figures.adjusted))
        alphas = " → ".join(_rank(value) for value in (own.figures.alpha, own.figures.alpha_adjusted))
        yield Text(f"{name}: rank correlation with single people {ranks}, alpha among people {alphas}", "dim")
        if not own.shared:
            yield Text(
                f"{name}: no response was rated by two people, so who was given poor ones looks harsh: go by these "
                "offsets only if responses were dealt out at random, else leave `rater` out"
            )
    yield Text("Without → with each person's harshness and spread; an offset above 0 is kinder than the others.", "dim")


def _rank(value: float | None) -> str:
    return figure(None if value is None else round(value, 2))


def _choices(found: ChoiceFit) -> Iterator[RenderableType]:
    if found.weights is not None:
        table = FiguresTable()
        table.add_column("choices of", overflow="fold")
        table.add_column("weight", justify="right")
        for judge, weight in found.weights.judges.items():
            table.add_row(safe(judge), signed(round(weight, 3)))
        yield table
    if found.right is not None:
        yield Text(
            f"right on left-out labels: {found.right.learned:.1%} weighted, {found.right.mean:.1%} by majority, "
            f"{found.right.best:.1%} by the judge that looked best"
        )
    if found.reason:
        yield Text.assemble(("✕ " if found.weights is None else "! ", "bold yellow"), safe(found.reason))


def _notes(fit: CalibrationFit) -> Iterator[str]:
    told = "Errors before → after, the latter on labels not learned from (cross-validated). Bias above 0 is too kind."
    if any(fit.items.values()):
        yield told
    if fit.found.reliability:
        yield "Each judge alone: RMSE and rank correlation as it gave its scores; where nine in ten of people’s lie,"
        yield "counted from its own as it counts."
    if fit.left_out:
        yield f"Left out: {count_of(fit.left_out, 'line')} on which the judge or the person gave nothing."
    if fit.unlabelled:
        yield f"Judged, but without labels here: {', '.join(fit.unlabelled)}."
    earlier = fit.rubric.calibration
    if earlier is not None and fit.found.calibration is not None:
        dropped = f" Its corrections of {', '.join(fit.replaced)} go with it." if fit.replaced else ""
        yield f"It takes the place of {earlier}: scores in the labels must be those before correction.{dropped}"
