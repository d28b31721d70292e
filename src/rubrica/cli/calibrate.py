"""``rubrica calibrate``: corrections learned from human labels, and the rubric that carries them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer
import yaml
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.engine.document import read_document
from rubrica.engine.load import rubric_from_text
from rubrica.errors import RubricaError, RubricError
from rubrica.judges.calibration import Calibrating, Refusal, calibrate, read_labels
from rubrica.model.calibration import Calibration, Figures
from rubrica.model.rubric import Axis, Rubric
from rubrica.model.scale import Scale
from rubrica.packs.library import SUFFIXES, find
from rubrica.report.figures import figure, signed
from rubrica.runs.source import STDIN, Lines, lines_of

from .options import AsJson, Force
from .screen import out, safe
from .sinks import refuse_same, whole_file
from .sources import rubric_of

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

LabelFile = Annotated[
    str, typer.Argument(metavar="LABELS.jsonl", help="Judges' scores beside people's, a line each; - standard input.")
]
RubricName = Annotated[
    str, typer.Option("--rubric", "-r", metavar="NAME|FILE", help="The rubric whose judges gave the scores.")
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="RUBRIC.yaml", help="Write the rubric with its corrections to this file."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Deals labels into the folds of the cross-validation.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica calibrate labels.jsonl -r answer-quality
  rubrica calibrate labels.jsonl -r my-rubric.yaml -o calibrated.yaml

A line of labels holds scores as a judge gave them, and what people gave:
  {"id": "q1", "judge": "openai:gpt-5-mini",
   "scores": {"accuracy": 6, "depth": 4},
   "human": {"accuracy": 8, "depth": 5}}
(all on one line; with a single judge its name may be left out).

A dimension is corrected only where that clearly helps on labels it was not
learned from. Exits with 0 when at least one is corrected, else with 1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a calibration came to, and all that is told about it."""

    rubric: Rubric
    found: Calibrating
    items: Mapping[str, int]  # labelled items by axis
    unlabelled: Sequence[str]  # axes that a judge scores and nobody labelled
    written: str | None = None  # the file that has the corrected rubric


