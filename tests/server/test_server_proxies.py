"""Behind a proxy: nobody is taken for somebody on this machine, and nobody chooses the address they are limited by."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Scope

from rubrica.errors import InputError, RubricaError
from rubrica.server.listening import listen, refuse_others
from rubrica.server.proxies import TrustedProxies, networks_of, rate_key
from rubrica.server.sign_in import FAILURES, Authenticator, is_loopback
from servers import serving

FORWARDING = [
    "Via",
    "Forwarded",
    "X-Real-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Server",
    "X-Original-Forwarded-For",
    "CF-Connecting-IP",
    "True-Client-IP",
    "Fastly-Client-IP",
    "Client-IP",
]


def test_any_forwarding_header_ends_keyless_mode(tmp_path: Path) -> None:
    with serving(str(tmp_path / "rubrica.db"), keyless=True) as server:
        assert server.anyone.get("/api/whoami").json["role"] == "admin"
        for name in FORWARDING:
            for value in ("127.0.0.1", "203.0.113.9", ""):
                reply = server.anyone.get("/api/whoami", **{name: value})
                assert reply.status == 403, (name, value)
                assert f"serves no proxy ({name.lower()} was sent" in reply.json["detail"]


def test_a_websocket_with_a_forwarding_header_is_refused_too(tmp_path: Path) -> None:
    async def admitted(door: Any, **headers: str) -> Any:
        sent = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
        return await door.admit({"type": "websocket", "path": "/ws", "headers": sent, "client": ("127.0.0.1", 1)})

    with serving(str(tmp_path / "rubrica.db"), keyless=True) as server:
        door = Authenticator(server.service)
        assert server.run(admitted(door)).role == "admin"
        assert server.run(admitted(door, via="1.1 cache")).status_code == 403


def test_rotating_forwarded_addresses_do_not_evade_the_limit_on_unknown_keys(tmp_path: Path) -> None:
    with serving(str(tmp_path / "rubrica.db")) as server:
        statuses = [
            server.anyone.get(
                "/api/whoami", Authorization=f"Bearer rk_{i:032}", X_Forwarded_For=f"203.0.113.{i}"
            ).status
            for i in range(FAILURES + 5)
        ]
    assert statuses == [401] * FAILURES + [429] * 5


def client_of(networks: list[str], peer: str, *forwarded: str) -> str:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        seen.append(scope)

    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "client": (peer, 1234), "headers": headers}
    asyncio.run(TrustedProxies(app, networks_of(networks))(scope, None, None))  # type: ignore[arg-type]
    return str(seen[0]["client"][0])


def test_only_a_named_proxy_is_believed_and_only_for_what_it_added_itself() -> None:
    assert client_of(["10.0.0.7"], "10.0.0.8", "203.0.113.9") == "10.0.0.8"
    assert client_of(["10.0.0.7"], "10.0.0.7", "203.0.113.9") == "203.0.113.9"
    assert client_of(["10.0.0.7"], "10.0.0.7", "1.2.3.4, 203.0.113.9") == "203.0.113.9"
    assert client_of(["10.0.0.7"], "10.0.0.7", "1.2.3.4", "203.0.113.9") == "203.0.113.9"
    assert client_of(["10.0.0.0/24"], "10.0.0.7", "1.2.3.4, 203.0.113.9, 10.0.0.9") == "203.0.113.9"
    assert client_of(["10.0.0.7"], "10.0.0.7", "1.2.3.4, unknown") == "10.0.0.7"
    assert client_of(["10.0.0.7"], "10.0.0.7") == "10.0.0.7"
    assert client_of(["::1"], "::1", "[2001:db8::1]:443") == "2001:db8::1"
    assert client_of(["10.0.0.7"], "::ffff:10.0.0.7", "203.0.113.9:80") == "203.0.113.9"


def test_a_proxy_that_is_no_address_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"--trusted-proxy: .*write an address such as 10.0.0.7"):
        networks_of(["my-proxy"])


def test_addresses_of_one_ipv6_network_share_a_limit() -> None:
    assert rate_key("2001:db8:1:2::7") == rate_key("2001:db8:1:2:ffff::9") != rate_key("2001:db8:1:3::7")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "my-host.example"])  # noqa: S104
def test_hosts_that_others_reach_are_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_a_socket_that_others_reach_is_refused_whatever_it_was_called() -> None:
    with listen("0.0.0.0", 0) as open_to_all, pytest.raises(RubricaError, match="only this machine"):  # noqa: S104
        refuse_others(open_to_all)
    with listen("localhost", 0) as near:
        refuse_others(near)
