"""Runs that are handed to workers: which waits, which is with whom and how far, and which shall stop.

The jobs themselves are procrastinate's, in the same database; a run and its job are queued in one transaction. What is
kept here is what servers show, and what workers and servers tell each other. PostgreSQL only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, and_, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from .queue_tables import run_queue

QUEUE, TASK = "rubrica-runs", "rubrica.run"
"""The names under which procrastinate keeps our jobs."""
HELD = timedelta(seconds=15)
"""A run of which nothing was heard for so long is shown as waiting: its worker is gone."""
LONGEST_NOTE = 500

QueueState = Literal["waiting", "running", "ended"]
_row = run_queue.c
_DEFER = text(
    "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(CAST(:queue AS varchar), CAST(:task AS varchar), "
    "CAST(:priority AS integer), CAST(:lock AS text), NULL, CAST(:args AS jsonb), NULL)"
    "::procrastinate_job_to_defer_v1])"
)


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run that was queued, as it is now."""

    run: str
    run_id: str
    owner_id: UUID
    payer: Mapping[str, Any]
    ticket: int
    attempt: int
    state: QueueState
    stopping: bool
    worker: str
    done: int
    expected: int | None
    broken: int
    usd: float | None
    note: str
    queued_at: datetime
    held_until: datetime | None

    def public_state(self, now: datetime) -> Literal["waiting", "running"] | None:
        """How whoever asks is told it is; None where it has ended, and its folder says how."""
        if self.state == "ended":
            return None
        held = self.held_until is not None and now <= self.held_until
        return "running" if self.state == "running" and held else "waiting"


_COLUMNS = tuple(_row[name] for name in QueuedRun.__dataclass_fields__)


def queued_run(conn: Connection, run: str, run_id: str) -> QueuedRun | None:
    """A run that waits for a worker or is with one, or was."""
    row = conn.execute(select(*_COLUMNS).where(_row.run == run, _row.run_id == run_id)).one_or_none()
    return None if row is None else QueuedRun(*row)


def open_runs(conn: Connection) -> list[QueuedRun]:
    """All that have not ended."""
    return [QueuedRun(*row) for row in conn.execute(select(*_COLUMNS).where(_row.state != "ended"))]


def open_runs_of(conn: Connection, owner_id: UUID) -> int:
    """How many of somebody's runs have not ended."""
    own = select(func.count()).where(_row.owner_id == owner_id, _row.state != "ended")
    return int(conn.scalar(own) or 0)


def queue_run(conn: Connection, run: str, run_id: str, owner_id: UUID, payer: Mapping[str, Any], now: datetime) -> None:
    """Let a run wait for a worker. An owner's runs are worked off one after the other, and whoever has fewer of them
    comes first."""
    ahead = open_runs_of(conn, owner_id)
    new = {
        "run_id": run_id, "owner_id": owner_id, "payer": dict(payer), "attempt": 0, "state": "waiting",
        "stopping": False, "worker": "", "done": 0, "expected": None, "broken": 0, "usd": None, "note": "",
        "queued_at": now, "held_until": None,
    }  # fmt: skip
    put = insert(run_queue).values(run=run, ticket=1, **new)
    again = put.on_conflict_do_update(index_elements=[_row.run], set_={**new, "ticket": _row.ticket + 1})
    ticket = conn.execute(again.returning(_row.ticket)).scalar_one()
    job = {"run": run, "ticket": ticket}
    asked = {"queue": QUEUE, "task": TASK, "priority": -ahead, "lock": f"rubrica-owner-{owner_id}"}
    conn.execute(_DEFER, {**asked, "args": json.dumps(job)})


def take_run(conn: Connection, run: str, ticket: int, worker: str, now: datetime) -> QueuedRun | None:
    """Take a run that waits, or whose worker is gone; None where it was cancelled or queued anew meanwhile."""
    mine = and_(_row.run == run, _row.ticket == ticket, _row.state != "ended")
    taken = {"state": "running", "attempt": _row.attempt + 1, "worker": worker[:200], "note": ""}
    row = conn.execute(
        update(run_queue).where(mine).values(**taken, held_until=now + HELD).returning(*_COLUMNS)
    ).one_or_none()
    return None if row is None else QueuedRun(*row)


def advance_run(conn: Connection, held: QueuedRun, figures: Mapping[str, Any], now: datetime) -> bool | None:
    """Say how far a run is; whether it shall stop. None: somebody else has it now."""
    advanced = update(run_queue).where(_held(held)).values(**figures, held_until=now + HELD)
    return conn.execute(advanced.returning(_row.stopping)).scalar_one_or_none()


def end_run(conn: Connection, held: QueuedRun, figures: Mapping[str, Any]) -> bool:
    """Say that a run has ended; whether it was still ours."""
    ended = update(run_queue).where(_held(held)).values(**figures, state="ended", held_until=None)
    return conn.execute(ended).rowcount == 1


def give_back(conn: Connection, held: QueuedRun, note: str, figures: Mapping[str, Any]) -> None:
    """Let a run wait for another worker."""
    waiting = {"state": "waiting", "held_until": None, "note": note[:LONGEST_NOTE]}
    conn.execute(update(run_queue).where(_held(held)).values(**figures, **waiting))


def cancel_run(conn: Connection, run: str, run_id: str, now: datetime) -> QueueState | None:
    """Ask for the end of a run: one that waits ends at once, one that is with a worker when that hears of it. How it
    was; None where it had ended, or was never queued."""
    here = select(_row.state, _row.held_until).where(_row.run == run, _row.run_id == run_id)
    row = conn.execute(here.where(_row.state != "ended").with_for_update()).one_or_none()
    if row is None:
        return None
    waits = row.state == "waiting" or row.held_until is None or row.held_until < now
    change: dict[str, Any] = {"state": "ended", "held_until": None} if waits else {"stopping": True}
    conn.execute(update(run_queue).where(_row.run == run).values(change))
    return "waiting" if waits else "running"


def _held(held: QueuedRun) -> ColumnElement[bool]:
    same = and_(_row.ticket == held.ticket, _row.attempt == held.attempt, _row.state == "running")
    return and_(_row.run == held.run, same)
