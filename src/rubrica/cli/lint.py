"""``rubrica lint``: criteria that could be worded better."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from rubrica.authoring.lint import lint_rubric
from rubrica.authoring.lint_warning import LINT_RULES, LintWarning
from rubrica.authoring.linted_file import LintedFile
from rubrica.errors import RubricError
from rubrica.report.figures import count_of

from .options import AsJson
from .screen import echo_json, out, safe, say_error

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Rubrics = Annotated[list[str], typer.Argument(metavar="RUBRIC…", help="Rubric files, or names of bundled rubrics.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 where there is a warning.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica lint my-rubric.yaml
  rubrica lint rubrics/*.yaml --strict

`rubrica validate` says whether a file can be used; lint reads what its criteria say. Exits with 0, with --strict with 1
where there is a warning, and with 1 where a file cannot be used."""


@app.command(epilog=EXAMPLES)
def lint(rubrics: Rubrics, strict: Strict = False, as_json: AsJson = False) -> None:
    """Find criteria that ask two things, are vague, overlap or contradict, or cannot fail."""
    results, unusable = [], 0
    for name in rubrics:
        try:
            file = LintedFile.read(name)
        except RubricError as error:
            unusable += 1
            for problem in error.problems:
                say_error(str(problem) if problem.file else f"{name}: {problem}")
            continue
        results.append((name, file.placed(lint_rubric(file.rubric))))
    if as_json:
        echo_json([_plain(name, warnings) for name, warnings in results])
    else:
        _print(results)
    if unusable or (strict and any(warnings for _, warnings in results)):
        raise typer.Exit(1)


def _plain(name: str, warnings: list[LintWarning]) -> dict[str, Any]:
    return {"rubric": name, "warnings": [warning.plain for warning in warnings]}


def _print(results: list[tuple[str, list[LintWarning]]]) -> None:
    console = out()
    for name, warnings in results:
        if not warnings:
            console.print(Text.assemble(("ok ", "bold green"), safe(name)), soft_wrap=True)
        for warning in warnings:
            console.print(Text.assemble(("!  ", "bold yellow"), safe(str(warning.problem))), soft_wrap=True)
            console.print(Text(f"   {warning.rule}: {LINT_RULES[warning.rule]}", "dim"), soft_wrap=True)
            if warning.wording:
                console.print(Text(f"   rather: {safe(warning.wording)}"), soft_wrap=True)
    found = sum(len(warnings) for _, warnings in results)
    if found:
        console.print(f"{count_of(found, 'warning')} in {count_of(sum(bool(w) for _, w in results), 'rubric')}")
