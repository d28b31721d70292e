"""``rubrica config``: every setting, its value and where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from rubrica.hints import nearest
from rubrica.llm.settings import KEYS, Settings, load_settings, setting_names

from .options import AsJson
from .screen import echo_json, note, out, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

EXAMPLES = """[bold]Examples[/bold]
  rubrica config
  RUBRICA_TIMEOUT=20 rubrica config
  RUBRICA_CONFIG=team.toml rubrica config --json

A file is TOML: judge = "anthropic:claude-haiku-4-5". Later wins: defaults,
~/.config/rubrica/config.toml, rubrica.toml in the working directory, RUBRICA_*
variables. With RUBRICA_CONFIG that one file is read instead of both.
Keys come from variables only, and are never shown whole."""


@app.command(epilog=EXAMPLES)
def config(as_json: AsJson = False) -> None:
    """Show every setting, its value and its source."""
    settings = load_settings()
    if as_json:
        shown = {"settings": [*_rows(settings)], "unused": list(settings.unused)}
        echo_json(shown)
        return
    console = out()
    table = _table(settings, explained=True)
    if console.measure(table, options=console.options.update(width=10_000)).maximum > console.width:
        table = _table(settings, explained=False)
    console.print(table)
    for variable in settings.unused:
        note(f"{variable} is set, but names no setting{_hint(variable)}", "yellow")


def variables_of(name: str) -> tuple[str, ...]:
    """The variables that give a setting, the strongest first.

    >>> variables_of("timeout"), variables_of("anthropic_key")
    (('RUBRICA_TIMEOUT',), ('ANTHROPIC_API_KEY', 'ANTHROPIC_KEY'))
    """
    return KEYS.get(name, (f"RUBRICA_{name.upper()}",))


def _rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """Settings for other programs: numbers are numbers, what is not set is null, keys are masked as on the screen."""
    values = settings.model_dump(mode="json")
    for shown in settings.shown():
        given = getattr(settings, shown.name) is not None
        yield {
            "name": shown.name,
            "value": shown.value if shown.name in KEYS and given else values[shown.name],
            "origin": shown.origin,
            "variables": list(variables_of(shown.name)),
            "says": _description(shown.name),
        }


def _table(settings: Settings, *, explained: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("setting", no_wrap=True, style="bold")
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    if explained:
        table.add_column("what it is")
    for shown in settings.shown():
        style = "" if shown.name in settings.origins else "dim"
        row = [Text(shown.name), Text(safe(shown.value), style), Text(safe(shown.origin), style)]
        table.add_row(*row, *([_description(shown.name)] if explained else []))
    return table


def _description(name: str) -> str:
    says = Settings.model_fields[name].description or ""
    return f"{says}, from {' or '.join(KEYS[name])}" if name in KEYS else says


def _hint(variable: str) -> str:
    known = [known for name in setting_names() for known in variables_of(name)]
    near = nearest(variable, known, likeness=0.8)  # they all begin alike
    return "" if near is None else f" (did you mean {near}?)"
