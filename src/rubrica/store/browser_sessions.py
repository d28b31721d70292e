"""Sessions of browsers. The token of one is kept as its digest, as a key is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from .queue_tables import browser_sessions

MOST_OF_A_KEY = 200
"""Sessions of one key, beyond which the one that was used longest ago ends."""
_session = browser_sessions.c


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A session, and when it was last used."""

    key_digest: bytes
    used_at: datetime


def put_session(conn: Connection, token: bytes, key_digest: bytes, now: datetime) -> None:
    """Begin a session."""
    own = select(_session.token).where(_session.key_digest == key_digest).order_by(_session.used_at.desc())
    oldest = own.offset(MOST_OF_A_KEY - 1).limit(1_000).scalar_subquery()
    conn.execute(delete(browser_sessions).where(_session.token.in_(oldest)))
    conn.execute(insert(browser_sessions).values(token=token, key_digest=key_digest, used_at=now))


def find_session(conn: Connection, token: bytes) -> BrowserSession | None:
    row = conn.execute(select(_session.key_digest, _session.used_at).where(_session.token == token)).one_or_none()
    return None if row is None else BrowserSession(bytes(row.key_digest), row.used_at)


def touch_session(conn: Connection, token: bytes, now: datetime) -> None:
    """Say that a session was used."""
    conn.execute(update(browser_sessions).where(_session.token == token).values(used_at=now))


def drop_session(conn: Connection, token: bytes) -> None:
    conn.execute(delete(browser_sessions).where(_session.token == token))


def forget_sessions(conn: Connection, before: datetime) -> None:
    """Drop those that were last used before some time."""
    conn.execute(delete(browser_sessions).where(_session.used_at < before))
