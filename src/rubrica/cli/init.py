"""``rubrica init``: a starter rubric."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rubrica.engine.expand import slug
from rubrica.errors import RubricaError

from .options import Force
from .output_files import atomic_text_file
from .screen import out, program, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

STARTER_NAME = "my-rubric"
Target = Annotated[str, typer.Argument(metavar="PATH", help="The file to write.")]
RubricName = Annotated[
    str | None, typer.Option("--name", help="The rubric's name; left out, it follows from the file's.")
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica init
  rubrica init support-reply.yaml --name support-reply"""


@app.command(epilog=EXAMPLES)
def init(path: Target = "rubric.yaml", name: RubricName = None, force: Force = False) -> None:
    """Write a commented starter rubric."""
    target = Path(path)
    if target.suffix not in (".yaml", ".yml"):
        raise RubricaError(f"{path}: the starter is YAML, with comments; choose a name that ends in .yaml")
    if target.is_dir():
        raise RubricaError(f"{path} is a folder; name a file in it")
    with atomic_text_file(path, force=force) as file:
        file.write(starter(name or (STARTER_NAME if target.stem == "rubric" else target.stem)))
    shown, rubrica = shlex.quote(path), program()
    console = out()
    console.print(Text.assemble(("wrote ", ""), (safe(path), "bold"), "\n\nNext:"))
    for command in (
        f"{rubrica} validate {shown}",
        f"{rubrica} eval -r {shown} --prompt 'My parcel is late.' --response 'Thank you, it left today.'",
        f"{rubrica} explain -r {shown} --prompt 'My parcel is late.' --response 'Obviously it is late!!!'",
        f"{rubrica} docs {shown}",
    ):
        console.print(f"  {command}", markup=False, soft_wrap=True)


def starter(name: str) -> str:
    """The starter rubric under a name."""
    text = (files(__package__) / "starter.yaml").read_text(encoding="utf-8")
    return text.replace(f"name: {STARTER_NAME}  ", f"name: {slug(name)}  ", 1)