@app.command("calibrate", epilog=EXAMPLES)
def calibrate_judges(
    labels: LabelFile,
    rubric: RubricName,
    output: Output = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Correct judges by what people gave the same responses."""
    suffix = Path(output).suffix if output is not None else ".yaml"
    if suffix not in SUFFIXES:
        raise typer.BadParameter(f"the name of a rubric file ends in {', '.join(SUFFIXES)}", param_hint="--output")
    refuse_same(output, None if labels == STDIN else labels)
    loaded = rubric_of(rubric)
    with lines_of(labels) as lines:
        outcome = learned(loaded, _decoded(lines, labels), file=labels, seed=seed, on=datetime.now(UTC).date())
    calibration = outcome.found.calibration
    if output is not None and calibration is not None:
        text = document_with(calibration, loaded, _text_of(rubric), as_json=suffix == ".json")
        with whole_file(output, force=force) as file:
            file.write(text)
        outcome = replace(outcome, written=output)
    if as_json:
        typer.echo(json.dumps(_plain(outcome), indent=2, ensure_ascii=False))
    else:
        out().print(_page(outcome))
    if calibration is None:
        nothing = "; nothing was written" if output is not None else ""
        raise RubricaError(f"no dimension could be corrected, for the reasons given{nothing}")


# --- learning ---------------------------------------------------------------------------------------------


def learned(rubric: Rubric, lines: Iterator[str], *, file: str, seed: int, on: date) -> Outcome:
    """Read labels and learn from those of axes that a judge scores; the others are refused."""
    axes = dict(_axes(rubric))
    labels = read_labels(lines, {name: scale for name, (_, scale) in axes.items()}, file)
    if not labels:
        raise RubricaError(f"{file}: there are no labels in it; `rubrica calibrate --help` shows a line of them")
    judged = {name: scale for name, (axis, scale) in axes.items() if axis.kind == "judge"}
    version = rubric.calibration.version + 1 if rubric.calibration is not None else 1
    usable = [label for label in labels if label.dimension in judged]
    found = calibrate(usable, judged, version=version, on=on, seed=seed)
    items: dict[str, set[tuple[str, str]]] = {}
    for label in labels:
        items.setdefault(label.dimension, set()).add((label.unit, label.item))
    refused = {name: Refusal(_unjudged(name, axes[name][0])) for name in items if name not in judged}
    return Outcome(
        rubric,
        replace(found, refused={**found.refused, **refused}),
        {name: len(own) for name, own in items.items()},
        [name for name in judged if name not in items],
    )


def _axes(rubric: Rubric) -> Iterator[tuple[str, tuple[Axis, Scale]]]:
    """Everything scored, by name: dimensions, and their parts on the dimension's scale."""
    for name, dimension in rubric.dimensions.items():
        scale = rubric.scale_of(name)
        yield name, (dimension, scale)
        for part, spec in dimension.parts.items():
            yield part, (spec, scale)


def _unjudged(name: str, axis: Axis) -> str:
    if axis.kind == "parts":
        return f"{name} is worked out from its parts; label the parts that a judge scores"
    ways = {"rules": "rules", "formula": "a formula", "check": "a checklist"}
    return f"{name} is scored by {ways[axis.kind]}, not by a judge; change those where people disagree with them"


def _decoded(lines: Lines, file: str) -> Iterator[str]:
    for line in lines:
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise RubricaError(f"{file}:{lines.number}: not UTF-8 text at byte {error.start}") from None


# --- the corrected document -------------------------------------------------------------------------------


def _text_of(name: str) -> str:
    """The text of a rubric that has been loaded by this name already."""
    bundled = find(name)
    return (bundled.file if bundled is not None else Path(name)).read_bytes().decode()


def raised(version: str) -> str:
    """The version after this one: its last number is one higher.

    >>> raised("1.0.9"), raised("2"), raised("1.2.0-beta")
    ('1.0.10', '3', '1.2.1-beta')
    """
    length = next((place for place, mark in enumerate(version) if mark in "-+"), len(version))
    head, dot, last = version[:length].rpartition(".")
    return f"{head}{dot}{int(last) + 1}{version[length:]}"


def document_with(calibration: Calibration, rubric: Rubric, text: str, *, as_json: bool) -> str:
    """The author's document with its version raised and these corrections; all else stays as it was written.

    It is read again before it is handed out: the rubric in it is the old one, but for these two.
    """
    version = raised(rubric.version)
    block = calibration.model_dump(mode="json", exclude_none=True)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if as_json or root.flow_style:  # JSON, which YAML readers take too
        data = {**read_document(text).data, "version": version, "calibration": block}
        amended = json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"
    else:
        amended = _edited(text, version, block)
    try:
        same = rubric_from_text(amended) == rubric.model_copy(update={"version": version, "calibration": calibration})
    except RubricError:
        same = False
    if not same:
        raise RubricaError(
            f"{rubric.reference}: the version or calibration in its document cannot be replaced where it stands "
            "(write `name: …` and `version: …` on lines of their own, without anchors or aliases, and "
            "`calibration:` last; or choose an output that ends in .json)"
        )
    return amended


def _edited(text: str, version: str, block: Mapping[str, Any]) -> str:
    """YAML text with the version replaced in its line, and the block replaced in its place or put at the end."""
    crlf = "\r\n" in text
    text = text.replace("\r\n", "\n").rstrip("\n") + "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    keys = {key.value: (key, value) for key, value in root.value}
    margin = " " * root.start_mark.column
    dumped = yaml.safe_dump(dict(block), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    note = "# learned from human labels; `rubrica calibrate` replaces it"
    added = f"calibration:  {note}\n{indent(dumped, margin + '  ')}"
    edits: list[tuple[int, int, str]] = []
    if "calibration" in keys:
        key, value = keys["calibration"]
        lines = text.split("\n")
        end = sum(len(line) + 1 for line in lines[: _last_line(value) + 1])
        edits.append((key.start_mark.index, end, added))
    else:
        edits.append((root.end_mark.index, root.end_mark.index, f"\n{margin}{added}"))
    if "version" in keys:
        value = keys["version"][1]
        edits.append((value.start_mark.index, value.end_mark.index, _scalar(version, value.style)))
    else:
        after = text.index("\n", keys["name"][1].end_mark.index) + 1
        edits.append((after, after, f"{margin}version: {_scalar(version, None)}\n"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.replace("\n", "\r\n") if crlf else text


def _last_line(node: yaml.Node) -> int:
    """Where a value ends. A block's own mark stands at the next key, past comments that belong to that one."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.line)


def _scalar(version: str, style: str | None) -> str:
    """A version as YAML text that reads as text, quoted as it was before."""
    quote = style if style in ("'", '"') else "" if yaml.safe_load(version) == version else '"'
    return f"{quote}{version}{quote}"


# --- what is told -----------------------------------------------------------------------------------------


def _plain(outcome: Outcome) -> dict[str, Any]:
    found = outcome.found
    return {
        "rubric": outcome.rubric.reference,
        "calibration": found.calibration.model_dump(mode="json") if found.calibration is not None else None,
        "refused": {
            name: {
                "reason": refusal.reason,
                "labels": outcome.items[name],
                "before": refusal.before.model_dump() if refusal.before is not None else None,
                "after": refusal.after.model_dump() if refusal.after is not None else None,
            }
            for name, refusal in found.refused.items()
        },
        "unlabelled": list(outcome.unlabelled),
        "written": outcome.written,
    }


def _page(outcome: Outcome) -> Group:
    calibration, refused = outcome.found.calibration, outcome.found.refused
    parts: list[RenderableType] = [_figures(outcome), Text()]
    if calibration is not None:
        parts += [_judges(calibration), Text()]
    parts += [Text.assemble(("✕ ", "bold yellow"), safe(refusal.reason)) for refusal in refused.values()]
    parts += [Text(line, "dim") for line in _notes(outcome)]
    if outcome.written is not None:
        version = raised(outcome.rubric.version)
        said = f"{outcome.rubric.name}@{version} with {calibration}"
        parts.append(Text.assemble("wrote ", (safe(outcome.written), "bold"), f": {said}"))
    elif calibration is not None:
        parts.append(Text("nothing is written yet: -o calibrated.yaml keeps it"))
    return Group(*parts)


def _figures(outcome: Outcome) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("dimension", overflow="fold")
    for heading in ("labels", "MAE", "RMSE", "bias", "rank corr."):
        table.add_column(heading, justify="right", no_wrap=True)
    kept = outcome.found.calibration.dimensions if outcome.found.calibration is not None else {}
    for name, items in outcome.items.items():
        of = kept.get(name) or outcome.found.refused[name]
        mark = Text("✓", "bold green") if name in kept else Text("✕", "bold yellow")
        table.add_row(mark, name, f"{items:,}", *_changes(of.before, of.after))
    return table


def _changes(before: Figures | None, after: Figures | None) -> list[str]:
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


def _judges(calibration: Calibration) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("dimension", "judge"):
        table.add_column(heading, no_wrap=True)
    for heading in ("labels", "offset", "weight"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, correction in calibration.dimensions.items():
        for judge, known in correction.judges.items():
            table.add_row(name, safe(judge), f"{known.labels:,}", signed(known.offset), figure(known.weight))
    return table


def _notes(outcome: Outcome) -> Iterator[str]:
    yield "Errors before → after, the latter on labels not learned from (cross-validated). Bias above 0 is too kind."
    if outcome.unlabelled:
        yield f"Judged, but without labels here: {', '.join(outcome.unlabelled)}."
    earlier, found = outcome.rubric.calibration, outcome.found.calibration
    if earlier is not None and found is not None:
        lost = [name for name in earlier.dimensions if name not in found.dimensions]
        dropped = f" Its corrections of {', '.join(lost)} go with it." if lost else ""
        yield f"It takes the place of {earlier}: scores in the labels must be those before correction.{dropped}"
