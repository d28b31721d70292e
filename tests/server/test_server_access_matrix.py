"""Who may do what: every route for every role, for nobody, and for an author whose things these are not."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from rubrica.server.app import create_app
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from servers import Client, Reply, Running

CALLERS = ("nobody", "viewer", "player", "author", "other", "admin")
"""`author` made the things that are asked for; `other` is an author who did not."""

NUMBERS = itertools.count()
GONE = "018f0000-0000-7000-8000-000000000000"


def definition(**more: Any) -> dict[str, Any]:
    rule = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
    return {"name": f"Brief {next(NUMBERS)}", "scoring_type": "binary", "rules": [rule], **more}


class Row(NamedTuple):
    """One route with things put in its path, and the status that each of `CALLERS` is answered with."""

    method: str
    path: str
    things: dict[str, str]  # by the name of a path parameter
    body: Any  # a function makes a new one each time
    statuses: str


READ_PRIVATE, READ_PUBLIC = "401 404 404 200 404 200", "401 200 200 200 200 200"
PRIVATE, PUBLIC = {"reference": "private"}, {"reference": "public"}
OFFER, NO_OFFER = {"id": "public"}, {"id": "private"}
OWN_GAME, OPEN_GAME = {"game_id": "private_game"}, {"game_id": "public_game"}
EVALUATION, MARKET, GAME = "/api/evaluations/{reference}", "/api/marketplace/{id}", "/api/games/{game_id}"
ONE_ROUND = {"round": {"response": "Hello."}}


def _attaching() -> dict[str, Any]:
    return {"evaluation_id": "on-the-shelf", "weights": "renormalise"}


ROWS = [
    Row("POST", "/api/evaluations", {}, definition, "401 403 403 201 201 201"),
    Row("GET", "/api/evaluations", {}, None, READ_PUBLIC),
    Row("POST", "/api/evaluations/import", {}, definition, "401 403 403 201 201 201"),
    Row("GET", EVALUATION, PRIVATE, None, READ_PRIVATE),
    Row("GET", EVALUATION, PUBLIC, None, READ_PUBLIC),
    Row("PUT", EVALUATION, PRIVATE, definition, "401 403 403 200 404 200"),
    Row("PUT", EVALUATION, PUBLIC, definition, "401 403 403 200 403 200"),
    Row("DELETE", EVALUATION, PRIVATE, None, "401 404 404 204 404 204"),
    Row("DELETE", EVALUATION, PUBLIC, None, "401 403 403 204 403 204"),
    Row("POST", f"{EVALUATION}/test", PRIVATE, {"response": "Hello."}, READ_PRIVATE),
    Row("POST", f"{EVALUATION}/test", PUBLIC, {"response": "Hello."}, READ_PUBLIC),
    Row("POST", f"{EVALUATION}/execute", PRIVATE, {"response": "Hello."}, "401 403 404 201 404 201"),
    Row("POST", f"{EVALUATION}/execute", PUBLIC, {"response": "Hello."}, "401 403 201 201 201 201"),
    Row("GET", f"{EVALUATION}/versions", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/versions", PUBLIC, None, READ_PUBLIC),
    Row("GET", f"{EVALUATION}/versions/{{which}}", {**PRIVATE, "which": "1"}, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/versions/{{which}}", {**PUBLIC, "which": "1"}, None, READ_PUBLIC),
    Row(
        "GET",
        f"{EVALUATION}/versions/{{which}}/diff/{{other}}",
        {**PRIVATE, "which": "1", "other": "1.0"},
        None,
        READ_PRIVATE,
    ),
    Row(
        "GET",
        f"{EVALUATION}/versions/{{which}}/diff/{{other}}",
        {**PUBLIC, "which": "1", "other": "1.0"},
        None,
        READ_PUBLIC,
    ),
    Row("POST", f"{EVALUATION}/versions/{{which}}/restore", {**PRIVATE, "which": "1"}, None, "401 404 404 200 404 200"),
    Row("POST", f"{EVALUATION}/versions/{{which}}/restore", {**PUBLIC, "which": "1"}, None, "401 403 403 200 403 200"),
    Row("POST", f"{EVALUATION}/fork", PRIVATE, None, "401 404 404 201 404 201"),
    Row("POST", f"{EVALUATION}/fork", PUBLIC, None, "401 403 403 201 201 201"),
    Row("GET", f"{EVALUATION}/lineage", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/lineage", PUBLIC, None, READ_PUBLIC),
    Row("GET", f"{EVALUATION}/export", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/export", PUBLIC, None, READ_PUBLIC),
    Row("GET", f"{EVALUATION}/docs", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/docs", PUBLIC, None, READ_PUBLIC),
    Row("GET", "/api/marketplace/evaluations", {}, None, READ_PUBLIC),
    Row("GET", "/api/marketplace/trending", {}, None, READ_PUBLIC),
    Row("GET", MARKET, NO_OFFER, None, "401 404 404 404 404 404"),
    Row("GET", MARKET, OFFER, None, READ_PUBLIC),
    Row("POST", f"{MARKET}/import", NO_OFFER, None, "401 403 403 404 404 404"),
    Row("POST", f"{MARKET}/import", OFFER, None, "401 403 403 201 201 201"),
    Row("POST", f"{MARKET}/rate", NO_OFFER, {"rating": 4}, "401 403 404 404 404 404"),
    Row("POST", f"{MARKET}/rate", OFFER, {"rating": 4}, "401 403 200 403 200 200"),
    Row("GET", f"{MARKET}/reviews", NO_OFFER, None, "401 404 404 404 404 404"),
    Row("GET", f"{MARKET}/reviews", OFFER, None, READ_PUBLIC),
    Row("PUT", f"{MARKET}/featured", NO_OFFER, {"featured": True}, "401 403 403 403 403 404"),
    Row("PUT", f"{MARKET}/featured", OFFER, {"featured": True}, "401 403 403 403 403 200"),
    Row("POST", "/api/games", {}, {"name": "Moth night"}, "401 403 403 201 201 201"),
    Row("GET", "/api/games", {}, None, READ_PUBLIC),
    Row("GET", GAME, OWN_GAME, None, READ_PRIVATE),
    Row("GET", GAME, OPEN_GAME, None, READ_PUBLIC),
    Row("PATCH", GAME, OWN_GAME, {"name": "Fly night"}, "401 404 404 200 404 200"),
    Row("PATCH", GAME, OPEN_GAME, {"name": "Fly night"}, "401 403 403 200 403 200"),
    Row("GET", f"{GAME}/evaluations", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/evaluations", OPEN_GAME, None, READ_PUBLIC),
    Row("POST", f"{GAME}/evaluations", OWN_GAME, _attaching, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/evaluations", OPEN_GAME, _attaching, "401 403 403 201 403 201"),
    Row("PUT", f"{GAME}/evaluations", OWN_GAME, {"evaluations": []}, "401 404 404 200 404 200"),
    Row("PUT", f"{GAME}/evaluations", OPEN_GAME, {"evaluations": []}, "401 403 403 200 403 200"),
    Row(
        "DELETE",
        f"{GAME}/evaluations/{{attachment_id}}",
        {**OWN_GAME, "attachment_id": "private_attachment"},
        None,
        "401 404 404 200 404 200",
    ),
    Row(
        "DELETE",
        f"{GAME}/evaluations/{{attachment_id}}",
        {**OPEN_GAME, "attachment_id": "public_attachment"},
        None,
        "401 403 403 200 403 200",
    ),
    Row("POST", f"{GAME}/evaluate", OWN_GAME, ONE_ROUND, "401 404 404 200 404 200"),
    Row("POST", f"{GAME}/evaluate", OPEN_GAME, ONE_ROUND, "401 403 200 200 200 200"),
    Row("POST", f"{GAME}/evaluate", OWN_GAME, {}, "401 403 404 200 404 200"),
    Row("POST", f"{GAME}/evaluate", OPEN_GAME, {**ONE_ROUND, "player": "model"}, "401 403 403 200 403 200"),
    Row("GET", f"{GAME}/rounds", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/rounds", OPEN_GAME, None, READ_PUBLIC),
    Row(
        "GET",
        f"{GAME}/rounds/{{player}}/{{number}}",
        {**OWN_GAME, "player": "model", "number": "1"},
        None,
        READ_PRIVATE,
    ),
    Row(
        "GET",
        f"{GAME}/rounds/{{player}}/{{number}}",
        {**OPEN_GAME, "player": "model", "number": "1"},
        None,
        READ_PUBLIC,
    ),
    Row("GET", f"{GAME}/leaderboard", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/leaderboard", OPEN_GAME, None, READ_PUBLIC),
    Row("GET", "/api/leaderboard", {}, None, READ_PUBLIC),
    Row("POST", "/api/players", {}, lambda: {"name": f"model {next(NUMBERS)}"}, "401 403 201 201 201 201"),
    Row("GET", "/api/players", {}, None, READ_PUBLIC),
    Row("GET", "/api/players/{player_id}", {"player_id": "player"}, None, READ_PRIVATE),
    Row("GET", "/api/scores", {}, None, READ_PUBLIC),
    Row("GET", "/api/scores/{score_id}", {"score_id": "score"}, None, READ_PRIVATE),
    Row("POST", "/api/keys", {}, {"role": "viewer"}, "401 403 403 403 403 201"),
    Row("GET", "/api/keys", {}, None, READ_PUBLIC),
    Row("DELETE", "/api/keys/{key_id}", {"key_id": "key"}, None, "401 404 404 204 404 204"),
    Row("GET", "/api/whoami", {}, None, READ_PUBLIC),
    Row("GET", "/api/usage", {}, None, READ_PUBLIC),
    Row("POST", "/v1/council/run", {}, {"question": "Why?"}, "401 403 403 503 503 503"),
    Row("GET", "/v1/council/stream", {}, None, "401 403 403 503 503 503"),
    Row("POST", "/v2/generate_questions", {}, {"grade": 3, "count": 1}, "401 403 403 503 503 503"),
    Row("GET", "/healthz", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/docs", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/openapi.json", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/", {}, None, "307 307 307 307 307 307"),
    Row("GET", "/signin", {}, None, "200 200 200 200 200 200"),
    Row("POST", "/signin", {}, {"key": "none of them"}, "401 401 401 401 401 401"),
    Row("POST", "/signout", {}, None, "401 303 303 303 303 303"),
]


class Things:
    """What routes are asked for, made by the author when it is needed: anew for each request that may change it."""

    def __init__(self, server: Running) -> None:
        self._author = server.author
        self._server = server
        self._known: dict[str, str] = {}
        made = self._author.post("/api/evaluations", {**definition(), "name": "On the shelf", "is_public": True})
        assert made.status in (201, 409)

    def path(self, row: Row) -> str:
        values: dict[str, str] = {}
        for parameter, thing in row.things.items():
            values[parameter] = self.thing(thing, values, keep=row.method == "GET")
        return row.path.format(**values)

    def thing(self, name: str, others: dict[str, str], *, keep: bool) -> str:
        make: Callable[[dict[str, str]], str] | None = getattr(self, f"_{name}", None)
        if make is None:
            return name
        if not keep:
            return make(others)
        if name not in self._known:
            self._known[name] = make(others)
        return self._known[name]

    def _private(self, _: dict[str, str]) -> str:
        return str(self._made("/api/evaluations", definition())["id"])

    def _public(self, _: dict[str, str]) -> str:
        return str(self._made("/api/evaluations", definition(is_public=True))["id"])

    def _private_game(self, _: dict[str, str], *, is_public: bool = False) -> str:
        game = str(self._made("/api/games", {"name": "Moth night", "is_public": is_public})["id"])
        self._made(f"/api/games/{game}/evaluations", {"evaluation_id": "on-the-shelf"})
        played = self._author.post(f"/api/games/{game}/evaluate", {**ONE_ROUND, "player": "model"})
        assert played.status == 200
        return game

    def _public_game(self, _: dict[str, str]) -> str:
        return self._private_game({}, is_public=True)

    def _private_attachment(self, others: dict[str, str]) -> str:
        attached = self._author.get(f"/api/games/{others['game_id']}/evaluations").json["evaluations"]
        return str(attached[0]["id"])

    _public_attachment = _private_attachment

    def _player(self, _: dict[str, str]) -> str:
        return str(self._made("/api/players", {"name": f"model {next(NUMBERS)}"})["id"])

    def _score(self, _: dict[str, str]) -> str:
        return str(self._made("/api/evaluations/on-the-shelf/execute", {"response": "Hello."})["id"])

    def _key(self, _: dict[str, str]) -> str:
        made = self._server.admin.post("/api/keys", {"role": "viewer", "user": self._author.user})
        return str(made.json["id"])

    def _made(self, path: str, body: Any) -> Any:
        made = self._author.post(path, body)
        assert made.status == 201, made.text
        return made.json


@pytest.fixture(scope="module")
def things(shared_server: Running) -> Things:
    return Things(shared_server)


@pytest.fixture(scope="module")
def callers(shared_server: Running) -> dict[str, Client]:
    ready = {role: shared_server.client(role) for role in ("viewer", "player", "author", "admin")}
    return {"nobody": shared_server.anyone, "other": shared_server.newcomer("author", "the other author"), **ready}


def ask(client: Client, row: Row, path: str) -> Reply:
    body = row.body() if callable(row.body) else row.body
    return client.ask(row.method, path, body, {"If-Match": "*"} if row.method == "PUT" else None)


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.method} {row.path} {' '.join(row.things.values())}".strip()
)
def test_a_route_answers_each_caller_as_they_may(things: Things, callers: dict[str, Client], row: Row) -> None:
    statuses = {caller: ask(callers[caller], row, things.path(row)).status for caller in CALLERS}
    assert statuses == dict(zip(CALLERS, map(int, row.statuses.split()), strict=True))


def test_every_route_is_in_the_matrix(tmp_path: Path) -> None:
    service = Service.open(ServerSettings(database=str(tmp_path / "rubrica.db"), preload=False))
    there = {
        (method, route.path)
        for route in create_app(service).routes
        if isinstance(route, APIRoute | Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    asyncio.run(service.close())
    assert {(row.method, row.path) for row in ROWS} == there, "add the route, and who may use it, to ROWS"


# --- what is somebody else's does not exist, and looks no different from what nobody has -------------------------

HIDDEN = [
    row
    for row in ROWS
    if {"private", "private_game", "private_attachment", "score", "player", "key"} & set(row.things.values())
]
BAD_CONTEXTS = ({"response": 5}, {"metadata": {"response_time": "x"}}, {"round_history": 7})


def told(reply: Reply, *ids: str) -> Any:
    """A reply without what is another each time."""
    text = reply.text
    for each in ids:
        text = text.replace(each, "ID")
    return reply.status, {**json.loads(text), "request_id": ""}


@pytest.mark.parametrize("row", HIDDEN, ids=lambda row: f"{row.method} {row.path}")
def test_what_is_somebody_elses_looks_like_what_is_not_there(
    things: Things, callers: dict[str, Client], row: Row
) -> None:
    path = things.path(row)
    values = {name: GONE if getattr(things, f"_{thing}", None) else thing for name, thing in row.things.items()}
    nowhere = row.path.format(**values)
    ids = [part for part in path.split("/") if len(part) == 36]
    found, missing = ask(callers["other"], row, path), ask(callers["other"], row, nowhere)
    assert told(found, *ids) == told(missing, GONE)


@pytest.mark.parametrize("way", ["test", "execute"])
def test_what_a_private_rubric_wants_is_told_to_nobody_else(
    things: Things, callers: dict[str, Client], way: str
) -> None:
    profiled = {
        "name": f"secret-{uuid4().hex[:8]}",
        "version": "1.0.0",
        "dimensions": {"brief": {"formula": "1 if word_count < 9 else 0", "weight": 1}},
        "profiles": {"by": "kind", "CLASSIFIED": {"threshold": 0.5}},
        "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
    }
    made = callers["author"].post("/api/evaluations", profiled)
    assert made.status == 201, made.text
    path = f"/api/evaluations/{made.json['id']}/{way}"
    own = callers["author"].post(path, {"response": "Hello.", "kind": "CLASSIFIED"})
    assert own.status in (200, 201), own.text  # from here on the server has it at hand
    assert "CLASSIFIED" in callers["author"].post(path, {"response": "Hello."}).text
    for body in ({"response": "Hello."}, {"response": "Hello.", "kind": "x"}, *BAD_CONTEXTS):
        refused = callers["other"].post(path, body)
        assert refused.status == 404, refused.text
        assert "CLASSIFIED" not in refused.text
        assert profiled["name"] not in refused.text


def test_what_was_public_and_is_private_again_tells_nobody_else_what_it_wants(
    things: Things, callers: dict[str, Client]
) -> None:
    made = callers["author"].post("/api/evaluations", definition(is_public=True)).json
    path = f"/api/evaluations/{made['id']}"
    assert callers["other"].post(f"{path}/execute", {"response": "Hello."}).status == 201
    assert callers["author"].put(path, {**made, "is_public": False}, If_Match="*").status == 200
    for body in ({"response": "Hello."}, *BAD_CONTEXTS):
        assert callers["other"].post(f"{path}/execute", body).status == 404


@pytest.mark.parametrize("weights", ["exact", "renormalise"])
def test_a_private_rubric_of_somebody_else_is_attached_by_nobody(
    things: Things, callers: dict[str, Client], weights: str
) -> None:
    other = callers["other"]
    game = other.post("/api/games", {"name": "Theirs"}).headers["Location"]
    private = things.thing("private", {}, keep=False)
    for reference in (private, f"{private}@1.0", f"{private}@1"):
        gone = reference.replace(private, GONE)
        for method in ("POST", "PUT"):
            sent, missing = (
                other.ask(method, f"{game}/evaluations", {"evaluations": [{"evaluation_id": one}], "weights": weights})
                for one in (reference, gone)
            )
            assert sent.status == 404
            assert told(sent, private) == told(missing, GONE)


def test_scores_of_others_are_in_nobodys_list(things: Things, callers: dict[str, Client]) -> None:
    public, game = things.thing("public", {}, keep=False), things.thing("public_game", {}, keep=False)
    assert callers["author"].post(f"/api/evaluations/{public}/execute", {"response": "Hello."}).status == 201
    for query in (f"evaluation_id={public}", f"game_id={game}"):
        assert len(callers["author"].get(f"/api/scores?{query}").json["items"]) == 1
        assert callers["other"].get(f"/api/scores?{query}").json["items"] == []
        assert len(callers["admin"].get(f"/api/scores?{query}").json["items"]) == 1
