"""``rubrica serve``: the REST API and the studio on this machine, or for others once there are keys."""

from __future__ import annotations

import asyncio
import gc
import re
import shlex
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn
from fastapi import FastAPI
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.extras import MissingExtraError, requires
from rubrica.llm.budget import load_price
from rubrica.llm.model import Usage
from rubrica.server.app import create_app
from rubrica.server.connection import serving_config
from rubrica.server.listening import listen, refuse_others
from rubrica.server.proxies import behind_proxies, networks_of
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.server.sign_in import is_loopback
from rubrica.store.address import address
from rubrica.store.database import Database
from rubrica.store.keys import any_key
from rubrica.store.serving import sole_server
from rubrica.store.upgrade import upgrade
from rubrica.workspace.spending import MAX_CALLS, SpendingPolicy

from .db import DEFAULT_DATABASE, DatabasePlace
from .judge_options import Judges, Offline, judge_names, split_list
from .options import MODELS, TrustedProxy
from .screen import out, program, safe

if TYPE_CHECKING:
    from rubrica.judges.jury import Jury

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

LEAST_BODY, MOST_BODY = 1_000, 100_000_000
GRACE = 30
"""Seconds that requests under way are given to finish when the server is stopped."""

SPENDING = "Spending"
YOUNG = 10_000
"""New objects before the collector looks for cycles among them. A request makes hundreds, hardly ever in a cycle."""

LARGEST_MESSAGE = 1_000_100
"""Bytes that a page of the studio sends at once: a million, and what is around them."""

