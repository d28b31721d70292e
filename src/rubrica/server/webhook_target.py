"""Where a webhook may lead: to the public internet; into the server's own network only where its operator allows it.

A name is looked up when a message is sent, and the connection goes to the address that was checked: a name that means
another address a moment later leads nowhere else.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from rubrica.errors import InputError

LONGEST_URL = 2_000
INSIDE = "it leads into the server's own network (rubrica serve --private-webhooks allows that)"
_TRANSLATED = IPv6Network("64:ff9b::/96")  # IPv4 addresses as networks with IPv6 alone write them


class InsideAddressError(OSError):
    """A name that means an address inside the server's own network."""


def check_target(url: str, *, private: bool) -> None:
    """Refuse an address that no message may be sent to. What a name means is checked when it is looked up."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise InputError(f"url: {url[:100]!r} is no address such as https://example.com/hook") from None
    if parts.scheme not in ("http", "https") or not host or len(url) > LONGEST_URL or not url.isprintable():
        raise InputError(f"url: {url[:100]!r} is no address such as https://example.com/hook")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise InputError("url: leave out user, password and fragment; what is sent is signed")
    if private:
        return
    if parts.scheme != "https":
        raise InputError("url: it has to begin with https:// (rubrica serve --private-webhooks allows http://)")
    if ":" in host or host.replace(".", "").isdigit():  # what is connected to without being looked up
        try:
            public = is_public(host)
        except ValueError:
            raise InputError(f"url: {host[:100]!r} is no address of the internet") from None
        if not public:
            raise InputError(f"url: {INSIDE}")
    elif host.rstrip(".") == "localhost" or host.rstrip(".").endswith((".localhost", ".local", ".internal")):
        raise InputError(f"url: {INSIDE}")


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet; of one that stands for another, that one counts.

    >>> [is_public(one) for one in ("93.184.216.34", "10.0.0.7", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe")]
    [True, False, False, False]
    """
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _TRANSLATED:
            inner = IPv4Address(int(found) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast and not found.is_reserved


class PublicResolver(AbstractResolver):
    """Looks names up, and refuses those that mean an address inside the server's own network."""

    def __init__(self, *, private: bool) -> None:
        self._resolver = ThreadedResolver()
        self._private = private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        if not self._private and not all(is_public(one["host"]) for one in found):
            raise InsideAddressError(INSIDE)
        return found

    async def close(self) -> None:
        await self._resolver.close()
