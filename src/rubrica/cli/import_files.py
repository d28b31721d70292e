"""``rubrica import``: rubrics and cases of other tools as Rubrica's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from rubrica.engine.document import LONGEST_DOCUMENT
from rubrica.engine.expand import slug
from rubrica.errors import RubricaError
from rubrica.interchange.formats import CASES, ITEMS, RubricFormat, import_items, import_rubric, render
from rubrica.interchange.healthbench import DEFAULT_RUBRIC, Ideal, import_cases, read_responses
from rubrica.report.figures import count_of
from rubrica.report.printable import printable, printable_json
from rubrica.runs.files.case_source import lines_of

from .converted_lines import write_converted
from .losses import Losses
from .options import Force, rubric_option
from .output_files import STDOUT, refuse_same, refuse_taken, text_output
from .screen import note

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Format = Literal["healthbench", "paperbench", "openai-grader", "autorubric", "rubric"]
FormatArgument = Annotated[
    Format, typer.Argument(metavar="FORMAT", help="healthbench, paperbench, openai-grader, autorubric or rubric.")
]
Source = Annotated[str, typer.Argument(metavar="FILE", help="What the other tool wrote; - reads standard input.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The rubric, or the cases; - prints them.")]
Name = Annotated[str | None, typer.Option("--name", help="The rubric's name; left out, it follows from the file's.")]
Rubric = Annotated[str, rubric_option("healthbench: the rubric that the cases name.")]
IdealAs = Annotated[
    Ideal,
    typer.Option(
        "--ideal",
        help="healthbench: what becomes of an expert's answer. context keeps it beside the case, reference shows it to "
        "judges, response has it judged.",
    ),
]
Responses = Annotated[
    str | None,
    typer.Option(
        "--responses",
        metavar="FILE.jsonl",
        help="healthbench: what is to be judged, a line each with prompt_id and completion.",
    ),
]
CasesFile = Annotated[
    str | None,
    typer.Option("--cases", metavar="FILE.jsonl", help="autorubric: where the items of a dataset go, as cases."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop if something cannot be converted.")]
EPILOG = """[bold]Examples[/bold]
  rubrica import rubric criteria.yaml -o mine.yaml
  rubrica import paperbench rubric.json --name paper-42 -o paper-42.yaml
  rubrica import openai-grader grader.json -o grader.yaml
  rubrica import autorubric dataset.json -o essays.yaml --cases essays.jsonl
  rubrica import healthbench bench.jsonl --responses answers.jsonl -o cases.jsonl

What cannot be converted is reported, one line each. `rubrica export --to` is the way back."""


@dataclass(frozen=True, slots=True)
class _CaseOptions:
    """What the lines of HealthBench become cases with."""

    rubric: str
    ideal: Ideal
    responses: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Where a rubric goes, and the cases that come with it."""

    rubric: str
    cases: str | None
    force: bool


@app.command(name="import", epilog=EPILOG)
def import_file(
    form: FormatArgument,
    source: Source,
    output: Output = STDOUT,
    name: Name = None,
    rubric: Rubric = DEFAULT_RUBRIC,
    ideal: IdealAs = "context",
    responses: Responses = None,
    cases: CasesFile = None,
    strict: Strict = False,
    force: Force = False,
) -> None:
    """Read rubrics and cases of other tools."""
    refuse_same(output, source, responses)
    refuse_taken(output, force=force)
    if cases is not None:
        if form != "autorubric":
            raise typer.BadParameter(
                "goes with autorubric, whose datasets have a rubric and items", param_hint="--cases"
            )
        refuse_same(cases, source, output)
        refuse_taken(cases, force=force)
    losses = Losses(strict)
    if form == CASES:
        options = _CaseOptions(rubric, ideal, {} if responses is None else _responses(responses))
        broken = _import_cases(source, output, losses, options, force=force)
        losses.tell()
        if broken:
            raise typer.Exit(1)
        return
    if responses is not None:
        raise typer.BadParameter(
            "goes with healthbench: other formats hold rubrics, not cases", param_hint="--responses"
        )
    _import_rubric(form, source, _Outputs(output, cases, force), losses, name=name)
    losses.tell()


def _import_rubric(form: RubricFormat, source: str, outputs: _Outputs, losses: Losses, *, name: str | None) -> None:
    output, text, file = outputs.rubric, _text(source), None if source == STDOUT else source
    called = slug(name or ("imported" if file is None else Path(file).stem))
    found = import_rubric(text, form, called, file=file)
    items = import_items(text, called, file=file) if outputs.cases is not None else None
    losses.add([one for one in found.lost if items is None or one.path != ITEMS])
    losses.add(() if items is None else items.lost)
    with text_output(output, printable, force=outputs.force) as write:
        write(render(found.data, as_yaml=Path(output).suffix != ".json"))
    if output != STDOUT:
        note(f"{called} is in {output}")
    if items is not None and outputs.cases is not None:
        named = called if output == STDOUT else output
        with text_output(outputs.cases, printable_json, force=outputs.force) as write:
            for case in items.data:
                write(msgspec.json.encode({**case, "rubric": named}).decode() + "\n")
        note(f"{count_of(len(items.data), 'case')} in {outputs.cases}, for the rubric {named}")


def _import_cases(source: str, output: str, losses: Losses, options: _CaseOptions, *, force: bool) -> int:
    """Write the cases line by line; how many lines were none."""
    with lines_of(source) as lines:
        found = import_cases(lines, rubric=options.rubric, ideal=options.ideal, responses=options.responses)
        count = write_converted(found, output, losses, force=force)
    if not count.written:
        raise RubricaError(f"{source} holds no line of HealthBench that can be judged")
    if output != STDOUT:
        note(f"{count_of(count.written, 'case')} in {output}, for the rubric {options.rubric}")
    return count.broken


def _responses(path: str) -> dict[str, str]:
    with lines_of(path) as lines:
        return read_responses(lines, path)


def _text(source: str) -> str:
    """The text of a file, unless it is larger than any rubric."""
    most = 4 * LONGEST_DOCUMENT  # bytes: a character has up to four
    data = bytearray()
    with lines_of(source) as lines:
        for line in lines:
            data += line
            if len(data) > most:
                raise RubricaError(f"{source} has more than {most:,} bytes; a rubric has fewer")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RubricaError(f"{source}: not UTF-8 text at byte {error.start}") from None
