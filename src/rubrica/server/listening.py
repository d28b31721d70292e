"""The socket a server listens on."""

from __future__ import annotations

import socket
import sys

from rubrica.errors import RubricaError

from .sign_in import is_loopback

WAITING = 2048
"""Connections that may wait to be accepted."""


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens at a host, by name or address; port 0 takes a free one.

    Several `shared` ones may listen at the same place: Linux spreads connections over them.

    >>> with listen("127.0.0.1", 0) as listening:
    ...     listening.getsockname()[0]
    '127.0.0.1'
    """
    # asyncio looks at the protocol before it turns Nagle's algorithm off; with 0, the default, replies wait 40 ms
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, proto=socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((host, port))
        listening.listen(WAITING)
    except OSError as error:
        listening.close()
        raise RubricaError(f"{host} port {port}: {error.strerror or error} (choose another with --port)") from None
    return listening


def reserve(host: str, port: int) -> socket.socket:
    """A socket that holds a place for `shared` ones, and takes no connections itself."""
    if not sys.platform.startswith("linux"):
        raise RubricaError("several workers need Linux, which spreads connections over them (leave out --workers)")
    if port:
        listen(host, port).close()  # another server's workers would let ours share their place, and their requests
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
    except OSError as error:
        held.close()
        raise RubricaError(f"{host} port {port}: {error.strerror or error} (choose another with --port)") from None
    return held


def refuse_others(listening: socket.socket) -> None:
    """Refuse a socket that others than this machine reach, whatever name it was asked for by."""
    where = listening.getsockname()[0]
    if not is_loopback(where):
        raise RubricaError(f"{where}: without keys only this machine can be served (leave out --host, or make a key)")
