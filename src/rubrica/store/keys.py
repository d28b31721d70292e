"""API keys. The key itself is kept nowhere: it is found again by its digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Select, insert, select, update

from .tables import api_keys, users


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key."""

    id: UUID
    user_id: UUID
    user: str
    role: str
    label: str
    prefix: str  # its first characters
    per_minute: int  # requests
    created_at: datetime
    usd_per_day: float | None = None  # that it may have the server spend; None: no limit of its own
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


def add_key(conn: Connection, key: Key, digest: bytes) -> None:
    """Keep a new key."""
    conn.execute(
        insert(api_keys).values(
            id=key.id,
            user_id=key.user_id,
            role=key.role,
            label=key.label,
            prefix=key.prefix,
            digest=digest,
            per_minute=key.per_minute,
            usd_per_day=key.usd_per_day,
            created_at=key.created_at,
        )
    )


def find_key(conn: Connection, digest: bytes) -> Key | None:
    """The key of a digest, revoked or not."""
    return _one(conn, _keys().where(api_keys.c.digest == digest))


def get_key(conn: Connection, key_id: UUID) -> Key | None:
    """The key of an id, revoked or not."""
    return _one(conn, _keys().where(api_keys.c.id == key_id))


def keys_like(conn: Connection, prefix: str) -> Sequence[Key]:
    """The keys, not revoked, whose shown beginning starts so."""
    rows = conn.execute(
        _keys()
        .where(api_keys.c.prefix.startswith(prefix, autoescape=True), api_keys.c.revoked_at.is_(None))
        .order_by(api_keys.c.id)
    )
    return [Key(**row._mapping) for row in rows if row.prefix.startswith(prefix)]  # SQLite's LIKE ignores case


def list_keys(
    conn: Connection, *, user_id: UUID | None = None, after: UUID | None = None, limit: int = 100
) -> Sequence[Key]:
    """Keys in the order they were made, of one user or of all, revoked ones too."""
    query = _keys().order_by(api_keys.c.id).limit(limit)
    if user_id is not None:
        query = query.where(api_keys.c.user_id == user_id)
    if after is not None:
        query = query.where(api_keys.c.id > after)
    return [Key(**row._mapping) for row in conn.execute(query)]


def any_key(conn: Connection) -> bool:
    """Whether there ever was a key. Revoked ones count: revoking the last one opens no door."""
    return conn.execute(select(api_keys.c.id).limit(1)).first() is not None


def revoke_key(conn: Connection, key_id: UUID, now: datetime) -> None:
    """End a key. A key that has ended keeps the time when it did."""
    conn.execute(
        update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None)).values(revoked_at=now)
    )


def limit_spending(conn: Connection, key_id: UUID, usd_per_day: float | None) -> None:
    """Set what a key may have the server spend in a day."""
    conn.execute(update(api_keys).where(api_keys.c.id == key_id).values(usd_per_day=usd_per_day))


def touch_key(conn: Connection, key_id: UUID, now: datetime) -> None:
    """Note when a key was last used."""
    conn.execute(update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=now))


def _keys() -> Select[*tuple[object, ...]]:
    return select(
        api_keys.c.id,
        api_keys.c.user_id,
        users.c.name.label("user"),
        api_keys.c.role,
        api_keys.c.label,
        api_keys.c.prefix,
        api_keys.c.per_minute,
        api_keys.c.usd_per_day,
        api_keys.c.created_at,
        api_keys.c.last_used_at,
        api_keys.c.revoked_at,
    ).join_from(api_keys, users)


def _one(conn: Connection, query: Select[*tuple[object, ...]]) -> Key | None:
    row = conn.execute(query).one_or_none()
    return None if row is None else Key(**row._mapping)
