"""Who may see and change a session of the council.

A session belongs to whoever asked. Its owner and admins see it; for everybody else it does not exist. Stopping and
deleting it takes the role author, as asking does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, MissingError
from rubrica.store import council_sessions as store
from rubrica.store.council_sessions import SessionEnd, SessionLine, StoredEvent, StoredSession

from . import webhooks
from .access import Caller, require

MOST_AUDITED = 500
"""Finished sessions that one audit reads: the latest."""
INTERRUPTED = (
    "the server ended before the session did; what had arrived is kept, and what was under way is lost (ask again)"
)


@dataclass(frozen=True, slots=True)
class SessionNews:
    """How far a session is, and what happened in it after an event."""

    line: SessionLine
    events: Sequence[StoredEvent]


def missing_session(name: object) -> MissingError:
    """What is told of a session that is not there, or not there for whoever asks."""
    return MissingError(f"there is no council session {str(name)[:100]!r}, or it is not yours to see")


def session_id_of(text: str) -> UUID:
    """The id that a path names."""
    try:
        return UUID(text)
    except ValueError:
        raise missing_session(text) from None


def open_session(conn: Connection, caller: Caller, session_id: UUID) -> StoredSession:
    """A session with what was asked and what it came to."""
    found = store.get_session(conn, session_id)
    if found is None or not _may_read(caller, found.line):
        raise missing_session(session_id)
    return found


def session_with_events(conn: Connection, caller: Caller, session_id: UUID) -> tuple[StoredSession, list[StoredEvent]]:
    """A session with all its events."""
    return open_session(conn, caller, session_id), store.events_after(conn, session_id, 0)


def session_news(conn: Connection, caller: Caller, session_id: UUID, after: int = 0) -> SessionNews:
    """How far a session is, and its events after one of them."""
    line = store.session_line(conn, session_id)
    if line is None or not _may_read(caller, line):
        raise missing_session(session_id)
    return SessionNews(line, store.events_after(conn, session_id, after))


def own_sessions(conn: Connection, caller: Caller, before: UUID | None, limit: int) -> list[SessionLine]:
    """The sessions that a caller may see, the latest first."""
    return store.list_sessions(conn, None if caller.is_admin else caller.user_id, before, limit)


def audited_results(conn: Connection, caller: Caller) -> list[Mapping[str, Any]]:
    """What the caller's own finished sessions came to; for an admin everybody's."""
    return store.finished_results(conn, None if caller.is_admin else caller.user_id, MOST_AUDITED)


def change_session(conn: Connection, caller: Caller, session_id: UUID, doing: str) -> SessionLine:
    """Refuse to change a session that is not the caller's; `doing` says what."""
    found = store.session_line(conn, session_id)
    if found is None or not _may_read(caller, found):
        raise missing_session(session_id)
    require(caller, "author", doing)
    return found


def forget_session(conn: Connection, caller: Caller, session_id: UUID) -> None:
    """Delete a session that has ended."""
    if change_session(conn, caller, session_id, "deleting a council session").state == "running":
        raise ConflictError("the session is under way (stop it first)")
    store.delete_session(conn, session_id)


def conclude_session(conn: Connection, line: SessionLine, end: SessionEnd) -> None:
    """Keep how a session ended, and tell whoever wants to be told."""
    if not store.end_session(conn, line.id, end):
        return  # it was found to be interrupted while its server could not write
    kind: webhooks.EventName = "council.finished" if end.state == "finished" else "council.failed"
    now = end.event.created_at
    payload = {
        "id": str(line.id),
        "path": f"/api/council/sessions/{line.id}",
        "state": end.state,
        "title": line.title,
        "usd": end.usd,
        # when a session was interrupted is not known, only when that was found
        "seconds": None if end.state == "interrupted" else round((now - line.created_at).total_seconds(), 3),
    }
    webhooks.announce(conn, line.owner_id, kind, payload, now)


def interrupt_sessions(
    conn: Connection, now: datetime, *, everything: bool = False, held: Collection[UUID] = ()
) -> None:
    """End the sessions that no server holds any more. `everything`: there is no other server, and this one holds
    only those that are `held`."""
    for line in store.abandoned_sessions(conn, now, everything=everything):
        if line.id not in held:
            conclude_session(conn, line, interruption(store.last_number(conn, line.id) + 1, now))


def interruption(number: int, now: datetime) -> SessionEnd:
    """The end of a session whose server ended."""
    problem = {"type": "urn:rubrica:problem:interrupted", "title": "Interrupted", "detail": INTERRUPTED}
    return SessionEnd("interrupted", StoredEvent(number, "error", problem, now))


def numbered(end: SessionEnd, number: int) -> SessionEnd:
    """An end whose event stands in its place."""
    return replace(end, event=replace(end.event, number=number))


def _may_read(caller: Caller, line: SessionLine) -> bool:
    return caller.is_admin or caller.owns(line.owner_id)
