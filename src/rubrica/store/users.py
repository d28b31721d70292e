"""People, by name. A user is whoever some keys belong to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from .columns import new_id
from .tables import users


@dataclass(frozen=True, slots=True)
class User:
    id: UUID
    name: str
    created_at: datetime


def find_user(conn: Connection, name: str) -> User | None:
    """The user of a name."""
    row = conn.execute(select(users).where(users.c.name == name)).one_or_none()
    return None if row is None else User(**row._mapping)


def get_user(conn: Connection, user_id: UUID) -> User | None:
    """The user of an id."""
    row = conn.execute(select(users).where(users.c.id == user_id)).one_or_none()
    return None if row is None else User(**row._mapping)


def ensure_user(conn: Connection, name: str, now: datetime) -> User:
    """The user of a name, made if there is none."""
    found = find_user(conn, name)
    if found is not None:
        return found
    made = User(new_id(now), name, now)
    try:
        with conn.begin_nested():
            conn.execute(insert(users).values(id=made.id, name=made.name, created_at=made.created_at))
    except IntegrityError:  # somebody else was quicker by a moment
        found = find_user(conn, name)
        if found is None:
            raise
        return found
    return made
