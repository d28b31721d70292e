"""Council sessions and their events. Who may see them is decided in `workspace.council_sessions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from .session_tables import council_events, council_sessions
from .tables import users

SessionState = Literal["running", "finished", "failed", "stopped", "interrupted"]
"""stopped: by whoever may. failed: its last event says why. interrupted: its server ended before it did."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session as a list shows it."""

    id: UUID
    owner_id: UUID
    owner: str
    state: SessionState
    title: str
    usd: float | None
    created_at: datetime
    ended_at: datetime | None
    held_until: datetime


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with what was asked and what it came to."""

    line: SessionLine
    request: Mapping[str, Any]
    result: Mapping[str, Any] | None  # as the API gives it
    record: Mapping[str, Any] | None  # as the version of Rubrica that held it reads it back


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of a session."""

    number: int
    name: str
    data: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended; the last event tells it."""

    state: SessionState
    event: StoredEvent
    result: Mapping[str, Any] | None = None
    record: Mapping[str, Any] | None = None
    usd: float | None = None


_LINE = (
    council_sessions.c.id,
    council_sessions.c.owner_id,
    users.c.name,
    council_sessions.c.state,
    council_sessions.c.title,
    council_sessions.c.usd,
    council_sessions.c.created_at,
    council_sessions.c.ended_at,
    council_sessions.c.held_until,
)
_WITH_OWNER = council_sessions.join(users, users.c.id == council_sessions.c.owner_id)


def add_session(conn: Connection, line: SessionLine, request: Mapping[str, Any]) -> None:
    """Keep a session that begins."""
    values = {name: getattr(line, name) for name in SessionLine.__dataclass_fields__ if name != "owner"}
    conn.execute(insert(council_sessions).values(values | {"request": dict(request)}))


def session_line(conn: Connection, session_id: UUID) -> SessionLine | None:
    """A session without its texts."""
    row = conn.execute(select(*_LINE).select_from(_WITH_OWNER).where(council_sessions.c.id == session_id)).one_or_none()
    return None if row is None else SessionLine(*row)


def get_session(conn: Connection, session_id: UUID) -> StoredSession | None:
    """A session with what was asked and what it came to."""
    texts = (council_sessions.c.request, council_sessions.c.result, council_sessions.c.record)
    query = select(*_LINE, *texts).select_from(_WITH_OWNER).where(council_sessions.c.id == session_id)
    row = conn.execute(query).one_or_none()
    return None if row is None else StoredSession(SessionLine(*row[: len(_LINE)]), *row[len(_LINE) :])


def list_sessions(conn: Connection, owner_id: UUID | None, before: UUID | None, limit: int) -> list[SessionLine]:
    """The sessions of a user, the latest first; for None everybody's."""
    query = select(*_LINE).select_from(_WITH_OWNER).order_by(council_sessions.c.id.desc()).limit(limit)
    if owner_id is not None:
        query = query.where(council_sessions.c.owner_id == owner_id)
    if before is not None:
        query = query.where(council_sessions.c.id < before)
    return [SessionLine(*row) for row in conn.execute(query)]


def finished_results(conn: Connection, owner_id: UUID | None, limit: int) -> list[Mapping[str, Any]]:
    """What the latest finished sessions of a user came to; for None everybody's."""
    query = (
        select(council_sessions.c.result)
        .where(council_sessions.c.state == "finished", council_sessions.c.result.is_not(None))
        .order_by(council_sessions.c.id.desc())
        .limit(limit)
    )
    if owner_id is not None:
        query = query.where(council_sessions.c.owner_id == owner_id)
    return list(conn.scalars(query))


def add_events(conn: Connection, session_id: UUID, events: Sequence[StoredEvent], held_until: datetime) -> None:
    """Keep events of a session that is under way, and that it is."""
    if events:
        conn.execute(insert(council_events), [_event_row(session_id, event) for event in events])
    extend_session(conn, session_id, held_until)


def extend_session(conn: Connection, session_id: UUID, held_until: datetime) -> None:
    """Say that a session is still under way."""
    own = council_sessions.c.id == session_id
    conn.execute(update(council_sessions).where(own).values(held_until=held_until))


def end_session(conn: Connection, session_id: UUID, end: SessionEnd) -> bool:
    """Keep how a session ended, with its last event; whether it was still running."""
    row = council_sessions.c
    values = {
        "state": end.state,
        "result": end.result,
        "record": end.record,
        "usd": end.usd,
        "ended_at": end.event.created_at,
    }
    ended = conn.execute(update(council_sessions).where(row.id == session_id, row.state == "running").values(values))
    if ended.rowcount:
        conn.execute(insert(council_events).values(_event_row(session_id, end.event)))
    return bool(ended.rowcount)


def events_after(conn: Connection, session_id: UUID, number: int) -> list[StoredEvent]:
    """The events of a session after one."""
    row = council_events.c
    query = (
        select(row.number, row.name, row.data, row.created_at)
        .where(row.session_id == session_id, row.number > number)
        .order_by(row.number)
    )
    return [StoredEvent(*found) for found in conn.execute(query)]


def last_number(conn: Connection, session_id: UUID) -> int:
    """The number of the last event of a session; 0: it has none."""
    found = conn.scalar(select(func.max(council_events.c.number)).where(council_events.c.session_id == session_id))
    return found or 0


def abandoned_sessions(conn: Connection, now: datetime, *, everything: bool) -> list[SessionLine]:
    """Sessions that are running, and that no server holds any more. `everything`: there is no other server."""
    gone: list[ColumnElement[bool]] = [council_sessions.c.state == "running"]
    if not everything:
        gone.append(council_sessions.c.held_until < now)
    return [SessionLine(*row) for row in conn.execute(select(*_LINE).select_from(_WITH_OWNER).where(*gone))]


def delete_session(conn: Connection, session_id: UUID) -> None:
    """Forget a session with all its events."""
    conn.execute(delete(council_events).where(council_events.c.session_id == session_id))
    conn.execute(delete(council_sessions).where(council_sessions.c.id == session_id))


def _event_row(session_id: UUID, event: StoredEvent) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "number": event.number,
        "name": event.name,
        "data": dict(event.data),
        "created_at": event.created_at,
    }
