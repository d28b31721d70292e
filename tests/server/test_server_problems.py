"""Errors as problem details: the right status, what is wrong, the way out, and nothing from inside."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict

from rubrica import errors
from rubrica.errors import Problem, RubricaError, RubricError
from rubrica.jsontext import DEEPEST
from rubrica.server.request_bodies import JsonRoute
from servers import Reply, Running, serving

router = APIRouter(prefix="/trouble", route_class=JsonRoute)
FAULTS: dict[str, Exception] = {
    "input": errors.InputError("a name is missing (give one)"),
    "context": errors.ContextError("word_count is not a number"),
    "missing": errors.MissingError("there is no evaluation x"),
    "denied": errors.DeniedError("only its author may"),
    "conflict": errors.ConflictError("the name is taken"),
    "stale": errors.StaleError("somebody else changed it"),
    "store": errors.StoreError("postgresql://ann@db.internal/rubrica: no route to host"),
    "stored": errors.StoredError("row 17 of scores is broken"),
    "other": RubricaError("asks for a panel of 3 judges"),
    "surprise": ZeroDivisionError("secret figure 42"),
}


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    weights: list[float] = []


@router.get("/{kind}")
async def fail(kind: str) -> None:
    if kind == "rubric":
        raise RubricError([Problem("weights sum to 0.9", ("dimensions",), fix="make them sum to 1"), Problem("empty")])
    raise FAULTS[kind]


@router.post("/take")
async def take(item: Item, times: Annotated[int, Query(ge=1)] = 1) -> Item:
    return item


@router.post("/any")
async def take_anything(body: Annotated[Any, Body()]) -> Any:
    return {"taken": body}


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    file = tmp_path_factory.mktemp("trouble") / "rubrica.db"
    with serving(str(file), keyless=True, extra=router) as running:
        yield running


def check(reply: Reply, status: int, kind: str) -> dict[str, Any]:
    """A reply that is a whole problem detail."""
    assert reply.status == status, reply.text
    assert reply.headers["Content-Type"] == "application/problem+json"
    told: dict[str, Any] = reply.json
    assert (told["type"], told["status"]) == (f"urn:rubrica:problem:{kind}", status)
    assert told["title"]
    assert told["detail"]
    assert told["instance"].startswith("/")
    assert told["request_id"] == reply.headers["X-Request-ID"]
    return told


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("input", 422, "input"),
        ("context", 422, "context"),
        ("missing", 404, "missing"),
        ("denied", 403, "denied"),
        ("conflict", 409, "conflict"),
        ("stale", 412, "stale"),
        ("other", 422, "input"),
    ],
)
def test_each_error_has_its_status_and_says_what_it_says(trouble: Running, name: str, status: int, kind: str) -> None:
    told = check(trouble.anyone.get(f"/trouble/{name}"), status, kind)
    assert told["detail"] == str(FAULTS[name])


def test_a_rubric_comes_back_with_all_its_problems_and_their_paths(trouble: Running) -> None:
    told = check(trouble.anyone.get("/trouble/rubric"), 422, "rubric")
    assert told["problems"] == [
        {
            "message": "weights sum to 0.9",
            "path": ["dimensions"],
            "where": "dimensions",
            "fix": "make them sum to 1",
        },
        {"message": "empty", "path": [], "where": ""},
    ]


def test_a_database_that_cannot_be_used_is_told_without_its_address(
    trouble: Running, caplog: pytest.LogCaptureFixture
) -> None:
    reply = trouble.anyone.get("/trouble/store")
    told = check(reply, 503, "unavailable")
    assert reply.headers["Retry-After"] == "1"
    assert "db.internal" not in reply.text
    assert f"{told['request_id']}: postgresql://ann@db.internal" in caplog.text


@pytest.mark.parametrize("name", ["surprise", "stored"])
def test_what_nobody_foresaw_is_logged_and_told_without_its_insides(
    trouble: Running, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.ERROR)
    reply = trouble.anyone.get(f"/trouble/{name}")
    told = check(reply, 500, "internal")
    assert str(FAULTS[name]) not in reply.text
    assert type(FAULTS[name]).__name__ not in reply.text
    (record,) = [record for record in caplog.records if record.exc_info]
    assert told["request_id"] in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[1] is FAULTS[name]


def test_a_request_id_of_a_proxy_is_used_if_it_is_one(trouble: Running) -> None:
    assert trouble.anyone.get("/healthz", X_Request_ID="abc-1.2").headers["X-Request-ID"] == "abc-1.2"
    for forged in ("x" * 65, "a b", "a\u00e9"):
        assert trouble.anyone.get("/healthz", X_Request_ID=forged).headers["X-Request-ID"] != forged


def test_every_fault_of_a_body_is_told_with_its_path(trouble: Running) -> None:
    told = check(trouble.anyone.post("/trouble/take?times=0", {"weights": [1, "x"], "extra": 1}), 422, "input")
    assert {problem["where"] for problem in told["problems"]} == {"query.times", "name", "weights[1]", "extra"}
    assert all({"message", "path", "where"} <= set(problem) for problem in told["problems"])


def test_a_path_or_method_that_is_not_there_is_told(trouble: Running) -> None:
    check(trouble.anyone.get("/api/nowhere"), 404, "missing")
    reply = trouble.anyone.ask("PATCH", "/api/keys", {})
    check(reply, 405, "method")
    assert reply.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"{'name': 1}",
        b'{"name": NaN}',
        b'{"name": 1e999}',
        b'{"name": "\\ud800"}',
        b'{"name": "\xff"}',
        b'"\x00"',
        b"1" * 5000,
    ],
)
def test_what_is_not_json_is_malformed(trouble: Running, body: bytes) -> None:
    reply = trouble.anyone.post("/trouble/any", body, Content_Type="application/json")
    assert reply.status == (422 if not body else 400)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_deep_nest_is_malformed(trouble: Running, opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    for levels, status in ((DEEPEST, 200), (DEEPEST + 1, 400), (1000, 400), (100_000, 400)):
        body = opening * levels + b"1" + closing * levels
        assert trouble.anyone.post("/trouble/any", body, Content_Type="application/json").status == status


def test_a_wide_body_is_not_a_deep_one(trouble: Running) -> None:
    assert trouble.anyone.post("/trouble/any", [[[]] for _ in range(1000)]).status == 200


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "application/yaml", "json", ""])
def test_another_media_type_is_refused(trouble: Running, media: str) -> None:
    reply = trouble.anyone.post("/trouble/take", b'{"name": "x"}', Content_Type=media)
    told = check(reply, 415, "media-type")
    assert "application/json" in told["detail"]


@pytest.mark.parametrize("media", ["application/json", "APPLICATION/JSON; charset=utf-8", "application/problem+json"])
def test_json_of_any_name_is_taken(trouble: Running, media: str) -> None:
    assert trouble.anyone.post("/trouble/take", b'{"name": "x"}', Content_Type=media).status == 200


@pytest.mark.parametrize("path", ["/trouble/a%00b", "/healthz?q=%00", "/api/keys?cursor=%00"])
def test_a_nul_in_the_address_is_malformed(trouble: Running, path: str) -> None:
    check(trouble.anyone.get(path), 400, "malformed")
