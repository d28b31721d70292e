"""Sessions of browsers: who signed in with a key gets a cookie, and the key itself is kept nowhere.

A session lives in the memory of the server, for half a day after its last use; when the server is started anew, people
sign in anew. What a cookie admits is the key behind it, so a revoked key ends its sessions too.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.types import Scope

from rubrica.lru_cache import LruCache

COOKIE = "rubrica_session"
LIFETIME = 12 * 3600.0
"""Seconds from the last use."""
MOST_SESSIONS = 10_000


@dataclass(slots=True)
class _Session:
    digest: bytes  # of the key
    used: float


class Sessions:
    """The sessions of one server.

    >>> sessions = Sessions()
    >>> token = sessions.begin(b"digest of a key")
    >>> sessions.digest_of(token)
    b'digest of a key'
    >>> sessions.end(token)
    >>> sessions.digest_of(token) is None
    True
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._sessions = LruCache[bytes, _Session](MOST_SESSIONS)  # by the digest of the token

    def begin(self, key_digest: bytes) -> str:
        """A new session of whoever holds a key; its token, for a cookie."""
        token = secrets.token_urlsafe(32)
        self._sessions.put(_digest(token), _Session(key_digest, self._monotonic()))
        return token

    def digest_of(self, token: str) -> bytes | None:
        """The digest of the key behind a token; None where there is no such session any more."""
        place, now = _digest(token), self._monotonic()
        session = self._sessions.get(place)
        if session is None:
            return None
        if now - session.used > LIFETIME:
            self._sessions.drop(place)
            return None
        session.used = now
        return session.digest

    def end(self, token: str) -> None:
        self._sessions.drop(_digest(token))


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
