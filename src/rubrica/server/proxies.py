"""Proxies in front of a server: which are trusted to say who calls, and how to notice one that nobody named.

What a client sends may hold any forwarding header. None is believed unless the connection comes from a proxy that the
operator named; then the caller is the right-most address that no trusted proxy has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

from rubrica.errors import InputError

Network = IPv4Network | IPv6Network
FORWARDED_FOR = b"x-forwarded-for"
SHARED_PREFIX = 64
"""Bits of an IPv6 address that a network gives to one customer."""

_FORWARDING = frozenset(
    {
        b"via",
        b"forwarded",
        b"x-real-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-original-forwarded-for",
        b"x-original-host",
        b"x-originating-ip",
        b"x-remote-ip",
        b"x-remote-addr",
        b"x-proxyuser-ip",
        b"x-azure-clientip",
        b"x-appengine-user-ip",
        b"x-envoy-external-address",
        b"cf-connecting-ip",
        b"cf-connecting-ipv6",
        b"cdn-loop",
        b"client-ip",
        b"fastly-client-ip",
        b"fly-client-ip",
        b"true-client-ip",
        b"wl-proxy-client-ip",
    }
)
_FORWARDING_PREFIX = b"x-forwarded"


def forwarding_header(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The first header that a proxy has put into a request; None where none has.

    >>> forwarding_header([(b"host", b"localhost"), (b"x-forwarded-proto", b"https")])
    'x-forwarded-proto'
    """
    for name, _ in headers:
        if name in _FORWARDING or name.startswith(_FORWARDING_PREFIX):
            return name.decode("latin-1")
    return None


def networks_of(addresses: Sequence[str]) -> tuple[Network, ...]:
    """Networks as an operator names them.

    >>> networks_of(["10.0.0.7", "fd00::/8"])
    (IPv4Network('10.0.0.7/32'), IPv6Network('fd00::/8'))
    """
    try:
        return tuple(ip_network(address.strip()) for address in addresses)
    except ValueError as error:
        raise InputError(f"--trusted-proxy: {error} (write an address such as 10.0.0.7, or 10.0.0.0/24)") from None


@lru_cache(maxsize=4096)
def rate_key(address: str) -> str:
    """What limits of an address are kept by: itself, or the network of an IPv6 address, which has countless others.

    >>> rate_key("2001:db8:1:2:3:4:5:6"), rate_key("192.0.2.7"), rate_key("::ffff:192.0.2.7")
    ('2001:db8:1:2::', '192.0.2.7', '192.0.2.7')
    """
    found = _address(address)
    if found is None:
        return address[:64]
    if isinstance(found, IPv6Address):
        return str(ip_network((found, SHARED_PREFIX), strict=False).network_address)
    return str(found)


class TrustedProxies:
    """Puts the caller's address in place of the proxy's, for connections of proxies that are trusted."""

    def __init__(self, app: ASGIApp, networks: Sequence[Network]) -> None:
        self._app, self._networks = app, networks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope.get("client"):
            scope["client"] = (self._caller(scope), scope["client"][1])
        await self._app(scope, receive, send)

    def _caller(self, scope: Scope) -> str:
        """The right-most address that is not a trusted proxy's, coming from the connection."""
        caller: str = scope["client"][0]
        named = [value for name, value in scope["headers"] if name == FORWARDED_FOR]
        hops = b",".join(named).decode("latin-1").split(",") if named else []
        while hops and self._trusts(caller):
            hop = _address(hops.pop())
            if hop is None:  # what stands before it cannot be relied on
                break
            caller = str(hop)
        return caller

    def _trusts(self, address: str) -> bool:
        found = _address(address)
        return found is not None and any(found in network for network in self._networks)


def behind_proxies(app: ASGIApp, networks: Sequence[Network]) -> ASGIApp:
    """An app as it is served behind trusted proxies; itself, where there are none."""
    return TrustedProxies(app, networks) if networks else app


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """An address, with a port or brackets around it; IPv4 inside IPv6 as what it is."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
