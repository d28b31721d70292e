"""``rubrica cache``: what the reply cache holds, and how to empty it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal, assert_never

import typer
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.llm.cache import CacheError, CacheStats, ReplyCache
from rubrica.llm.settings import load_settings
from rubrica.report.figures import count_of, figure, percent

from .options import AsJson
from .screen import echo_json, note, out, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Action = Annotated[
    Literal["stats", "clear"],
    typer.Argument(metavar="stats|clear", help="stats: what it holds; clear: drop every kept reply."),
]
CacheFile = Annotated[
    str | None,
    typer.Option("--cache", metavar="FILE", help="Another cache file than the one `rubrica config` shows."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="clear without asking.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica cache stats
  rubrica cache stats --cache replies.sqlite --json
  rubrica cache clear --yes

A cleared reply is asked for, and paid for, again when it is next needed.
RUBRICA_CACHE=off goes without a cache."""

COLUMNS = {("replies", "key"), ("replies", "model"), ("replies", "reply"), ("counts", "name"), ("counts", "count")}
"""What a reply cache consists of: a database that holds anything else is somebody else's."""


@app.command(epilog=EXAMPLES)
def cache(action: Action, file: CacheFile = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Show or clear the cached replies of models."""
    path = Path(file) if file is not None else _configured()
    match action:
        case "stats":
            _stats(path, as_json)
        case "clear":
            _clear(path, yes, as_json)
        case _:
            assert_never(action)


def _configured() -> Path:
    settings = load_settings()
    if settings.cache is None:
        origin = settings.origins.get("cache", "the default")
        raise RubricaError(f"replies are not kept: {origin} says off (change it, or name a file with --cache FILE)")
    return settings.cache


def _stats(path: Path, as_json: bool) -> None:
    stats = _read(path)
    if as_json:
        figures = {"entries": stats.entries, "bytes": stats.bytes, "hits": stats.hits, "misses": stats.misses}
        echo_json({"path": str(path), "exists": path.exists(), **figures})
        return
    asked = stats.hits + stats.misses
    share = f" ({percent(stats.hits / asked)})" if asked else ""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("file", Text(safe(str(path)) + ("" if path.exists() else " (not there yet)")))
    table.add_row("entries", f"{stats.entries:,}")
    table.add_row("size", size(stats.bytes))
    table.add_row("hits", f"{stats.hits:,} of {count_of(asked, 'lookup')}{share}")
    out().print(table)


def _clear(path: Path, yes: bool, as_json: bool) -> None:
    stats = _read(path)
    kept = f"{stats.entries:,} kept {'reply' if stats.entries == 1 else 'replies'} ({size(stats.bytes)})"
    if stats.entries and not yes:
        typer.confirm(f"Drop {kept} from {safe(str(path))}?", abort=True, err=True)
    cleared = 0
    if stats.entries:
        with ReplyCache(path) as opened:
            cleared = opened.clear()
    if as_json:
        echo_json({"path": str(path), "cleared": cleared})
    else:
        note(f"dropped {kept} from {path}" if cleared else f"nothing to clear: {path} holds no replies")


def size(count: int) -> str:
    """Bytes as a reader sees them.

    >>> size(512), size(20_480), size(3_400_000)
    ('512 bytes', '20.5 kB', '3.4 MB')
    """
    if count < 1000:
        return count_of(count, "byte")
    if count < 999_950:
        return f"{figure(round(count / 1000, 1))} kB"
    return f"{figure(round(count / 1e6, 1))} MB"


def _read(path: Path) -> CacheStats:
    """What the cache holds. Looking never creates a file, and never touches a database of another kind."""
    if not path.exists():
        return CacheStats(0, 0, 0, 0)
    _refuse_others(path)
    with ReplyCache(path) as opened:
        return opened.stats()


def _refuse_others(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            query = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
            found = set(db.execute(query))
    except sqlite3.Error as error:
        raise CacheError(f"{path}: is not a reply cache: {error} (name another file with --cache)") from None
    if others := found - COLUMNS:
        table, column = min(others)
        raise CacheError(f"{path}: is not a reply cache: it holds {table}.{column} (name another file with --cache)")
