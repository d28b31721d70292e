"""What webhooks are told when a run has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection

from rubrica.errors import StoreError
from rubrica.store.database import Database
from rubrica.store.run_access import access_of

from . import webhooks
from .run_jobs import RunProgress

LOG = logging.getLogger("rubrica.server")
WATCHED = 0.25
"""Seconds between two looks whether a run is still running: it is executed in a thread of its own."""


async def announce_run_end(
    database: Database, run_progress: RunProgress, clock: Callable[[], datetime], then: Callable[[], None]
) -> None:
    """Wait for the end of a run, put it into the queues of its owner's webhooks, and call `then`."""
    while run_progress.state == "running":
        await asyncio.sleep(WATCHED)
    try:
        await database.write(announce_end, run_progress, clock())
    except StoreError as error:
        LOG.warning("webhooks are not told of the end of %s: %s", run_progress.job.folder.name, error)
    then()


def announce_end(conn: Connection, run_progress: RunProgress, now: datetime) -> None:
    """Put the end of a run into the queues of its owner's webhooks."""
    name = run_progress.job.folder.name
    access = access_of(conn, name)
    if access is None or access.run_id != run_progress.job.id:
        return
    rubric = run_progress.job.rubric
    payload = {
        "name": name,
        "path": f"/api/runs/{name}",
        "state": run_progress.state,
        "rubric": rubric.reference,
        "evaluations": run_progress.done,
        "usd": None if run_progress.cost is None else run_progress.cost.usd,
    }
    kind: webhooks.EventName = "run.finished" if run_progress.state == "finished" else "run.failed"
    webhooks.announce(conn, access.owner_id, kind, payload, now)
