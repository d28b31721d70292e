"""Makes, lists and revokes API keys, and checks who may."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.store.columns import new_id
from rubrica.store.keys import Key, add_key, any_key, get_key, keys_like, list_keys, revoke_key
from rubrica.store.users import ensure_user

from .access import LOCAL, Caller, Role, require

PREFIX = "rk_"
SHOWN = 11
"""Characters of a key that lists show."""

LEAST_SHOWN = 7
"""Characters that name a key: fewer could mean another than was thought of."""

PER_MINUTE = 600
LONGEST_NAME = 100
MOST_PER_MINUTE = 1_000_000
MOST_USD = 1_000_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a new key shall be."""

    role: Role
    user: str | None = None  # None: the local user for an admin, somebody new for any other role
    label: str = ""
    per_minute: int = PER_MINUTE
    usd_per_day: float | None = None  # that it may have the server spend; None: as much as its user may


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. `secret` is the key itself; nobody sees it again."""

    secret: str
    key: Key


def digest_of(secret: str) -> bytes:
    """What is kept of a key. It is random and long, so that a quick hash is as safe as a slow one."""
    return hashlib.sha256(secret.encode()).digest()


def issue(conn: Connection, request: KeyRequest, now: datetime) -> IssuedKey:
    """A new key for a user, who is made if there is none of that name. Asks nobody's leave."""
    label, per_minute = _line(request.label, "a label", least=0), request.per_minute
    if not 1 <= per_minute <= MOST_PER_MINUTE:
        raise InputError(f"a key makes 1 to {MOST_PER_MINUTE:,} requests a minute, not {per_minute:,}")
    if request.usd_per_day is not None and not 0 <= request.usd_per_day <= MOST_USD:
        raise InputError(f"a key may spend 0 to {MOST_USD:,} US dollars a day, not {request.usd_per_day:,}")
    key_id = new_id(now)
    name = (
        _line(request.user, "a user's name", least=1)
        if request.user is not None
        else _default_user(request.role, key_id)
    )
    user = ensure_user(conn, name, now)
    secret = PREFIX + secrets.token_urlsafe(24)
    key = Key(key_id, user.id, user.name, request.role, label, secret[:SHOWN], per_minute, now, request.usd_per_day)
    add_key(conn, key, digest_of(secret))
    return IssuedKey(secret, key)


def create_key(conn: Connection, caller: Caller, request: KeyRequest, now: datetime) -> IssuedKey:
    """A new key, if an admin asks. The first key of a server is an admin's: it ends the time when everybody is one."""
    require(caller, "admin", "making a key")
    if caller.key_id is None and request.role != "admin" and not any_key(conn):
        raise ConflictError("the first key has to be an admin's: from then on only keys can make keys")
    return issue(conn, request, now)


def visible_keys(conn: Connection, caller: Caller, *, after: UUID | None, limit: int) -> Sequence[Key]:
    """Everybody's keys for an admin, one's own for others."""
    return list_keys(conn, user_id=None if caller.is_admin else caller.user_id, after=after, limit=limit)


def end_key(conn: Connection, caller: Caller, key_id: UUID, now: datetime) -> Key:
    """Revoke a key: one's own, or anybody's for an admin. Another's key does not exist for you."""
    key = get_key(conn, key_id)
    if key is None or not (caller.is_admin or caller.owns(key.user_id)):
        raise MissingError(f"there is no key {key_id}")
    revoke_key(conn, key_id, now)
    return key


def named_key(conn: Connection, text: str) -> Key:
    """The key that an id, or the beginning of a key, stands for."""
    try:
        key = get_key(conn, UUID(text))
    except ValueError:
        if not text.startswith(PREFIX) or len(text) < LEAST_SHOWN:
            raise InputError(f"a key is named by its id, or by its first {LEAST_SHOWN} characters or more") from None
        found = keys_like(conn, text[:SHOWN])
        if len(found) > 1:
            ids = ", ".join(str(key.id) for key in found)
            raise ConflictError(f"{text} is the beginning of several keys (name one by its id: {ids})") from None
        key = found[0] if found else None
    if key is None:
        raise MissingError(f"there is no key {text[:SHOWN]} (rubrica keys list shows them)")
    return key


def _default_user(role: Role, key_id: UUID) -> str:
    """Whose key it is when nobody is named. What was made before there were keys stays with the admin."""
    return LOCAL.name if role == "admin" else f"{role}-{key_id.hex[-8:]}"


def _line(text: str, what: str, *, least: int) -> str:
    text = text.strip()
    if not least <= len(text) <= LONGEST_NAME or _CONTROL.search(text):
        raise InputError(f"{what} has {least} to {LONGEST_NAME} characters in one line")
    return text
