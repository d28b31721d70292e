"""``rubrica list``: the bundled rubrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from rich.table import Table

from rubrica.packs.library import bundled_rubrics, load
from rubrica.runs.rubrics import labels_of

from .options import AsJson
from .screen import echo_json, out

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

EXAMPLES = """[bold]Examples[/bold]
  rubrica list
  rubrica show answer-quality"""


@app.command(epilog=EXAMPLES)
def list_rubrics(as_json: AsJson = False) -> None:
    """List the bundled rubrics."""
    rows = [*_rows()]
    if as_json:
        echo_json(rows)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rubric", no_wrap=True)
    table.add_column("dims", justify="right", no_wrap=True)
    table.add_column("title and verdicts", ratio=1)
    for row in rows:
        nested = "  " if row["name"] != row["pack"] else ""  # beside the main rubric of its pack
        told = f"{row['title']}\n[dim]{', '.join(row['verdicts'])}[/dim]"
        table.add_row(f"{nested}{row['name']}@{row['version']}", str(row["dimensions"]), told)
    out().print(table)


def _rows() -> Iterator[dict[str, Any]]:
    for bundled in bundled_rubrics():
        rubric = load(f"{bundled.pack}/{bundled.name}")
        yield {
            "name": rubric.name,
            "version": rubric.version,
            "pack": bundled.pack,
            "dimensions": len(rubric.dimensions),
            "verdicts": labels_of(rubric),
            "title": rubric.display_title,
        }
