"""``rubrica validate``: every problem of every file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from rubrica.engine.scale_ends import unreached_ends
from rubrica.errors import Problem, RubricError
from rubrica.packs.library import load
from rubrica.report.figures import count_of

from .options import AsJson
from .screen import echo_json, out, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Files = Annotated[list[str], typer.Argument(metavar="FILE…", help="Rubric files, or names of bundled rubrics.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica validate my-rubric.yaml
  rubrica validate rubrics/*.yaml --json

Exits with 0 when every file can be used, else with 1. A formula that can never reach an end of its scale is
reported, but can be used."""


@app.command(epilog=EXAMPLES)
def validate(files: Files, as_json: AsJson = False) -> None:
    """Check rubric files and report every problem."""
    results = [_check_file(file) for file in files]
    faulty = sum(not result["ok"] for result in results)
    if as_json:
        echo_json(results)
    else:
        _print(results)
    if faulty:
        raise typer.Exit(1)


def _check_file(file: str) -> dict[str, Any]:
    try:
        rubric = load(Path(file) if Path(file).is_file() else file)
    except RubricError as error:
        return {"file": file, "ok": False, "problems": [_plain(problem, file) for problem in error.problems]}
    warnings = [_plain(problem, file) for problem in unreached_ends(rubric)]
    reference = {"rubric": rubric.reference, "hash": rubric.hash}
    return {"file": file, "ok": True, **reference, "problems": [], "warnings": warnings}


def _plain(problem: Problem, file: str) -> dict[str, Any]:
    return {
        "line": problem.line,
        "path": problem.where,
        "message": problem.message,
        "fix": problem.fix,
        "text": _with_file_name(str(problem), problem.file, file),
    }


def _with_file_name(text: str, known: str | None, file: str) -> str:
    """A problem's text always starts with its file."""
    return text if known else f"{file}: {text}"


def _print(results: list[dict[str, Any]]) -> None:
    console = out()
    for result in results:
        if result["ok"]:
            console.print(
                Text.assemble(("ok ", "bold green"), f"{safe(result['file'])}: {result['rubric']}"), soft_wrap=True
            )
        for warning in result.get("warnings", ()):
            console.print(Text.assemble(("!  ", "bold yellow"), safe(warning["text"])), soft_wrap=True)
        for problem in result["problems"]:
            console.print(Text.assemble(("✕  ", "bold red"), safe(problem["text"])), soft_wrap=True)
    found = sum(len(result["problems"]) for result in results)
    if found:
        faulty = sum(not result["ok"] for result in results)
        console.print(f"{count_of(found, 'problem')} in {count_of(faulty, 'file')}")
