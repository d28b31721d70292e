"""``rubrica demo``: the bundled examples, judged offline."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.rejudge import rejudge
from rubrica.errors import RubricaError
from rubrica.model.evaluation import INCONCLUSIVE, Evaluation
from rubrica.model.rubric import Rubric
from rubrica.packs.library import PACKS, examples, load
from rubrica.report.figures import count_of
from rubrica.report.page import write_report
from rubrica.runs.expectation import mismatches

from .example_table import ExampleRow, example_table
from .output_files import atomic_text_file, json_lines
from .screen import out, program, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Folder = Annotated[
    str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the report and the evaluations go.")
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica demo
  rubrica demo -o somewhere/

Needs no key and no network: where a rubric asks a judge, its offline formula is used."""


@dataclass(frozen=True, slots=True)
class PackExamples:
    """The examples of one pack under one rubric."""

    pack: str
    rubric: Rubric
    exhibits: tuple[ExampleRow, ...]


@app.command(epilog=EXAMPLES)
def demo(folder: Folder = "demo") -> None:
    """Judge the bundled examples, offline, and write a report."""
    started = time.perf_counter()
    shown = [*_evaluate_packs()]
    seconds = time.perf_counter() - started
    console = out()
    for part in shown:
        console.print(example_table(part.pack, part.rubric, part.exhibits, console.width))
    page, stored = _write_results(Path(folder), shown)
    exhibits = [exhibit for part in shown for exhibit in part.exhibits]
    astray = sum(bool(exhibit.differences) for exhibit in exhibits)
    outcome = "all as expected" if not astray else f"{count_of(astray, 'verdict')} other than expected"
    console.print(
        Text(f"\n{count_of(len(exhibits), 'example')} judged offline in {seconds:.1f} s, {outcome}.\n", "bold")
    )
    if unclear := sum(bool(exhibit.by_points) for exhibit in exhibits):
        console.print(
            f"{unclear} are inconclusive: offline scores are only known within bounds, and a reader could come to "
            "another verdict. [bold]--judge MODEL[/bold] asks one; [bold]judging: {offline: point}[/bold] in a rubric "
            "lets the values decide alone.\n"
        )
    rubrica = program()
    console.print("Look at")
    console.print(f"  {safe(page)}  in a browser: every score drawn, every match marked", soft_wrap=True)
    console.print(f"  {safe(stored)}  the same as data, one evaluation a line\n", soft_wrap=True)
    console.print("Type next")
    for command in (
        f"{rubrica} show answer-quality",
        f"{rubrica} init my-rubric.yaml",
        f"{rubrica} explain {shlex.quote(stored)} --case {shlex.quote(_telling(exhibits))}",
    ):
        console.print(Text(f"  {safe(command)}", "bold cyan"), soft_wrap=True)


def _evaluate_packs() -> Iterator[PackExamples]:
    for pack in PACKS:
        found: dict[str, list[ExampleRow]] = {}
        for case in examples(pack):
            name = case.rubric or pack
            evaluation = evaluate(compile_rubric(load(name)), case.context, case.id)
            differences = mismatches(case.expect or {}, evaluation)
            row = ExampleRow(case.id, evaluation, tuple(differences), _by_points(evaluation, load(name)))
            found.setdefault(name, []).append(row)
        for name, exhibits in found.items():
            yield PackExamples(pack, load(name), tuple(exhibits))


def _by_points(evaluation: Evaluation, rubric: Rubric) -> str:
    """What the offline values alone would come to, where their bounds leave the verdict open."""
    if evaluation.verdict != INCONCLUSIVE or rubric.judging.offline != "bounds":
        return ""
    return rejudge(compile_rubric(rubric.with_offline("point")), evaluation).verdict


def _write_results(folder: Path, shown: list[PackExamples]) -> tuple[str, str]:
    """Write the report and the evaluations; their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RubricaError(f"cannot make the folder {folder}: {error.strerror}") from None
    page, stored = str(folder / "report.html"), str(folder / "evaluations.jsonl")
    rubrics: Mapping[str, Rubric] = {part.rubric.name: part.rubric for part in shown}
    evaluations: list[Evaluation] = [exhibit.evaluation for part in shown for exhibit in part.exhibits]
    with json_lines(stored, force=True) as sink:
        for evaluation in evaluations:
            sink.write(evaluation)
    with atomic_text_file(page, force=True) as file:
        write_report(evaluations, file, title="Rubrica demo", rubrics=rubrics)
    return page, stored


def _telling(exhibits: list[ExampleRow]) -> str:
    """The example that has most to explain: a gate that moved the score, and then the most text quoted."""

    def findings(exhibit: ExampleRow) -> tuple[bool, int]:
        evaluation = exhibit.evaluation
        moved = any(step.kind == "gate" and step.total > 0 for step in evaluation.steps)
        return moved, sum(len(hit.spans) for result in evaluation.dimensions.values() for hit in result.hits)

    return max(exhibits, key=findings).case
