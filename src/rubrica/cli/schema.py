"""``rubrica schema``: the JSON Schema of rubric files."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rubrica.model.json_schema import rubric_schema

from .options import Force
from .output_files import atomic_text_file
from .screen import note

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica schema
  rubrica schema -o rubric.schema.json

Editors that know JSON Schema check a rubric whose first line is
  # yaml-language-server: $schema=rubric.schema.json"""


@app.command(epilog=EXAMPLES)
def schema(output: Output = None, force: Force = False) -> None:
    """Print the JSON Schema of rubric files."""
    text = json.dumps(rubric_schema(), indent=2, ensure_ascii=False)
    if output is None:
        typer.echo(text)
        return
    with atomic_text_file(output, force=force) as file:
        file.write(text + "\n")
    note(f"wrote {output}")
