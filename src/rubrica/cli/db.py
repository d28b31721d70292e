"""``rubrica db``: bring a server's database up to date, or show how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Concatenate, Literal, ParamSpec, TypeVar, assert_never

import typer
from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.extras import MissingExtraError
from rubrica.store.address import address
from rubrica.store.database import Database
from rubrica.store.queue_schema import upgrade_queue
from rubrica.store.upgrade import Status, status, upgrade

from .options import AsJson
from .screen import echo_json, out, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

P = ParamSpec("P")
T = TypeVar("T")
DEFAULT_DATABASE = "rubrica.db"
DatabasePlace = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="FILE|URL",
        envvar="RUBRICA_DB",
        show_envvar=False,
        help="A SQLite file, or postgresql://USER:PASSWORD@HOST/NAME; RUBRICA_DB names another default.",
    ),
]
Action = Annotated[
    Literal["upgrade", "status"],
    typer.Argument(metavar="upgrade|status", help="upgrade: apply what is pending; status: only say what is."),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica db status
  rubrica db upgrade --db postgresql://ann@db.example/rubrica

`rubrica serve` upgrades its database by itself. An upgrade happens as a whole or
not at all."""


@app.command(epilog=EXAMPLES)
def db(action: Action, place: DatabasePlace = DEFAULT_DATABASE, as_json: AsJson = False) -> None:
    """Upgrade a server's database, or show its version."""
    match action:
        case "upgrade":
            before = asyncio.run(upgrade(place))
            with suppress(MissingExtraError):  # without it there are no workers, and nothing to make for them
                asyncio.run(upgrade_queue(place))
            found = Status(before.head, before.head, ())
            applied = before.pending
        case "status":
            found = _status(place)
            applied = ()
        case _:
            assert_never(action)
    if as_json:
        told = {"database": address(place).shown, "revision": found.current, "newest": found.head}
        echo_json({**told, "pending": found.pending, "applied": applied})
    else:
        out().print(safe(f"{address(place).shown}: {_sentence(found, applied)}"), soft_wrap=True, markup=False)


def _status(place: str) -> Status:
    """How far a database is. Looking makes no file."""
    file = address(place).file
    if file is not None and not file.exists():
        return Status(None, "", ())
    return asyncio.run(status(place))


def _sentence(found: Status, applied: tuple[str, ...]) -> str:
    if applied:
        return f"upgraded to revision {found.head} ({', '.join(applied)})"
    if found.current is None and not found.pending:
        return "not there yet (rubrica db upgrade makes it)"
    if found.pending:
        return f"to be upgraded: {', '.join(found.pending)} (rubrica db upgrade)"
    return f"up to date, at revision {found.current}"


def on_database(
    place: str, makes: str, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
) -> T:
    """Run one query on a database that is there, brought up to date first; `makes` says what makes one."""
    return with_database(place, makes, lambda database: database.write(query, *args, **options))


def with_database(place: str, makes: str, work: Callable[[Database], Awaitable[T]]) -> T:
    """The same, for work that takes more than one query."""
    file = address(place).file
    if file is not None and not file.exists():
        raise MissingError(f"{file}: there is no such database ({makes} makes it; --db names another)")

    async def whole() -> T:
        await upgrade(place)
        async with Database.open(place) as database:
            return await work(database)

    return asyncio.run(whole())
