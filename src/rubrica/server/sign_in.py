"""Recognising who calls: by a key, by the session of a browser that signed in with one, or, on a server without keys,
by being on the same machine."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import re
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rubrica.errors import StoreError
from rubrica.lru_cache import LruCache
from rubrica.store.address import address
from rubrica.store.keys import any_key, find_key, touch_key
from rubrica.workspace.access import LOCAL, Caller, Role

from .limits import Bucket
from .problems import refusal, refusal_of, retry_after
from .proxies import forwarding_header, rate_key
from .service import Service
from .sessions import Sessions, token_of
from .shared_rates import SharedRates

LOG = logging.getLogger("rubrica.server")
FRESH = 1.0
"""Seconds for which what is known of a key is believed: a revoked key works no longer than this."""

TOUCHED = 60.0
"""Seconds between two notes that a key was used."""

FAILURES = 30
"""Unknown keys that one address may try in a minute."""

MOST_ADDRESSES = 10_000
API = ("/api/", "/v1/", "/v2/")
"""Where programs call; everything else is for people."""

SIGN_IN = "/signin"
OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/docs", "/openapi.json", SIGN_IN})
"""What needs no key: whether the server lives, how to use it, and where to sign in."""

_KEY = re.compile(rb"rk_[A-Za-z0-9_-]{32}\Z")
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


@dataclass(slots=True)
class _Known:
    """A key that was found, and when it was last looked up."""

    caller: Caller
    key_id: UUID
    bucket: Bucket
    per_minute: int
    checked: float
    touched: float = float("-inf")


class Authenticator:
    """Knows the keys of one server. Looks each up at most once a second, and counts who uses them how often."""

    def __init__(self, service: Service, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.sessions = Sessions(service.database, service.clock, monotonic)
        shared = address(service.settings.database).file is None  # a SQLite file has one server
        self._rates = SharedRates(service.database, monotonic) if shared else None
        self._service = service
        self._monotonic = monotonic
        self._known: dict[bytes, _Known] = {}
        self._failures = LruCache[str, Bucket](MOST_ADDRESSES)
        self._keyless_until = float("-inf")
        self._keyed = False
        self._asking: dict[bytes, asyncio.Task[_Known | None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def admit(self, scope: Scope) -> Caller | Response:
        """Whoever a request is from, or the reply that turns it away."""
        now = self._monotonic()
        presented = _presented(scope)
        if presented is not None:
            digest = hashlib.sha256(presented).digest()
            known = self._known.get(digest)
            if known is None or now - known.checked > FRESH:
                found = await self._look_up(scope, presented, digest, now)
                if isinstance(found, Response):
                    return found
                known = found
        else:
            session = await self._in_session(scope, now)
            if session is None:
                if await self._has_keys(now):
                    return _unsigned(scope, "this server needs a key (send it as Authorization: Bearer KEY)")
                return LOCAL if (fault := _foreign(scope)) is None else refusal(scope, 403, fault)
            known = session
        counted = presented is not None or scope["path"].startswith(API)  # a page of the studio is many requests
        if counted and (wait := await self._take(known, now)):
            return refusal(scope, 429, "this key has made too many requests", headers=retry_after(wait))
        if now - known.touched > TOUCHED:
            known.touched = now
            self._spawn(self._touch(known.key_id))
        return known.caller

    async def _take(self, known: _Known, now: float) -> float:
        """Count a request of a key; the seconds until it may make another, where it has made too many."""
        if self._rates is None:
            return known.bucket.take(now)
        return await self._rates.take(known.key_id, known.per_minute)

    async def sign_in(self, scope: Scope, key: str) -> str | Response:
        """Begin a session with a key; its token, or the reply that turns it away."""
        presented = key.strip().encode()
        digest = hashlib.sha256(presented).digest()
        found = await self._look_up(scope, presented, digest, self._monotonic())
        return found if isinstance(found, Response) else await self.sessions.begin(digest)

    async def _in_session(self, scope: Scope, now: float) -> _Known | None:
        token = token_of(scope)
        digest = await self.sessions.digest_of(token) if token is not None else None
        if digest is None:
            return None
        known = self._known.get(digest)
        return known if known is not None and now - known.checked <= FRESH else await self._ask(digest, now)

    async def settle(self) -> None:
        """Wait for the notes that are still being written."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _has_keys(self, now: float) -> bool:
        """Whether there are keys. Once there are, there always will be: revoked ones count."""
        if not self._keyed and now > self._keyless_until:
            self._keyed = await self._service.database.lookup(any_key)
            self._keyless_until = now + FRESH
        return self._keyed

    async def _look_up(self, scope: Scope, presented: bytes, digest: bytes, now: float) -> _Known | Response:
        address = rate_key(scope["client"][0]) if scope.get("client") else ""
        failures = self._failures.get(address)
        if digest not in self._known and failures is not None and (wait := failures.wait(now)):
            return refusal(scope, 429, "too many unknown keys from this address", headers=retry_after(wait))
        found = await self._ask(digest, now) if _KEY.match(presented) else None
        if found is not None:
            return found
        self._count_failure(address, now)
        detail = "no such key, or it was revoked (rubrica keys create makes one)"
        return _unsigned(scope, detail, error="invalid_token")

    async def _ask(self, digest: bytes, now: float) -> _Known | None:
        """Look a key up; requests that ask for the same one at the same time share the answer."""
        task = self._asking.get(digest)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._refresh(digest, now))
            self._asking[digest] = task
            task.add_done_callback(lambda _: self._asking.pop(digest, None))
        return await asyncio.shield(task)

    async def _refresh(self, digest: bytes, now: float) -> _Known | None:
        key = await self._service.database.lookup(find_key, digest)
        if key is None or key.revoked_at is not None:
            self._known.pop(digest, None)
            return None
        caller = Caller(key.user_id, key.user, cast("Role", key.role), key.id, key.usd_per_day)
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = _Known(caller, key.id, Bucket(key.per_minute, now), key.per_minute, now)
        known.caller, known.checked = caller, now
        return known

    def _count_failure(self, address: str, now: float) -> None:
        bucket = self._failures.get(address) or Bucket(FAILURES, now)
        bucket.take(now)
        self._failures.put(address, bucket)

    async def _touch(self, key_id: UUID) -> None:
        try:
            await self._service.database.write(touch_key, key_id, self._service.clock())
        except StoreError as error:
            LOG.warning("the last use of a key was not noted: %s", error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class SignIn:
    """Lets through who the door knows, and says who it is in ``scope["state"]["caller"]``."""

    def __init__(self, app: ASGIApp, door: Authenticator) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope["path"] not in OPEN_PATHS:
            try:
                admitted = await self._door.admit(scope)
            except StoreError as error:
                admitted = refusal_of(scope, error)
            if isinstance(admitted, Response):
                await _turned_away(scope, admitted)(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = admitted
        await self._app(scope, receive, send)


def _turned_away(scope: Scope, refused: Response) -> ASGIApp:
    """The reply to who is not let in. A person who opens a page is shown where to sign in."""
    if scope["type"] == "websocket":
        return _closed
    wants_page = scope["method"] == "GET" and any(n == b"accept" and b"text/html" in v for n, v in scope["headers"])
    if refused.status_code == 401 and wants_page and not scope["path"].startswith(API):
        return RedirectResponse(f"{SIGN_IN}?{urlencode({'next': scope['path']})}", 303)
    return refused


async def _closed(_scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 1008})


def _presented(scope: Scope) -> bytes | None:
    """The key a request carries; b"" where it carries something else in its place."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, key = bytes(value).partition(b" ")
            return key.strip() if scheme.lower() == b"bearer" else b""
        if name == b"x-api-key":
            return bytes(value)
    return None


def _unsigned(scope: Scope, detail: str, *, error: str = "") -> Response:
    challenge = 'Bearer realm="rubrica"' + (f', error="{error}"' if error else "")
    return refusal(scope, 401, detail, headers={"WWW-Authenticate": challenge})


def _foreign(scope: Scope) -> str | None:
    """Why a request without a key does not come from this machine, or comes from somebody else's web page."""
    if scope.get("client") and not _near(scope["client"][0]):
        return "a server without keys serves its own machine only (rubrica keys create --role admin)"
    if (name := forwarding_header(scope["headers"])) is not None:
        return f"a server without keys serves no proxy ({name} was sent; rubrica keys create --role admin)"
    headers = dict(scope["headers"])
    return _misdirected(headers.get(b"host", b""), headers.get(b"origin"))


@lru_cache(maxsize=256)
def _misdirected(host: bytes, origin: bytes | None) -> str | None:
    """Why a browser may have been tricked into a request, by its Host and Origin headers."""
    called = host.decode("latin-1")
    try:
        if called and not is_loopback(urlsplit(f"//{called}").hostname or ""):
            return f"a server without keys is called localhost, not {called}"
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc != called:
            return "a server without keys takes no requests from other web pages"
    except ValueError:
        return "the Host or Origin header is malformed"
    return None


@lru_cache(maxsize=256)
def _near(address: str) -> bool:
    return is_loopback(address)


def is_loopback(host: str) -> bool:
    """Whether a host, by name or by address, is this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host in _LOOPBACK_NAMES:
        return True
    try:
        found = ipaddress.ip_address(host.strip("[]"))
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return (mapped or found).is_loopback
    except ValueError:
        return False
