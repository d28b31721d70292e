"""``rubrica keys``: make, list and revoke the keys of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, assert_never, get_args

import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from rubrica.gateway.controls import Allowance, Control
from rubrica.phrases import fault_words
from rubrica.store.gateway import set_allowances
from rubrica.store.keys import Key, limit_spending, list_keys, revoke_key
from rubrica.store.upgrade import upgrade
from rubrica.workspace.access import Role
from rubrica.workspace.keys import MOST_PER_MINUTE, MOST_USD, PER_MINUTE, KeyRequest, issue, named_key

from .db import DEFAULT_DATABASE, DatabasePlace, on_database
from .options import AsJson
from .screen import echo_json, note, out, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

MADE_BY = "rubrica keys create --role admin"
NEW = "For create"
ALLOW = "For allow"
MOST_LISTED = 100_000
FIGURES = ("a minute", "$ a day")

Action = Annotated[
    Literal["create", "list", "revoke", "allow"],
    typer.Argument(
        metavar="create|list|revoke|allow",
        help="create: print a new key, once; revoke: end one; allow: what one may choose and spend in a gateway.",
    ),
]
Which = Annotated[
    str | None, typer.Argument(metavar="[KEY]", help="For revoke and allow: the beginning of a key, or its id.")
]
WantedRole = Annotated[
    Role | None,
    typer.Option(
        "--role",
        help="Each may do what those before it may: viewer reads, player plays, author writes, admin does everything.",
        rich_help_panel=NEW,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="Whose key it is. Left out: the local user for an admin, somebody new for any other role.",
        rich_help_panel=NEW,
    ),
]
Label = Annotated[str, typer.Option("--label", metavar="TEXT", help="What it is for.", rich_help_panel=NEW)]
PerMinute = Annotated[
    int,
    typer.Option("--per-minute", min=1, max=MOST_PER_MINUTE, help="Requests a minute.", rich_help_panel=NEW),
]
Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        metavar="NAME",
        help=f"What its requests may choose: {', '.join(get_args(Control))}, or none. May be repeated.",
        rich_help_panel=ALLOW,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", help="A model that its requests may name as a tier; may be repeated.", rich_help_panel=ALLOW
    ),
]
Choices = Annotated[
    list[str] | None,
    typer.Option(
        "--choose",
        metavar="NAME=VALUE",
        help="What holds where its requests say nothing, such as threshold=90 or grading=off; may be repeated.",
        rich_help_panel=ALLOW,
    ),
]
PerDay = Annotated[
    float | None,
    typer.Option(
        "--usd-per-day",
        metavar="USD",
        min=0,
        max=MOST_USD,
        help="For create too: most US dollars it may spend a day (UTC), on a server and in a gateway each.",
        rich_help_panel=ALLOW,
    ),
]
PerMonth = Annotated[
    float | None,
    typer.Option(
        "--usd-per-month",
        metavar="USD",
        min=0,
        max=MOST_USD,
        help="Most US dollars it may spend in a gateway in a month (UTC).",
        rich_help_panel=ALLOW,
    ),
]
Team = Annotated[
    str | None,
    typer.Option(
        "--team", metavar="NAME", help="Whose limits hold too: one of the gateway's `teams`.", rich_help_panel=ALLOW
    ),
]
RequestRate = Annotated[
    int | None,
    typer.Option("--requests-per-minute", min=1, help="Most requests a minute in a gateway.", rich_help_panel=ALLOW),
]
TokenRate = Annotated[
    int | None,
    typer.Option("--tokens-per-minute", min=1, help="Most tokens a minute in a gateway.", rich_help_panel=ALLOW),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica keys create --role admin
  rubrica keys create --role player --user ann --label "summer cup" --usd-per-day 2
  rubrica keys list
  rubrica keys revoke rk_3fA9xQ2b
  rubrica keys allow rk_3fA9xQ2b --usd-per-day 5 --control debug
  rubrica keys allow rk_3fA9xQ2b --team research --tokens-per-minute 50000

A key is printed once and kept as a digest only. Programs send it as
`Authorization: Bearer KEY`. A revoked key stops working within a second."""


