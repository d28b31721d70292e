"""Who gets in: keys, their end, and the server that has none."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from rubrica.errors import DeniedError
from rubrica.server.sign_in import FAILURES, FRESH
from rubrica.store.keys import Key, get_key, revoke_key
from rubrica.workspace.access import LOCAL, ROLES, Caller, Role, require
from rubrica.workspace.keys import KeyRequest, issue
from servers import Client, Running, serving


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_those_before_it_may(role: Role) -> None:
    caller = Caller(LOCAL.user_id, "ann", role)
    rank = ROLES.index(role)
    assert [caller.may(other) for other in ROLES] == [ROLES.index(other) <= rank for other in ROLES]
    for higher in ROLES[rank + 1 :]:
        with pytest.raises(DeniedError, match=f"creating needs the role {higher}; this key has {role}"):
            require(caller, higher, "creating")


def test_nobody_owns_what_came_with_rubrica() -> None:
    assert not LOCAL.owns(None)
    assert LOCAL.owns(LOCAL.user_id)


@pytest.mark.parametrize("role", ROLES)
def test_a_key_says_who_calls(shared_server: Running, role: Role) -> None:
    told = shared_server.client(role).get("/api/whoami").json
    key = shared_server.issued[role].key
    assert told == {"user_id": str(key.user_id), "name": f"the {role}", "role": role, "key_id": str(key.id)}


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER  {}"])
def test_a_key_may_come_as_a_bearer_token_of_any_spelling(shared_server: Running, form: str) -> None:
    key = shared_server.issued["viewer"].secret
    assert shared_server.anyone.get("/api/whoami", Authorization=form.format(key)).json["role"] == "viewer"


def test_a_key_may_come_in_a_header_of_its_own(server: Running) -> None:
    reply = server.anyone.get("/api/whoami", X_API_Key=server.issued["player"].secret)
    assert reply.json["role"] == "player"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Basic YW5uOmFubg==",
        "rk_",
        "Bearer rk_" + "a" * 32,
        "Bearer rk_" + "é" * 32,
        "Bearer " + "x" * 5000,
    ],
)
def test_what_is_no_key_is_turned_away_with_a_challenge(shared_server: Running, header: str) -> None:
    reply = shared_server.anyone.get("/api/whoami", Authorization=header)
    assert reply.status == 401
    assert reply.headers["WWW-Authenticate"] == 'Bearer realm="rubrica", error="invalid_token"'
    assert reply.json["type"] == "urn:rubrica:problem:unauthenticated"


def test_a_server_with_keys_needs_one(server: Running) -> None:
    reply = server.anyone.get("/api/whoami")
    assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, 'Bearer realm="rubrica"')


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/openapi.json"])
def test_how_it_is_and_how_to_use_it_needs_no_key(shared_server: Running, path: str) -> None:
    assert shared_server.anyone.get(path).status == 200


def test_a_revoked_key_stops_working_within_a_second(server: Running) -> None:
    ann = server.newcomer("author", "ann")
    assert ann.get("/api/whoami").status == 200
    server.write(revoke_key, _key_of(server, ann).id, server.service.clock())
    time.sleep(FRESH + 0.05)
    assert ann.get("/api/whoami").status == 401


def test_a_revoked_key_and_an_unknown_one_are_told_apart_by_nothing(server: Running) -> None:
    ann = server.newcomer("author", "ann")
    server.write(revoke_key, _key_of(server, ann).id, server.service.clock())
    revoked, unknown = (
        {**reply.json, "request_id": ""}
        for reply in (ann.get("/api/whoami"), Client(server, "rk_" + "0" * 32).get("/api/whoami"))
    )
    assert revoked == unknown


def test_an_address_that_tries_many_unknown_keys_is_told_to_wait(server: Running) -> None:
    assert server.admin.get("/api/whoami").status == 200
    tried = [Client(server, f"rk_{number:032}").get("/api/whoami") for number in range(FAILURES + 5)]
    assert [reply.status for reply in tried] == [401] * FAILURES + [429] * 5
    assert int(tried[-1].headers["Retry-After"]) >= 1
    assert server.admin.get("/api/whoami").status == 200  # a key that is known still works from there


def test_the_last_use_of_a_key_is_noted_once_a_minute(server: Running) -> None:
    ann = server.newcomer("viewer", "ann")
    assert _key_of(server, ann).last_used_at is None
    ann.together([("GET", "/api/whoami", None)] * 20)
    noted = _once_used(server, ann)
    ann.together([("GET", "/api/whoami", None)] * 20)
    assert _key_of(server, ann).last_used_at == noted


def test_no_key_is_ever_logged(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ann = server.newcomer("author", "ann")
    unknown = "rk_" + "z" * 32
    ann.get("/api/whoami")
    ann.post("/api/keys", b"[" * 1000, Content_Type="application/json")
    Client(server, unknown).get("/api/whoami")
    assert ann.key is not None
    assert ann.key not in caplog.text
    assert unknown not in caplog.text


def test_without_keys_everybody_on_this_machine_is_the_local_admin(database_url: str) -> None:
    with serving(database_url, keyless=True) as server:
        told = server.anyone.get("/api/whoami").json
        assert told == {"user_id": str(LOCAL.user_id), "name": "local", "role": "admin", "key_id": None}
        assert Client(server, "rk_" + "0" * 32).get("/api/whoami").status == 401  # a key that means nothing here


def test_from_the_first_key_on_keys_are_needed(database_url: str) -> None:
    with serving(database_url, keyless=True) as server:
        assert server.anyone.post("/api/keys", {"role": "player"}).status == 409  # nobody could make another
        made = server.anyone.post("/api/keys", {"role": "admin"})
        assert (made.status, made.json["user"]) == (201, "local")
        time.sleep(FRESH + 0.05)
        assert server.anyone.get("/api/whoami").status == 401
        assert Client(server, made.json["key"]).get("/api/whoami").json["user_id"] == str(LOCAL.user_id)


def test_revoking_the_last_key_opens_no_door(database_url: str) -> None:
    with serving(database_url, keyless=True) as server:
        only = server.write(issue, KeyRequest("admin"), server.service.clock())
        server.write(revoke_key, only.key.id, server.service.clock())
        assert server.anyone.get("/api/whoami").status == 401


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(str(tmp_path_factory.mktemp("keyless") / "rubrica.db"), keyless=True) as running:
        yield running


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rubrica.example"},  # a name that an attacker's DNS points here
        {"Host": "127.0.0.1.rubrica.example"},
        {"Host": "[::1"},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},  # another server on this machine
    ],
)
def test_without_keys_a_browser_cannot_be_tricked_into_calling(keyless: Running, headers: dict[str, str]) -> None:
    assert keyless.anyone.ask("GET", "/api/whoami", headers=headers).status == 403
    host = keyless.url.removeprefix("http://")
    assert keyless.anyone.ask("GET", "/api/whoami", headers={"Host": host, "Origin": keyless.url}).status == 200


def test_with_a_key_the_name_of_the_server_is_nobodys_business(server: Running) -> None:
    assert server.viewer.ask("GET", "/api/whoami", headers={"Host": "rubrica.example"}).status == 200


def _key_of(server: Running, client: Client) -> Key:
    assert client.issued is not None
    key = server.read(get_key, client.issued.key.id)
    assert key is not None
    return key


def _once_used(server: Running, client: Client) -> datetime:
    """When a key was used; it is noted behind the reply's back."""
    give_up = time.monotonic() + 10
    while (noted := _key_of(server, client).last_used_at) is None:
        assert time.monotonic() < give_up
        time.sleep(0.01)
    return noted
