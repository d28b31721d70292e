"""``rubrica features``: the text features that formulas can read."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from rubrica.report.figures import figure
from rubrica.text import text_features
from rubrica.text.texts import Feature

from .screen import out

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Search = Annotated[str | None, typer.Argument(metavar="WORD", help="Only features with this in their name or meaning.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table, for documentation.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica features
  rubrica features question
  rubrica features --markdown

In a rubric: {when: 'word_count > 50 and question_count == 0', add: -0.2}"""


@app.command(epilog=EXAMPLES)
def features(word: Search = None, markdown: Markdown = False) -> None:
    """List the text features that formulas can read."""
    wanted = (word or "").lower()
    found = [feature for feature in text_features().values() if wanted in f"{feature.name} {feature.says}".lower()]
    if markdown:
        typer.echo(feature_markdown(found))
        return
    if not found:
        out().print(f"no feature mentions {wanted!r}", markup=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("feature", no_wrap=True, style="bold")
    table.add_column("range", no_wrap=True)
    table.add_column("what it is", ratio=1)
    for feature in found:
        table.add_row(feature.name, _range(feature), feature.says)
    out().print(table)


def feature_markdown(found: list[Feature]) -> str:
    """The generated table of the reference pages."""
    rows = [f"| `{f.name}` | {f.says.replace('|', chr(92) + '|')} | {_range(f)} |" for f in found]
    return "\n".join(["| feature | what it is | range |", "|---|---|---|", *rows])


def _range(feature: Feature) -> str:
    return f"{figure(feature.low)} – {figure(feature.high)}"
