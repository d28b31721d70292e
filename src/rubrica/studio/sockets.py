"""The sockets through which open pages talk to the server: each serves the page of whoever opened it, and no other.

The framework takes a message for any page whose id it names. Here a socket belongs to one page from its handshake on,
the two must be of the same visitor, and both end when the visitor's session does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client
from socketio import AsyncServer
from socketio.exceptions import ConnectionRefusedError as SocketRefused
from starlette.types import Scope

from rubrica.errors import StoreError
from rubrica.server.limits import Bucket
from rubrica.server.sessions import token_of
from rubrica.server.sign_in import SIGN_IN, Authenticator
from rubrica.workspace.access import Caller

from .page_limits import owner_of, owns

LOG = logging.getLogger("rubrica.studio")
CHECKED = 0.5
"""Seconds between two looks whether the sessions of open pages still stand."""
MESSAGES_PER_MINUTE = 6_000
"""Messages of one page, many more than anybody types or clicks."""
MOST_SOCKETS = 200
"""Sockets of one visitor: one for each page, and some that are about to go."""
LONGEST_LOG = 1_000
"""Characters of a browser's message that are logged."""

SHAPES: Mapping[str, Mapping[str, type]] = {
    "event": {"id": int, "listener_id": str, "args": list},
    "javascript_response": {"request_id": str},
    "ack": {"next_message_id": int},
    "log": {"level": str, "message": str},
}
"""The messages of a page, and what each must hold."""
_HANDSHAKE = ("client_id", "tab_id", "document_id")
_RELOAD = "Implicit handshake failed"  # the page that is told so loads itself anew


@dataclass(frozen=True, slots=True)
class PageSocket:
    """A socket after its handshake."""

    scope: Scope
    page: str  # the id of its client
    bucket: Bucket


class PageSockets:
    """The open sockets of one studio."""

    def __init__(
        self, server: AsyncServer, door: Authenticator, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = server
        self._door = door
        self._monotonic = monotonic
        self._owners: dict[str, str] = {}  # by socket
        self._open: dict[str, PageSocket] = {}  # those whose handshake is done
        self._framework: dict[str, Callable[..., Any]] = dict(server.handlers["/"])

    def install(self) -> None:
        """Stand between the sockets and the framework."""
        self._server.on("connect", self._connect)
        self._server.on("handshake", self._handshake)
        self._server.on("disconnect", self._disconnect)
        for name in SHAPES:
            self._server.on(name, self._guarded(name))

    async def close_ended(self) -> None:
        """Close the pages of sessions that have ended: what they show is for nobody any more."""
        is_valid: dict[str, bool] = {}
        for sid, socket in list(self._open.items()):
            session = token_of(socket.scope) or owner_of(socket.scope)
            if session not in is_valid:
                is_valid[session] = await self._stands(socket.scope)
            if not is_valid[session]:
                self._open.pop(sid, None)
                await self._server.emit("open", {"path": SIGN_IN, "new_tab": False}, to=sid)
                await self._server.disconnect(sid)

    async def _stands(self, scope: Scope) -> bool:
        try:
            admitted = await self._door.admit({**scope, "path": "/"})
        except StoreError:
            return True  # nobody can tell; what a page reads or writes is refused by itself
        if isinstance(admitted, Caller):
            return owner_of({**scope, "state": {"caller": admitted}}) == owner_of(scope)
        return admitted.status_code not in (401, 403)

    async def _connect(self, sid: str, environ: dict[str, Any], _auth: Any = None) -> None:
        page = _page_named(environ)
        if page is None or not owns(environ["asgi.scope"], page):
            raise SocketRefused(_RELOAD)
        owner = owner_of(environ["asgi.scope"])
        if sum(other == owner for other in self._owners.values()) >= MOST_SOCKETS:
            raise SocketRefused(f"you have {MOST_SOCKETS} pages open; close some of them")
        await self._framework["connect"](sid, environ)
        self._owners[sid] = owner
        if page.id in self._server.rooms(sid):
            self._keep(sid, environ, page)

    async def _handshake(self, sid: str, message: Any = None, *_: Any) -> bool:
        environ = self._server.get_environ(sid)
        page = _page_named(environ)
        if page is None or not owns(environ["asgi.scope"], page) or not _holds(message, dict.fromkeys(_HANDSHAKE, str)):
            return False
        if message["client_id"] != page.id or not await self._framework["handshake"](sid, message):
            return False
        self._keep(sid, environ, page)
        return True

    def _keep(self, sid: str, environ: dict[str, Any], page: Client) -> None:
        bucket = Bucket(MESSAGES_PER_MINUTE, self._monotonic())
        self._open[sid] = PageSocket(environ["asgi.scope"], page.id, bucket)

    def _disconnect(self, sid: str, _reason: Any = None) -> None:
        self._open.pop(sid, None)
        self._owners.pop(sid, None)
        self._framework["disconnect"](sid)

    def _guarded(self, name: str) -> Callable[..., Any]:
        """What takes one kind of message: from the page's own socket, in its usual shape, and not too many."""
        shape, handle = {"client_id": str, **SHAPES[name]}, self._framework[name]

        def take(sid: str, message: Any = None, *_: Any) -> Any:
            socket = self._open.get(sid)
            if socket is None or not _holds(message, shape) or message["client_id"] != socket.page:
                return None
            if socket.bucket.take(self._monotonic()):
                return self._server.start_background_task(self._server.disconnect, sid) and None
            if name == "log":
                message = {**message, "message": repr(message["message"][:LONGEST_LOG])}
            try:
                handle(sid, message)
            except (KeyError, TypeError, ValueError) as error:  # of something that is not on the page any more
                LOG.info("a message of a page was not understood: %s", error)
            return None

        return take


def _page_named(environ: Mapping[str, Any]) -> Client | None:
    """The page that a socket asks for."""
    [name] = parse_qs(environ.get("QUERY_STRING", "")).get("client_id", [""])[:1]
    return Client.instances.get(name)


def _holds(message: Any, shape: Mapping[str, type]) -> bool:
    """Whether a message is an object with these values.

    >>> _holds({"id": 7}, {"id": int}), _holds({"id": {}}, {"id": int}), _holds("id", {"id": int})
    (True, False, False)
    """
    return isinstance(message, dict) and all(isinstance(message.get(key), kind) for key, kind in shape.items())
