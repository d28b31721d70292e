"""An Idempotency-Key: one effect and one reply, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import uuid4

import pytest
from fastapi import APIRouter, Body, Request, Response
from sqlalchemy import Connection, func, select

from rubrica.errors import ConflictError, InputError, StoreError
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, etag, render
from rubrica.store.idempotency import (
    ABANDONED,
    KEPT,
    IdempotencySlot,
    StoredReply,
    forget,
    release,
    renew,
    reserve,
    save_reply,
)
from rubrica.store.tables import replies, users
from rubrica.store.users import User, ensure_user
from servers import Client, Running, serving

router = APIRouter(route_class=JsonRoute)
Given = Annotated[dict[str, Any], Body()]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@router.post("/notes")
async def note(request: Request, body: Given) -> Response:
    """Makes a user of a name, which is an effect that can be counted; slow and failing on demand."""
    await asyncio.sleep(body.get("slow", 0))
    if body.get("fail") == "before":
        raise InputError("no")
    return await write_once(request, _noted, _note, body, datetime.now(UTC))


@router.post("/tries")
async def attempt(request: Request, body: Given) -> Response:
    return render(RouteAnswer({"tried": body}))


def _note(conn: Connection, body: dict[str, Any], now: datetime) -> User:
    made = ensure_user(conn, f"{body['name']} {uuid4()}", now)
    if body.get("fail") == "inside":
        raise ConflictError("no")
    if body.get("fail") == "store":
        raise StoreError("no")
    if body.get("fail") == "badly":
        raise ZeroDivisionError
    return made


def _noted(user: User) -> RouteAnswer:
    return RouteAnswer({"name": user.name}, 201, {"Location": f"/notes/{user.id}", "ETag": etag(1)})


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def notes(database_url: str, clock: Clock) -> Iterator[Running]:
    with serving(database_url, extra=router, clock=clock) as running:
        yield running


def made(server: Running, name: str) -> int:
    query = select(func.count()).select_from(users).where(users.c.name.startswith(name + " "))
    return int(server.read(lambda conn: conn.execute(query).scalar_one()))


def send(client: Client, body: Any, key: str = "a key") -> Any:
    return client.post("/notes", body, Idempotency_Key=key.replace(" ", "-"))


def test_the_same_request_again_has_the_same_reply_and_no_second_effect(notes: Running) -> None:
    first, second = (send(notes.author, {"name": "ann"}) for _ in range(2))
    assert (first.status, second.status) == (201, 201)
    assert first.body == second.body
    for name in ("Location", "ETag", "Content-Type", "Content-Length"):
        assert first.headers[name] == second.headers[name]
    assert ("Idempotency-Replayed" in first.headers, second.headers["Idempotency-Replayed"]) == (False, "true")
    assert made(notes, "ann") == 1


def test_without_a_key_each_request_has_its_effect(notes: Running) -> None:
    for _ in range(2):
        assert notes.author.post("/notes", {"name": "ann"}).status == 201
    assert made(notes, "ann") == 2


@pytest.mark.parametrize("path", ["/notes", "/notes?dry=1", "/tries"])
def test_the_same_key_for_another_request_is_refused(notes: Running, path: str) -> None:
    assert send(notes.author, {"name": "ann"}).status == 201
    reply = notes.author.post(path, {"name": "bob" if path == "/notes" else "ann"}, Idempotency_Key="a-key")
    assert reply.status == 422
    assert "another request" in reply.json["detail"]
    assert (made(notes, "ann"), made(notes, "bob")) == (1, 0)


def test_keys_of_different_users_have_nothing_to_do_with_each_other(notes: Running) -> None:
    assert send(notes.author, {"name": "ann"}).status == send(notes.player, {"name": "bob"}).status == 201
    assert (made(notes, "ann"), made(notes, "bob")) == (1, 1)


def test_many_at_the_same_time_have_one_effect(notes: Running) -> None:
    request = ("POST", "/notes", {"name": "ann", "slow": 0.1})
    sent = notes.author.together([request] * 8, {"Idempotency-Key": "one"})
    assert {reply.status for reply in sent} <= {201, 409}
    first = [reply for reply in sent if reply.status == 201 and "Idempotency-Replayed" not in reply.headers]
    assert len(first) == 1  # whoever came late may have been given its reply
    assert all(reply.headers["Retry-After"] == "1" for reply in sent if reply.status == 409)
    assert made(notes, "ann") == 1
    assert notes.author.post("/notes", {"name": "ann", "slow": 0.1}, Idempotency_Key="one").status == 201
    assert made(notes, "ann") == 1


@pytest.mark.parametrize(("fail", "status"), [("before", 422), ("inside", 409), ("store", 503), ("badly", 500)])
def test_a_request_that_came_to_nothing_lets_go_of_its_key(notes: Running, fail: str, status: int) -> None:
    assert send(notes.author, {"name": "ann", "fail": fail}).status == status
    assert made(notes, "ann") == 0
    assert send(notes.author, {"name": "ann"}).status == 201
    assert made(notes, "ann") == 1


def test_a_request_that_stores_nothing_lets_go_of_its_key(notes: Running) -> None:
    for _ in range(2):
        reply = notes.author.post("/tries", {"x": 1}, Idempotency_Key="one")
        assert (reply.status, "Idempotency-Replayed" in reply.headers) == (200, False)
    assert notes.read(lambda conn: conn.execute(select(func.count()).select_from(replies)).scalar_one()) == 0


@pytest.mark.parametrize("key", ["", "x" * 256, "with space", "é"])
def test_a_key_that_is_none_is_refused(notes: Running, key: str) -> None:
    assert notes.author.post("/notes", {"name": "ann"}, Idempotency_Key=key).status == 400
    assert made(notes, "ann") == 0


def test_a_body_that_is_too_large_reserves_nothing(notes: Running) -> None:
    huge = b'{"name":"' + b"a" * 3_000_000 + b'"}'
    assert notes.author.post("/notes", huge, Idempotency_Key="one", Content_Type="application/json").status == 413
    assert send(notes.author, {"name": "ann"}, "one").status == 201


def test_a_reply_is_kept_for_a_day_and_no_longer(notes: Running, clock: Clock) -> None:
    send(notes.author, {"name": "ann"})
    clock.now += KEPT - timedelta(seconds=1)
    send(notes.author, {"name": "ann"})
    assert made(notes, "ann") == 1
    clock.now += timedelta(seconds=1)
    send(notes.author, {"name": "ann"})
    assert made(notes, "ann") == 2


def test_a_server_that_died_on_the_way_blocks_its_key_for_a_while(notes: Running, clock: Clock) -> None:
    """The reservation is there and nobody works on it, which is what kill -9 leaves behind."""
    notes.author.post("/tries", {}, Idempotency_Key="other")
    caller = notes.issued["author"].key.user_id
    digest = _digest_of(notes, {"name": "ann"})
    notes.write(reserve, IdempotencySlot(caller, "a-key", digest, uuid4()), clock())
    assert send(notes.author, {"name": "ann"}).status == 409
    clock.now += ABANDONED
    assert send(notes.author, {"name": "ann"}).status == 201
    assert made(notes, "ann") == 1


def _digest_of(server: Running, body: Any) -> bytes:
    """The digest under which a request is kept."""
    send(server.author, body, "probe")
    query = select(replies.c.request).where(replies.c.key == "probe")
    digest: bytes = server.read(lambda conn: conn.execute(query).scalar_one())
    server.write(lambda conn: conn.execute(users.delete().where(users.c.name.startswith("ann "))))
    return digest


def slot(holder: int = 1, key: str = "k") -> IdempotencySlot:
    return IdempotencySlot(uuid4() if key == "new" else _USER, key, b"r" * 32, _HOLDERS[holder])


_USER = uuid4()
_HOLDERS = {1: uuid4(), 2: uuid4()}


def test_whoever_lost_the_key_to_another_cannot_write_the_reply(database: Any) -> None:
    assert database.write(reserve, slot(1), NOON) is None
    assert database.write(reserve, slot(2), NOON + ABANDONED) is None

    def late(conn: Connection) -> None:
        ensure_user(conn, "late", NOON)
        save_reply(conn, slot(1), 201, {}, b"", NOON)

    with pytest.raises(ConflictError, match="took over"):
        database.write(late)
    assert database.read(lambda conn: conn.execute(select(users).where(users.c.name == "late")).all()) == []
    database.write(release, slot(1))
    assert database.write(reserve, slot(1), NOON + ABANDONED) == StoredReply(b"r" * 32, None, {}, b"")


def test_a_request_that_shows_signs_of_life_keeps_its_key(database: Any) -> None:
    database.write(reserve, slot(1), NOON)
    database.write(renew, slot(1), NOON + ABANDONED / 2)
    assert database.write(reserve, slot(2), NOON + ABANDONED) is not None
    database.write(renew, slot(2), NOON + ABANDONED)  # not the holder: no sign of life
    assert database.write(reserve, slot(2), NOON + 2 * ABANDONED) is None


def test_what_is_too_old_is_dropped_and_what_is_not_stays(database: Any) -> None:
    database.write(reserve, slot(1, "done"), NOON)
    database.write(save_reply, slot(1, "done"), 201, {"ETag": '"1"'}, b"\x00\xff", NOON)
    database.write(reserve, slot(1, "under way"), NOON)
    assert database.write(forget, NOON + ABANDONED) == 1
    assert database.write(reserve, slot(2, "done"), NOON + ABANDONED) == StoredReply(
        b"r" * 32, 201, {"ETag": '"1"'}, b"\x00\xff"
    )
    assert database.write(forget, NOON + KEPT) == 1


def test_a_clock_that_is_set_back_does_not_keep_the_key_of_who_is_gone(database: Any) -> None:
    database.write(reserve, slot(1), NOON)
    assert database.write(reserve, slot(2), NOON - timedelta(hours=1)) is None
    database.write(save_reply, slot(2), 201, {}, b"done", NOON - timedelta(hours=1))
    for jump in (timedelta(hours=-2), timedelta(hours=1)):
        assert database.write(reserve, slot(1), NOON + jump) == StoredReply(b"r" * 32, 201, {}, b"done")


def test_a_lesser_key_of_the_same_user_is_not_told_what_a_stronger_one_was(server: Running) -> None:
    strong, weak, other = (
        server.newcomer("author", "the same"),
        server.newcomer("viewer", "the same"),
        server.newcomer("author", "another"),
    )
    first, replayed, lesser, others = (
        caller.post("/api/games", {"name": "Moth night"}, Idempotency_Key="moth")
        for caller in (strong, strong, weak, other)
    )
    assert (first.status, replayed.body, lesser.status) == (201, first.body, 422)
    assert first.json["id"] not in lesser.text
    assert (others.status, others.json["id"] != first.json["id"]) == (201, True)