_SIZE = re.compile(r"(\d{1,12})\s*(k|kb|m|mb)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}

Host = Annotated[str, typer.Option("--host", help="Where to listen; others than this machine need keys first.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
MaxBody = Annotated[str, typer.Option("--max-body", metavar="SIZE", help="Most bytes of a request, such as 500kB.")]
Runs = Annotated[
    Path,
    typer.Option("--runs", metavar="DIR", help="Where `rubrica run -o DIR/NAME` put runs, for the studio to show."),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A model that a council may be asked with; repeat it. Left out: the judges.",
        rich_help_panel=MODELS,
    ),
]
MaxCalls = Annotated[
    int,
    typer.Option(
        "--max-calls", metavar="COUNT", min=1, help="Most calls to models for one request.", rich_help_panel=SPENDING
    ),
]
PerUser = Annotated[
    float | None,
    typer.Option(
        "--usd-per-day",
        metavar="USD",
        min=0,
        help="Most US dollars that each user may have models called for in a day (UTC).",
        rich_help_panel=SPENDING,
    ),
]
Total = Annotated[
    float | None,
    typer.Option(
        "--usd-per-day-total", metavar="USD", min=0, help="The same for all users together.", rich_help_panel=SPENDING
    ),
]
PrivateWebhooks = Annotated[
    bool,
    typer.Option("--private-webhooks", help="Let webhooks lead into this machine's own network, and without TLS."),
]
NoStudio = Annotated[bool, typer.Option("--no-studio", help="Serve the API alone, without pages.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica serve
  rubrica serve --db postgresql://ann@db.example/rubrica --judge anthropic:claude-haiku-4-5
  rubrica serve --model openai:gpt-4o-mini --model anthropic:claude-haiku-4-5
  rubrica keys create --role admin
  rubrica serve --host 0.0.0.0 --port 80

The database is made or upgraded by itself, and the bundled rubrics are in it.
Without keys the server serves its own machine, and everybody there is an admin."""


@app.command(epilog=EXAMPLES)
def serve(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    place: DatabasePlace = DEFAULT_DATABASE,
    judge: Judges = None,
    offline: Offline = False,
    max_body: MaxBody = "2MB",
    runs: Runs = Path("runs"),
    models: Models = None,
    max_calls: MaxCalls = MAX_CALLS,
    usd_per_day: PerUser = None,
    usd_per_day_total: Total = None,
    trusted_proxy: TrustedProxy = None,
    private_webhooks: PrivateWebhooks = False,
    no_studio: NoStudio = False,
) -> None:
    """Serve the studio, and rubrics, games and scores over a REST API.

    It ends with Ctrl+C, once the requests under way are answered.
    """
    judges = tuple(judge_names(judge, offline=offline))
    council = tuple(split_list(models)) or judges
    policy = SpendingPolicy(max_calls, usd_per_day, usd_per_day_total)
    _check_prices((*judges, *council), policy)
    settings = ServerSettings(
        place,
        judges,
        size_of(max_body),
        spending=policy,
        runs=runs,
        council=council,
        private_webhooks=private_webhooks,
    )
    keyed = asyncio.run(_prepared(place))
    if not keyed and not is_loopback(host):
        raise RubricaError(
            f"{host}: without keys everybody is an admin, so only this machine can be served "
            f"({_first_key(place)} makes the first key; or leave out --host)"
        )
    proxies = networks_of(trusted_proxy or ())
    jury = server_jury(judges) if judges else None
    with sole_server(place, "serve"), listen(host, port) as listening:
        if not keyed:
            refuse_others(listening)
        service = Service.open(settings, jury=jury)
        application = create_app(service)
        lack = "left out" if no_studio else _attach_studio(application, service, council)
        socket_options = {"ws": "none" if lack else "auto", "ws_max_size": LARGEST_MESSAGE}
        served = behind_proxies(application, proxies)
        config = serving_config(served, timeout_graceful_shutdown=GRACE, **socket_options)
        banner = _banner(url_of(host, listening.getsockname()[1]), settings, keyed=keyed, lack=lack)
        server = AnnouncingServer(config, lambda: out().print(banner))
        with suppress(KeyboardInterrupt):
            server.run([listening])
    if not server.started:
        raise typer.Exit(1)  # uvicorn has told why


def _check_prices(models: Iterable[str], policy: SpendingPolicy) -> None:
    """Refuse a limit on models whose price is not known: it would be a promise that cannot be kept."""
    if policy.usd_per_day is None and policy.usd_per_day_total is None:
        return
    price = load_price("--usd-per-day")
    for name in models:
        if price(name, Usage(1000, 1000)) is None:
            raise RubricaError(
                f"{name}: price unknown, so --usd-per-day cannot be kept (leave it out, or name a model with a price)"
            )


def _attach_studio(application: FastAPI, service: Service, models: tuple[str, ...]) -> str:
    """Add the studio's pages; why there are none, where what draws them is not installed."""
    try:
        with requires("studio", "the API alone"):
            from rubrica.studio.mount import attach  # late: pages take a second to load, and --no-studio has none
            from rubrica.studio.studio import Studio
    except MissingExtraError as error:
        return str(error)
    attach(application, Studio(service, application.state.door, models))
    return ""


class AnnouncingServer(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is loaded stays: scanning it again and again took an eighth of a request's time
            gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
            self._ready()


async def _prepared(place: str) -> bool:
    """Upgrade the database; whether there are keys. What is wrong with it is told before anything is served."""
    await upgrade(place)
    async with Database.open(place) as database:
        return await database.read(any_key)


def server_jury(names: tuple[str, ...]) -> Jury:
    """The judges; loaded only now, because a server without them needs no price list."""
    with requires("studio", "--judge"):
        from rubrica.judges.jury import Jury
    return Jury(names, public=True)


def url_of(host: str, port: int) -> str:
    """The address to open in a browser.

    >>> url_of("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _banner(url: str, settings: ServerSettings, *, keyed: bool, lack: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    hint = f"none: everybody on this machine is an admin ({_first_key(settings.database)})"
    keys = "required" if keyed else hint
    judges = ", ".join(settings.judges) or "none: judged dimensions use their offline scorer (--judge MODEL)"
    rows = {
        "serving": url,
        "studio": lack or url,
        "docs": f"{url}/docs",
        "database": address(settings.database).shown,
        "keys": keys,
    }
    spending = settings.spending
    daily = [
        f"${usd:g} a day {whose}"
        for usd, whose in ((spending.usd_per_day, "each user"), (spending.usd_per_day_total, "all together"))
        if usd is not None
    ]
    limits = ", ".join([f"{spending.max_calls:,} calls a request", *daily])
    council = ", ".join(settings.council) if len(settings.council) > 1 else "none (--model A --model B)"
    for name, value in {**rows, "judge": judges, "council": council, "limits": limits, "stop": "Ctrl+C"}.items():
        table.add_row(name, Text(safe(value)))
    return table


def _first_key(place: str) -> str:
    """The command that ends the time without keys, for this database."""
    file = address(place).file
    where = "" if place == DEFAULT_DATABASE else f" --db {shlex.quote(str(file)) if file is not None else 'URL'}"
    return f"{program()} keys create --role admin{where}"


def size_of(text: str) -> int:
    """Bytes, written as people do.

    >>> size_of("2MB"), size_of("500 kB"), size_of("64000")
    (2000000, 500000, 64000)
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * _UNITS[(found[2] or "").lower().removesuffix("b")] if found else 0
    if not LEAST_BODY <= size <= MOST_BODY:
        raise typer.BadParameter(f"{text!r} is no size from 1kB to 100MB (write 500kB or 2MB)", param_hint="--max-body")
    return size
