"""Sessions of browsers: who signed in with a key gets a cookie, and the key itself is kept nowhere.

A session lives in the database, for half a day after its last use: servers that share it know each other's, and a
server that is started anew knows them still. What a cookie admits is the key behind it, so a revoked key ends its
sessions too.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.types import Scope

from rubrica.lru_cache import LruCache
from rubrica.store.browser_sessions import (
    BrowserSession,
    drop_session,
    find_session,
    forget_sessions,
    put_session,
    touch_session,
)
from rubrica.store.database import Database

COOKIE = "rubrica_session"
LIFETIME = 12 * 3600.0
"""Seconds from the last use."""
FRESH = 1.0
"""Seconds for which what is known of a session is believed: one that was ended elsewhere works no longer than this."""
TOUCHED = 300.0
"""Seconds between two notes that a session was used."""
MOST_SESSIONS = 10_000
TOKEN_BYTES, TOKEN_LENGTH = 32, 43


@dataclass(frozen=True, slots=True)
class _Seen:
    session: BrowserSession | None
    looked: float


class Sessions:
    """The sessions of the servers on one database. Each is looked up at most once a second."""

    def __init__(
        self, database: Database, clock: Callable[[], datetime], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database, self._clock, self._monotonic = database, clock, monotonic
        self._seen = LruCache[bytes, _Seen](MOST_SESSIONS)  # by the digest of the token

    async def begin(self, key_digest: bytes) -> str:
        """A new session of whoever holds a key; its token, for a cookie."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        await self._database.write(put_session, _digest(token), key_digest, self._clock())
        return token

    async def digest_of(self, token: str) -> bytes | None:
        """The digest of the key behind a token; None where there is no such session any more."""
        if len(token) != TOKEN_LENGTH:
            return None
        place, now = _digest(token), self._monotonic()
        seen = self._seen.get(place)
        if seen is None or now - seen.looked > FRESH:
            seen = _Seen(await self._database.lookup(find_session, place), now)
            self._seen.put(place, seen)
        if seen.session is None:
            return None
        unused = (self._clock() - seen.session.used_at).total_seconds()
        if unused > LIFETIME:
            await self.end(token)
            return None
        if unused > TOUCHED:
            await self._database.write(touch_session, place, self._clock())
            self._seen.drop(place)
        return seen.session.key_digest

    async def end(self, token: str) -> None:
        self._seen.drop(_digest(token))
        await self._database.write(drop_session, _digest(token))

    async def forget(self) -> None:
        """Drop those that nobody has used for too long."""
        await self._database.write(forget_sessions, self._clock() - timedelta(seconds=LIFETIME))


def token_of(scope: Scope) -> str | None:
    """The session token that a browser sent, unless another web page made it send the request."""
    found, origin, host = None, None, b""
    for name, value in scope["headers"]:
        if name == b"cookie":
            found = _cookie(value) or found
        elif name == b"origin":
            origin = value
        elif name == b"host":
            host = value
    if found is None or (origin is not None and not same_place(origin, host)):
        return None
    return found


def same_place(origin: bytes, host: bytes) -> bool:
    """Whether a page of this server sent a request.

    >>> same_place(b"http://localhost:8000", b"localhost:8000"), same_place(b"http://evil.example", b"localhost:8000")
    (True, False)
    """
    try:
        return urlsplit(origin.decode("latin-1")).netloc == host.decode("latin-1")
    except ValueError:
        return False


def _cookie(header: bytes) -> str | None:
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found is not None else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
