"""Replies to requests that carried an idempotency key: reserved before the work, written with its effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from rubrica.errors import ConflictError

from .tables import replies

KEPT = timedelta(hours=24)
"""How long a reply is given again."""

ABANDONED = timedelta(seconds=15)
"""A reservation that nobody has renewed for so long is of a server that is gone; the next request takes it over. Were
that server only slow, its effect would be undone where it writes its reply."""


@dataclass(frozen=True, slots=True)
class IdempotencySlot:
    """One request's claim to an idempotency key."""

    user_id: UUID
    key: str
    request: bytes  # digest of what was asked
    holder: UUID  # of this attempt


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A kept reply, or, without a status, a request still under way."""

    request: bytes
    status: int | None
    headers: Mapping[str, str]
    body: bytes


def reserve(conn: Connection, slot: IdempotencySlot, now: datetime) -> StoredReply | None:
    """Claim a key. None: it is ours now. Otherwise what it already stands for, whether done or under way."""
    row = conn.execute(select(replies).where(_key(slot)).with_for_update()).one_or_none()
    fresh = {"request": slot.request, "holder": slot.holder, "status": None, "headers": {}, "body": None}
    if row is None:
        try:
            with conn.begin_nested():
                conn.execute(insert(replies).values(user_id=slot.user_id, key=slot.key, created_at=now, **fresh))
        except IntegrityError:  # another server was quicker by a moment
            return StoredReply(slot.request, None, {}, b"")
        return None
    lifetime = ABANDONED if row.status is None else KEPT
    ahead = now + lifetime  # a clock that was set back is no reason to wait for who is gone
    if now - lifetime < row.created_at < ahead:
        return StoredReply(row.request, row.status, row.headers, row.body or b"")
    conn.execute(update(replies).where(_key(slot)).values(created_at=now, **fresh))
    return None


def renew(conn: Connection, slot: IdempotencySlot, now: datetime) -> None:
    """Say that the work is still going on."""
    conn.execute(update(replies).where(_slot_condition(slot)).values(created_at=now))


def save_reply(
    conn: Connection, slot: IdempotencySlot, status: int, headers: Mapping[str, str], body: bytes, now: datetime
) -> None:
    """Write the reply. Whoever has lost the key to another attempt fails here, and with it the effect is undone."""
    written = conn.execute(
        update(replies)
        .where(_slot_condition(slot))
        .values(status=status, headers=dict(headers), body=body, created_at=now)
    )
    if written.rowcount != 1:
        raise ConflictError("another request with this Idempotency-Key took over (send it again for its reply)")


def release(conn: Connection, slot: IdempotencySlot) -> None:
    """Let go of a key whose request came to nothing."""
    conn.execute(delete(replies).where(_slot_condition(slot)))


def forget(conn: Connection, now: datetime) -> int:
    """Drop what is too old to be asked for; returns how many."""
    old = or_(
        replies.c.created_at <= now - KEPT,
        and_(replies.c.status.is_(None), replies.c.created_at <= now - ABANDONED),
    )
    return conn.execute(delete(replies).where(old)).rowcount


def _key(slot: IdempotencySlot) -> ColumnElement[bool]:
    return and_(replies.c.user_id == slot.user_id, replies.c.key == slot.key)


def _slot_condition(slot: IdempotencySlot) -> ColumnElement[bool]:
    return and_(_key(slot), replies.c.holder == slot.holder, replies.c.status.is_(None))
