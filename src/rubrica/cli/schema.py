"""``rubrica schema``: the JSON Schema of rubric files."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from rubrica.model.bounds import LONGEST_PROSE
from rubrica.model.rubric import Rubric
from rubrica.model.shortform import ShortForm

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

SHORTHANDS: dict[str, dict[str, Any]] = {
    "OnUnscored": {"enum": ["neutral", "skip", "inconclusive"]},
    "ContextName": {"type": "string", "maxLength": LONGEST_PROSE},
}
"""What may stand in a document in place of the whole mapping; validators expand it, which a schema cannot show."""


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


def rubric_schema() -> dict[str, Any]:
    """The schema of a rubric file: the full document, or the short form."""
    document: TypeAdapter[Any] = TypeAdapter(Rubric | ShortForm)
    found = document.json_schema()
    for name, shorthand in SHORTHANDS.items():
        found["$defs"][name] = {"anyOf": [shorthand, found["$defs"][name]]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Rubrica rubric", **found}
