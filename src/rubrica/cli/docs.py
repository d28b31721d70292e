"""``rubrica docs``: the readable page of a rubric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubrica.report.rubric_page import rubric_html, rubric_markdown

from .options import Force, RubricArgument
from .output_files import atomic_text_file
from .screen import note, safe
from .sources import rubric_of

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="PAGE", help="Write page.md or page.html; left out, Markdown is printed."),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica docs answer-quality
  rubrica docs my-rubric.yaml -o my-rubric.html"""


@app.command(epilog=EXAMPLES)
def docs(rubric: RubricArgument, output: Output = None, force: Force = False) -> None:
    """Write a readable page of a rubric."""
    loaded = rubric_of(rubric)
    if output is None:
        typer.echo(safe(rubric_markdown(loaded)))
        return
    suffix = Path(output).suffix.lower()
    if suffix not in (".md", ".markdown", ".html", ".htm"):
        raise typer.BadParameter("the page is Markdown (.md) or HTML (.html)", param_hint="--output")
    text = rubric_html(loaded) if suffix.startswith(".htm") else rubric_markdown(loaded)
    with atomic_text_file(output, force=force) as file:
        file.write(text if text.endswith("\n") else text + "\n")
    note(f"wrote {output}")