@app.command(epilog=EXAMPLES)
def keys(
    action: Action,
    which: Which = None,
    role: WantedRole = None,
    user: User = None,
    label: Label = "",
    per_minute: PerMinute = PER_MINUTE,
    controls: Controls = None,
    models: Models = None,
    choices: Choices = None,
    per_day: PerDay = None,
    per_month: PerMonth = None,
    team: Team = None,
    request_rate: RequestRate = None,
    token_rate: TokenRate = None,
    place: DatabasePlace = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Create, list and revoke the keys of a server."""
    if which is not None and action not in ("revoke", "allow"):
        raise typer.BadParameter("goes with revoke and allow", param_hint="KEY")
    match action:
        case "create":
            if role is None:
                raise typer.BadParameter("a key needs a role", param_hint="--role")
            _create(place, KeyRequest(role, user, label, per_minute, per_day), as_json)
        case "list":
            _list(place, as_json)
        case "revoke":
            if which is None:
                raise typer.BadParameter("name the key to revoke", param_hint="KEY")
            _revoke(place, which, as_json)
        case "allow":
            if which is None:
                raise typer.BadParameter("name the key", param_hint="KEY")
            limits = {"usd_per_day": per_day, "usd_per_month": per_month, "team": team}
            rates = {"requests_per_minute": request_rate, "tokens_per_minute": token_rate}
            _allow(place, which, _allowance(controls, models, choices, {**limits, **rates}), as_json)
        case _:
            assert_never(action)


def _create(place: str, key_request: KeyRequest, as_json: bool) -> None:
    asyncio.run(upgrade(place))  # the first key may come before anything else
    issued = on_database(place, MADE_BY, issue, key_request, datetime.now(UTC))
    if as_json:
        echo_json({**_to_json(issued.key), "key": issued.secret})
        return
    typer.echo(issued.secret)
    note(f"a key of the role {issued.key.role} for {issued.key.user}; keep it: it is not shown again")


def _list(place: str, as_json: bool) -> None:
    found: Sequence[Key] = on_database(place, MADE_BY, list_keys, limit=MOST_LISTED)
    if as_json:
        echo_json([_to_json(key) for key in found])
        return
    if not found:
        note("there are no keys: a server over this database serves its own machine only")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("key", "role", "user", "label", "a minute", "$ a day", "made", "last used", "revoked"):
        table.add_column(column, no_wrap=column in ("key", "role"), justify="right" if column in FIGURES else "left")
    for key in found:
        daily = "" if key.usd_per_day is None else f"{key.usd_per_day:g}"
        figures = (f"{key.per_minute:,}", daily, _day(key.created_at), _day(key.last_used_at), _day(key.revoked_at))
        cells = (f"{key.prefix}…", key.role, key.user, key.label, *figures)
        table.add_row(*(Text(safe(cell)) for cell in cells), style="dim" if key.revoked_at is not None else "")
    out().print(table)


def _revoke(place: str, which: str, as_json: bool) -> None:
    def end(conn: Connection) -> Key:
        key = named_key(conn, which)
        revoke_key(conn, key.id, datetime.now(UTC))
        return named_key(conn, str(key.id))

    ended = on_database(place, MADE_BY, end)
    if as_json:
        echo_json(_to_json(ended))
    else:
        note(f"revoked {ended.prefix}… of {ended.user}; a running server refuses it within a second")


def _allowance(
    controls: list[str] | None, models: list[str] | None, choices: list[str] | None, limits: Mapping[str, object]
) -> Allowance | None:
    """What is to be allowed; None, where nothing is said: what a gateway lets everybody."""
    given: dict[str, object] = {}
    if controls is not None:
        given["controls"] = [control for control in controls if control != "none"]
    if models:
        given["models"] = models
        given.setdefault("controls", list(get_args(Control)))
    if choices:
        given["choices"] = {name: value for name, _, value in (choice.partition("=") for choice in choices)}
    given |= {name: value for name, value in limits.items() if value is not None}
    try:
        return Allowance.model_validate(given) if given else None
    except ValidationError as error:
        faults = "; ".join(f"{fault['loc'][0]}: {fault_words(fault)}" for fault in error.errors())
        raise typer.BadParameter(faults, param_hint="--control, --model, --choose and the limits") from None


def _allow(place: str, which: str, allowance: Allowance | None, as_json: bool) -> None:
    document = None if allowance is None else allowance.model_dump(mode="json")

    def set_it(conn: Connection) -> Key:
        key = named_key(conn, which)
        set_allowances(conn, key.id, document)
        limit_spending(conn, key.id, None if document is None else document["usd_per_day"])
        return key

    key = on_database(place, MADE_BY, set_it)
    if as_json:
        echo_json({"id": str(key.id), "allowances": document})
    elif document is None:
        note(f"{key.prefix}… of {key.user} may do what a gateway lets everybody")
    else:
        chosen = ", ".join(sorted(document["controls"])) or "nothing"
        spent = _limits_text(document)
        told = ", ".join(f"{name} {value}" for name, value in document["choices"].items())
        note(
            f"{key.prefix}… of {key.user} may choose {chosen}, and spend {spent}"
            + (f"; without: {told}" if told else "")
        )


def _limits_text(document: Mapping[str, Any]) -> str:
    """What a key may spend and use, in words."""
    words = {"usd_per_day": "${:g} a day", "usd_per_month": "${:g} a month", "team": "as a member of {}"}
    words |= {"requests_per_minute": "{:,} requests a minute", "tokens_per_minute": "{:,} tokens a minute"}
    told = [text.format(document[name]) for name, text in words.items() if document[name] is not None]
    return ", ".join(told) or "as much as there is"


def _to_json(key: Key) -> dict[str, object]:
    return {name: str(value) if name in ("id", "user_id") else _plain(value) for name, value in asdict(key).items()}


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
