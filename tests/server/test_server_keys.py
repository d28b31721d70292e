"""Keys over the API: who makes, sees and ends them."""

from __future__ import annotations

import hashlib
import re

import pytest
from sqlalchemy import select

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.store.columns import new_id
from rubrica.store.keys import Key, add_key, get_key
from rubrica.store.tables import api_keys
from rubrica.store.users import ensure_user
from rubrica.workspace.access import ROLES, Role
from rubrica.workspace.keys import KeyRequest, issue, named_key
from servers import Client, Running

NOBODY = "00000000-0000-7000-8000-000000000000"


def test_an_admin_makes_a_key_that_works(server: Running) -> None:
    reply = server.admin.post("/api/keys", {"role": "author", "user": "ann", "label": "laptop", "per_minute": 90})
    assert reply.status == 201
    made = reply.json
    assert re.fullmatch(r"rk_[A-Za-z0-9_-]{32}", made["key"])
    assert (made["user"], made["role"], made["label"], made["per_minute"]) == ("ann", "author", "laptop", 90)
    assert (reply.headers["Location"], reply.headers["Cache-Control"]) == (f"/api/keys/{made['id']}", "no-store")
    assert Client(server, made["key"]).get("/api/whoami").json["name"] == "ann"


def test_a_second_key_of_a_name_belongs_to_the_same_user(server: Running) -> None:
    first, second = (server.admin.post("/api/keys", {"role": "viewer", "user": " ann "}).json for _ in range(2))
    assert first["user_id"] == second["user_id"]
    assert first["key"] != second["key"]


def test_keys_made_at_the_same_time_make_their_user_once(server: Running) -> None:
    made = server.admin.together([("POST", "/api/keys", {"role": "viewer", "user": "ann"})] * 8)
    assert [reply.status for reply in made] == [201] * 8
    assert len({reply.json["user_id"] for reply in made}) == 1


def test_a_key_for_nobody_in_particular_makes_somebody_new(server: Running) -> None:
    users = {server.admin.post("/api/keys", {"role": "player"}).json["user_id"] for _ in range(3)}
    assert len(users) == 3


def test_of_a_key_only_a_digest_is_kept(server: Running) -> None:
    secret = server.admin.post("/api/keys", {"role": "viewer"}).json["key"]
    rows = server.read(lambda conn: conn.execute(select(api_keys)).all())
    assert [row for row in rows if row.digest == hashlib.sha256(secret.encode()).digest()]
    assert secret not in str(rows)
    assert secret[12:] not in str(rows)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "admin"])
def test_only_admins_make_keys(shared_server: Running, role: Role) -> None:
    reply = shared_server.client(role).post("/api/keys", {"role": "viewer"})
    assert reply.status == 403
    assert reply.json["detail"] == f"making a key needs the role admin; this key has {role}"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"role": "owner"},
        {"role": "viewer", "per_minute": 0},
        {"role": "viewer", "user": ""},
        {"role": "viewer", "user": "a\0b"},
        {"role": "viewer", "user": "a\nb"},
        {"role": "viewer", "label": "x" * 101},
        {"role": "viewer", "digest": "00"},
        [],
        "viewer",
        None,
    ],
)
def test_a_key_that_cannot_be_is_refused(shared_server: Running, body: object) -> None:
    assert shared_server.admin.post("/api/keys", body).status == 422


def test_a_key_is_not_made_under_an_idempotency_key_because_its_reply_would_be_kept(server: Running) -> None:
    reply = server.admin.post("/api/keys", {"role": "viewer"}, Idempotency_Key="one")
    assert reply.status == 422
    assert len(server.admin.get("/api/keys").json["items"]) == len(ROLES)


def test_an_admin_lists_all_keys_and_others_their_own(server: Running) -> None:
    assert {key["role"] for key in server.admin.get("/api/keys").json["items"]} == set(ROLES)
    own = server.player.get("/api/keys").json["items"]
    assert [key["prefix"] for key in own] == [server.issued["player"].secret[:11]]


def test_a_list_shows_neither_keys_nor_digests(server: Running) -> None:
    listed = server.admin.get("/api/keys")
    for issued in server.issued.values():
        assert issued.secret not in listed.text
    assert not {"key", "digest"} & set(listed.json["items"][0])


def test_keys_come_in_pages(server: Running) -> None:
    whole = [key["id"] for key in server.admin.get("/api/keys").json["items"]]
    seen, cursor = [], ""
    while cursor is not None:
        page = server.admin.get("/api/keys?limit=3" + (f"&cursor={cursor}" if cursor else "")).json
        assert len(page["items"]) <= 3
        seen += [key["id"] for key in page["items"]]
        cursor = page["next"]
    assert seen == whole


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "cursor=garbage", "cursor=WzFd", "cursor=W10"])
def test_a_page_that_cannot_be_is_refused(shared_server: Running, query: str) -> None:
    assert shared_server.admin.get(f"/api/keys?{query}").status == 422


def test_everybody_may_revoke_their_own_key(server: Running) -> None:
    ann = server.newcomer("player", "ann")
    assert ann.issued is not None
    assert ann.delete(f"/api/keys/{ann.issued.key.id}").status == 204
    ended = server.read(get_key, ann.issued.key.id)
    assert ended is not None
    assert ended.revoked_at is not None


def test_anothers_key_does_not_exist_for_you(server: Running) -> None:
    other = server.issued["viewer"].key.id
    refused, unknown = server.player.delete(f"/api/keys/{other}"), server.player.delete(f"/api/keys/{NOBODY}")
    assert (refused.status, unknown.status) == (404, 404)
    assert refused.json["detail"].replace(str(other), "") == unknown.json["detail"].replace(NOBODY, "")
    assert server.viewer.get("/api/whoami").status == 200


def test_an_admin_revokes_anybodys_key_and_twice_changes_nothing(server: Running) -> None:
    key_id = server.issued["viewer"].key.id
    assert server.admin.delete(f"/api/keys/{key_id}").status == 204
    first = server.read(get_key, key_id)
    assert server.admin.delete(f"/api/keys/{key_id}").status == 204
    assert server.read(get_key, key_id) == first
    assert first is not None
    assert first.revoked_at is not None


def test_a_key_is_named_by_its_beginning_or_its_id(server: Running) -> None:
    issued = server.write(issue, KeyRequest("viewer", "ann"), server.service.clock())
    for text in (issued.secret[:7], issued.secret[:11], issued.secret, str(issued.key.id)):
        assert server.read(named_key, text).id == issued.key.id


def test_a_beginning_that_names_no_key_or_several_is_refused(server: Running) -> None:
    now = server.service.clock()
    user = server.write(ensure_user, "ann", now)
    for digest in (b"1" * 32, b"2" * 32):
        key = Key(new_id(now), user.id, "ann", "viewer", "", "rk_abcdefgh", 1, now)
        server.write(add_key, key, digest)
    with pytest.raises(ConflictError, match="several keys"):
        server.read(named_key, "rk_abcd")
    with pytest.raises(MissingError):
        server.read(named_key, "rk_ABCD")
    for short in ("rk_", "rk_abc", "abcdefgh", "", "%"):
        with pytest.raises(InputError):
            server.read(named_key, short)
