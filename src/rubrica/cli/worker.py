"""``rubrica worker``: works off runs that servers on the same PostgreSQL database were asked for."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.server.service import utc_now
from rubrica.store.address import address
from rubrica.store.database import Database
from rubrica.store.queue_schema import upgrade_queue
from rubrica.store.upgrade import upgrade
from rubrica.workspace.run_queue import TIMES, WorkerTimes, serve_queue, worker_name
from rubrica.workspace.run_worker import RunWorker

from .db import DEFAULT_DATABASE, DatabasePlace
from .screen import out, safe
from .serve import run_places

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Runs executed at once.")]
Places = Annotated[
    list[str] | None,
    typer.Option(
        "--folder",
        metavar="DIR|URL",
        help="The folder of runs of the servers (their --runs), on a shared disk; repeat it for their object stores. "
        "Left out: runs.",
    ),
]
Stalled = Annotated[
    float,
    typer.Option(
        "--stalled-after",
        metavar="SECONDS",
        min=1.0,
        max=3600.0,
        help="A worker that is silent for this long counts as dead, and others take over its runs.",
    ),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica worker --db postgresql://ann@db.example/rubrica
  rubrica worker --db postgresql://ann@db.example/rubrica --folder /srv/runs --jobs 4
  rubrica worker --db postgresql://ann@db.example/rubrica --folder /srv/runs --folder s3://bucket/runs

The judges of a run are those of the server that was asked for it; their keys come
from this process's environment. SIGTERM and Ctrl+C hand runs back to others."""


@app.command(epilog=EXAMPLES)
def worker(
    place: DatabasePlace = DEFAULT_DATABASE,
    jobs: Jobs = 2,
    places: Places = None,
    stalled_after: Stalled = TIMES.stalled,
) -> None:
    """Execute the runs of servers that share a PostgreSQL database.

    They were started in the studio or by POST /api/runs. Any number of workers on any machines share them.
    """
    if address(place).file is not None:
        raise RubricaError(
            f"{address(place).shown}: a SQLite file has one server, which works its runs off itself "
            "(workers need --db postgresql://USER:PASSWORD@HOST/NAME)"
        )
    folder, more_runs = run_places(places or ())
    if not folder.is_dir():
        raise RubricaError(f"{folder}: there is no such folder (--folder names the folder of runs of the servers)")
    times = WorkerTimes(
        heartbeat=min(TIMES.heartbeat, stalled_after / 4),
        stalled=stalled_after,
        look=min(TIMES.look, stalled_after / 2),
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(_work(place, (folder, more_runs), jobs, times))


async def _work(place: str, runs: tuple[Path, tuple[str, ...]], jobs: int, times: WorkerTimes) -> None:
    await upgrade(place)
    await upgrade_queue(place)
    async with Database.open(place) as database:
        own = RunWorker(database, runs[0], utc_now, worker_name(), jobs, more_runs=runs[1])
        serving = asyncio.create_task(serve_queue(place, own, times))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, serving.cancel)
        out().print(_banner(place, ", ".join((str(runs[0]), *runs[1])), jobs))
        with suppress(asyncio.CancelledError):
            await serving


def _banner(place: str, runs: str, jobs: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "worker": worker_name(),
        "database": address(place).shown,
        "runs": runs,
        "at once": str(jobs),
        "stop": "Ctrl+C; others go on with what is under way",
    }
    for name, value in rows.items():
        table.add_row(name, Text(safe(value)))
    return table
