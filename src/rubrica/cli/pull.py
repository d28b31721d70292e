"""``rubrica pull``: a rubric from a server into a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
import typer
import yaml

from rubrica.errors import RubricaError
from rubrica.report.printable import printable_json

from .options import Force, ServerAddress
from .output_files import STDOUT, atomic_text_file
from .remote import Export, remote
from .screen import note, safe

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Reference = Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="A rubric there: slug, slug@version or id.")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Left out: NAME.yaml; - prints it.")]
Form = Annotated[Literal["yaml", "json"] | None, typer.Option("--format", help="Left out: as the file's name says.")]
Bundle = Annotated[bool, typer.Option("--bundle", help="With its examples and where it comes from.")]
EPILOG = """[bold]Examples[/bold]
  rubrica pull speed-demon --server http://localhost:8000
  rubrica pull answer-quality@1.1.0 -o mine.json
  rubrica pull speed-demon --bundle -o - | less

RUBRICA_SERVER names the server, RUBRICA_API_KEY the key."""


@app.command(epilog=EPILOG)
def pull(
    reference: Reference,
    server: ServerAddress,
    output: Output = None,
    form: Form = None,
    bundle: Bundle = False,
    force: Force = False,
) -> None:
    """Write a rubric of a server to a file, as its author wrote it."""
    with remote(server) as (there, runner):
        path = f"/api/evaluations/{quote(reference, safe='@')}/export?format=json"
        answer = runner.run(there.get(path))
    found = answer.read(Export)
    came_from = found.provenance
    target = output if output is not None else f"{_file_name(came_from.name, reference)}.{form or 'yaml'}"
    chosen = form or ("json" if Path(target).suffix == ".json" else "yaml")
    text = _render(answer.data if bundle else found.rubric, chosen)
    if target == STDOUT:
        typer.echo(printable_json(text) if chosen == "json" else safe(text), nl=False)
        return
    with atomic_text_file(target, force=force) as file:
        file.write(text)
    note(f"{came_from.name}@{came_from.version} is in {target}")


def _file_name(name: str, reference: str) -> str:
    """The name of a rubric, which a server says, as the name of a file in this folder.

    >>> _file_name("speed-demon", "speed-demon@1.0")
    'speed-demon'
    >>> _file_name("../x", "x")
    Traceback (most recent call last):
        ...
    rubrica.errors.RubricaError: the server calls it '../x', which is no name of a rubric (choose a file with -o)
    """
    asked = reference.partition("@")[0]
    if not _NAME.fullmatch(name):
        why = "which is no name of a rubric"
    elif asked != name and not _ID.fullmatch(asked):
        why = f"and {asked!r} was asked for"
    else:
        return name
    raise RubricaError(f"the server calls it {name[:100]!r}, {why} (choose a file with -o)")


def _render(data: Any, form: Literal["yaml", "json"]) -> str:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110))
