"""``rubrica serve``: the REST API and the studio on this machine, or for others once there are keys."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.extras import MissingExtraError, requires
from rubrica.llm.budget import load_price
from rubrica.llm.model import Usage
from rubrica.runs.objects.address import is_address
from rubrica.server.listening import listen, refuse_others, reserve
from rubrica.server.proxies import networks_of
from rubrica.server.settings import ServerSettings
from rubrica.server.sign_in import is_loopback
from rubrica.store.address import address
from rubrica.store.database import Database
from rubrica.store.keys import any_key
from rubrica.store.serving import sole_server
from rubrica.store.upgrade import upgrade
from rubrica.workspace.run_places import place_of
from rubrica.workspace.spending import MAX_CALLS, SpendingPolicy

from .db import DEFAULT_DATABASE, DatabasePlace
from .judge_options import Judges, Offline, judge_names, split_list
from .options import MODELS, TrustedProxy
from .screen import out, program, safe
from .serve_workers import ServedApplication, check_installed, serve_application, studio_lack

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

HOME = "runs"
LEAST_BODY, MOST_BODY = 1_000, 100_000_000
SPENDING = "Spending"
_SIZE = re.compile(r"(\d{1,12})\s*(k|kb|m|mb)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}

Host = Annotated[str, typer.Option("--host", help="Where to listen; others than this machine need keys first.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
MaxBody = Annotated[str, typer.Option("--max-body", metavar="SIZE", help="Most bytes of a request, such as 500kB.")]
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--runs",
        metavar="DIR|URL",
        envvar="RUBRICA_RUNS",
        show_envvar=False,
        help="Where runs lie, or `rubrica run -o DIR/NAME` put them: a folder, or s3://BUCKET/runs; repeat it. Runs "
        "are started in the first folder unless another place is asked for. Left out: RUBRICA_RUNS, or runs.",
    ),
]
OwnRuns = Annotated[
    int,
    typer.Option(
        "--run-jobs",
        metavar="COUNT",
        min=0,
        max=64,
        help="Runs that this server executes at once; 0: leave them to `rubrica worker` (PostgreSQL).",
    ),
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
Workers = Annotated[
    int,
    typer.Option("--workers", min=1, max=64, help="Processes that share the work on one port (PostgreSQL, Linux)."),
]
NoStudio = Annotated[bool, typer.Option("--no-studio", help="Serve the API alone, without pages.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica serve
  rubrica serve --db postgresql://ann@db.example/rubrica --judge anthropic:claude-haiku-4-5
  rubrica serve --model openai:gpt-4o-mini --model anthropic:claude-haiku-4-5
  rubrica keys create --role admin
  rubrica serve --host 0.0.0.0 --port 80

The database is created or upgraded at the start, with the bundled rubrics.
Without keys the server serves its own machine, and everybody there is an admin."""


@app.command(epilog=EXAMPLES)
def serve(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    place: DatabasePlace = DEFAULT_DATABASE,
    judge: Judges = None,
    offline: Offline = False,
    max_body: MaxBody = "2MB",
    runs: Runs = None,
    run_jobs: OwnRuns = 2,
    models: Models = None,
    max_calls: MaxCalls = MAX_CALLS,
    usd_per_day: PerUser = None,
    usd_per_day_total: Total = None,
    trusted_proxy: TrustedProxy = None,
    private_webhooks: PrivateWebhooks = False,
    no_studio: NoStudio = False,
    workers: Workers = 1,
) -> None:
    """Serve the studio, and rubrics, games and scores over a REST API.

    It ends with Ctrl+C, once the requests under way are answered.
    """
    judges = tuple(judge_names(judge, offline=offline))
    council = tuple(split_list(models)) or judges
    policy = SpendingPolicy(max_calls, usd_per_day, usd_per_day_total)
    _check_prices((*judges, *council), policy)
    home, more_runs = run_places(runs or ())
    settings = ServerSettings(
        place,
        judges,
        size_of(max_body),
        spending=policy,
        runs=home,
        more_runs=more_runs,
        council=council,
        private_webhooks=private_webhooks,
        run_jobs=run_jobs,
        queued_runs=_queues_runs(place, run_jobs, workers),
    )
    keyed = asyncio.run(_prepared(place))
    if not keyed and not is_loopback(host):
        raise RubricaError(
            f"{host}: without keys everybody is an admin, so only this machine can be served "
            f"({_first_key(place)} makes the first key; or leave out --host)"
        )
    lack = "left out" if no_studio else studio_lack()
    served = ServedApplication(settings, networks_of(trusted_proxy or ()), lack)
    with sole_server(place, "serve"), (listen if workers == 1 else reserve)(host, port) as listening:
        if not keyed:
            refuse_others(listening)
        banner = _banner(url_of(host, listening.getsockname()[1]), settings, keyed=keyed, lack=lack)
        if workers > 1:
            banner.add_row("workers", f"{workers}; one of them draws the pages" if not lack else str(workers))
        if not serve_application(served, workers, listening, lambda: out().print(banner)):
            raise typer.Exit(1)  # uvicorn has told why


def run_places(named: Sequence[str]) -> tuple[Path, tuple[str, ...]]:
    """The folder in which runs are started, and the other places whose runs are shown.

    >>> run_places(["s3://data/runs", "here", "there"])
    (PosixPath('here'), ('s3://data/runs', 'there'))
    """
    places = list(dict.fromkeys(named))
    home = next((place for place in places if not is_address(place)), HOME)
    others = tuple(place for place in places if place != home)
    for place in others:
        place_of(place)  # refuses an address that can hold no runs
    return Path(home), others


def _queues_runs(place: str, run_jobs: int, workers: int) -> bool:
    """Whether runs wait in the database for a worker. On SQLite, or without the extra, this process is the only one."""
    wanted = "--run-jobs 0" if not run_jobs else "--workers" if workers > 1 else ""
    if address(place).file is not None:
        if wanted:
            raise RubricaError(
                f"{wanted}: a SQLite file has one process that serves it "
                "(use PostgreSQL: --db postgresql://USER:PASSWORD@HOST/NAME)"
            )
        return False
    try:
        with requires("queue", wanted):
            check_installed("procrastinate")
            check_installed("psycopg")
    except MissingExtraError:
        if wanted:
            raise
        return False
    return True


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


async def _prepared(place: str) -> bool:
    """Upgrade the database; whether there are keys. What is wrong with it is told before anything is served."""
    await upgrade(place)
    async with Database.open(place) as database:
        return await database.read(any_key)


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
    rows["runs"] = _runs_text(settings)
    for name, value in {**rows, "judge": judges, "council": council, "limits": limits, "stop": "Ctrl+C"}.items():
        table.add_row(name, Text(safe(value)))
    return table


def _runs_text(settings: ServerSettings) -> str:
    where = f"in {settings.runs}, from the database" if settings.queued_runs else f"in {settings.runs}"
    told = f"{settings.run_jobs} at once {where}" if settings.run_jobs else f"by rubrica worker {where}"
    told += ", and by rubrica worker" if settings.run_jobs and settings.queued_runs else ""
    return told + (f"; shown from {', '.join(settings.more_runs)} too" if settings.more_runs else "")


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
