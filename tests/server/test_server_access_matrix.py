"""Who may do what: every route for every role, for nobody, and for an author whose things these are not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from msgspec.structs import replace
from starlette.routing import Route

import rubrica
from access_table import (
    CALLERS,
    FILES,
    GATEWAY,
    GONE,
    NUMBERS,
    ONE_ROUND,
    PAGES,
    ROWS,
    SHARED_MODELS,
    SPRING,
    Row,
    definition,
)
from council_samples import cut_off_session
from rubrica.engine.load import rubric_from_data
from rubrica.runs.execute import execute_run
from rubrica.runs.review.queue_items import new_items
from rubrica.runs.review.sampling import draw
from rubrica.server.gateway import app as gateway_app
from rubrica.store.run_access import Sharing
from rubrica.workspace.access import Caller
from rubrica.workspace.reviews import enqueue, list_items
from rubrica.workspace.run_access import RunKey, claim_run, open_review, share_run
from rubrica.workspace.run_jobs import RunJob
from rubrica.workspace.webhooks import create_webhook, own_webhooks, remove_webhook
from servers import Client, Reply, Running

LIST_ROUTES = """
import json, sys
from rubrica.server.app import create_app
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.studio.mount import attach
from rubrica.studio.studio import Studio

def listed(routes, before=""):
    for route in routes:
        path = before + route.path
        inside = getattr(route, "routes", None)
        methods = getattr(route, "methods", None)
        if inside:
            yield from listed(inside, path)
        elif methods is None:
            yield type(route).__name__.upper(), path
        else:
            yield from ((method, path) for method in methods if method != "HEAD")

service = Service.open(ServerSettings(database=sys.argv[1], preload=False))
app = create_app(service)
attach(app, Studio(service, app.state.door))
print(json.dumps(list(listed(app.routes))))
"""


class Things:
    """What routes are asked for, made by the author when it is needed: anew after each request that may change it."""

    def __init__(self, server: Running) -> None:
        self._author = server.author
        self._server = server
        self._known: dict[tuple[str, ...], str] = {}  # by name, and what it belongs to
        made = self._author.post("/api/evaluations", {**definition(), "name": "On the shelf", "is_public": True})
        assert made.status in (201, 409)

    def path(self, row: Row) -> str:
        return row.path.format(**self.values(row, keep=row.method == "GET"))

    def values(self, row: Row, *, keep: bool) -> dict[str, str]:
        """What is put into a path, by the name of its parameter."""
        values: dict[str, str] = {}
        for parameter, thing in row.things.items():
            values[parameter] = self.thing(thing, values, keep=keep)
        return values

    def thing(self, name: str, others: dict[str, str], *, keep: bool) -> str:
        make: Callable[[dict[str, str]], str] | None = getattr(self, f"_{name}", None)
        if make is None:
            return name
        if not keep:
            return make(others)
        known = (name, *others.values())
        if known not in self._known:
            self._known[known] = make(others)
        return self._known[known]

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

    def _private_closed_game(self, _: dict[str, str]) -> str:
        return self._closed(self._private_game({}))

    def _public_closed_game(self, _: dict[str, str]) -> str:
        return self._closed(self._public_game({}))

    def _closed(self, game: str) -> str:
        assert self._author.patch(f"/api/games/{game}", {"status": "closed"}).status == 200
        return game

    def _invitation(self, others: dict[str, str]) -> str:
        return str(self._made(f"/api/games/{others['game_id']}/invitations", {})["id"])

    def _team(self, others: dict[str, str]) -> str:
        return str(self._made(f"/api/games/{others['game_id']}/teams", {"name": "Moths"})["id"])

    def _season(self, others: dict[str, str]) -> str:
        return str(self._made(f"/api/games/{others['game_id']}/seasons", SPRING)["id"])

    def _cup(self, others: dict[str, str]) -> str:
        game = f"/api/games/{others['game_id']}"
        self._author.post(f"{game}/evaluate", {**ONE_ROUND, "player": "another model"})
        return str(self._made(f"{game}/tournaments", {"name": "Cup"})["id"])

    _open_cup = _cup

    def _private_attachment(self, others: dict[str, str]) -> str:
        attached = self._author.get(f"/api/games/{others['game_id']}/evaluations").json["evaluations"]
        return str(attached[0]["id"])

    _public_attachment = _private_attachment

    def _player(self, _: dict[str, str]) -> str:
        return str(self._made("/api/players", {"name": f"model {next(NUMBERS)}"})["id"])

    def _joined_player(self, others: dict[str, str]) -> str:
        player = self._player({})
        assert self._author.put(f"/api/games/{others['game_id']}/players/{player}").status == 200
        return player

    def _score(self, _: dict[str, str]) -> str:
        return str(self._made("/api/evaluations/on-the-shelf/execute", {"response": "Hello."})["id"])

    def _private_item(self, _: dict[str, str], sharing: Sharing = "private") -> str:
        now, run = self._server.service.clock(), RunKey(f"run {next(NUMBERS)}", "its id")
        issued = self._server.issued["author"].key
        author = Caller(issued.user_id, issued.user, "author")
        rubric = rubric_from_data(definition())
        evaluation = replace(rubrica.evaluate(rubric, response="Hello."), case="case-1")
        self._server.write(claim_run, author, run, now)
        self._server.write(open_review, author, run, sharing, [], now)
        self._server.write(enqueue, author, run, new_items(draw(lambda: [evaluation], 1.0), {rubric.name: rubric}), now)
        [item] = self._server.read(list_items, author, "open", run.name, None, 10)
        return str(item.id)

    def _shared_item(self, _: dict[str, str]) -> str:
        return self._private_item({}, "shared")

    def _private_run(self, _: dict[str, str], sharing: Sharing = "private") -> str:
        """A finished run, under a name that looks like an id."""
        settings = self._server.service.settings
        file = settings.runs / "cases" / "cases.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"id": "case-1", "response": "Hello."}\n')
        job = RunJob(settings.runs / str(uuid4()), rubric_from_data(definition()), file)
        outcome = execute_run(job.request)
        assert outcome.ending == "finished"
        key, now = RunKey(job.folder.name, job.id), self._server.service.clock()
        issued = self._server.issued["author"].key
        author = Caller(issued.user_id, issued.user, "author")
        self._server.write(claim_run, author, key, now)
        self._server.write(share_run, author, key, sharing, [], now)
        return key.name

    def _shared_run(self, _: dict[str, str]) -> str:
        return self._private_run({}, "shared")

    def _session(self, _: dict[str, str]) -> str:
        issued, now = self._server.issued["author"].key, self._server.service.clock()
        return str(self._server.write(cut_off_session, issued.user_id, now))

    def _webhook(self, _: dict[str, str]) -> str:
        issued, now = self._server.issued["author"].key, self._server.service.clock()
        author = Caller(issued.user_id, issued.user, "author")
        for one in self._server.read(own_webhooks, author):  # there is room for ten
            self._server.write(remove_webhook, author, one.id)
        made = self._server.write(create_webhook, author, "https://192.0.2.1/", ["run.failed"], now)
        return str(made.id)

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
    statuses: dict[str, int] = {}
    path = ""
    for caller in CALLERS:
        path = path or things.path(row)
        statuses[caller] = ask(callers[caller], row, path).status
        if statuses[caller] < 400:  # whoever is refused has changed nothing, and the next one asks for the same
            path = ""
    assert statuses == dict(zip(CALLERS, map(int, row.statuses.split()), strict=True))


def test_every_route_page_file_and_socket_is_in_the_table(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIST_ROUTES, str(tmp_path / "rubrica.db")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    there = [(method, _unversioned(path)) for method, path in json.loads(done.stdout)]
    rows = {(row.method, row.path) for row in ROWS} | {(row.method, row.path) for row in FILES}
    rows |= {("GET", row.path) for row in PAGES}
    assert set(there) - rows == set(), "add it to tests/access_table.py, and who may use it"
    assert rows - set(there) == set(), "it is gone: take it out of tests/access_table.py"
    assert len(there) == len(set(there)), "a path is there twice"


def test_every_route_of_the_gateway_is_in_the_table() -> None:
    others = dict.fromkeys(("/embeddings", "/messages/count_tokens"), cast("Any", print))
    routes = gateway_app._routes(dict.fromkeys(gateway_app.PROTOCOLS, cast("Any", print)), others)
    there = {
        (method, route.path)
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or {"GET"}) - {"HEAD"}
    }
    assert len(routes) == len({route.path for route in routes if isinstance(route, Route)})
    assert {(row.method, row.path) for row in GATEWAY} == there, "add it to tests/access_table.py, and who may use it"


def test_every_path_with_an_id_is_asked_for_something_of_somebody_else() -> None:
    asked = {row.path for row in ROWS if int(row.statuses.split()[CALLERS.index("other")]) in (403, 404)}
    asked |= {row.path for row in PAGES if row.outcomes.split()[CALLERS.index("other")] in ("missing", "denied")}
    paths = {row.path for row in (*ROWS, *GATEWAY) if "{" in row.path} | {row.path for row in PAGES if "{" in row.path}
    assert {path for path in paths - asked if not path.endswith(SHARED_MODELS)} == set()


def _unversioned(path: str) -> str:
    """A path without the version of what draws pages."""
    return re.sub(r"/_nicegui/[0-9][0-9.]*/", "/_nicegui/{version}/", path)


# --- what is somebody else's does not exist, and looks no different from what nobody has -------------------------

PRIVATE_THINGS = frozenset(
    {"private", "private_game", "private_attachment", "private_item", "private_run"}
    | {"score", "player", "joined_player", "key", "session", "webhook"}
)
HIDDEN = [row for row in ROWS if PRIVATE_THINGS & set(row.things.values())]
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
    values = things.values(row, keep=True)  # nobody else changes it
    hidden = [values[name] for name, thing in row.things.items() if thing in PRIVATE_THINGS and len(values[name]) == 36]
    nowhere = {name: GONE if value in hidden else value for name, value in values.items()}
    found, missing = (ask(callers["other"], row, row.path.format(**given)) for given in (values, nowhere))
    assert told(found, *hidden) == told(missing, GONE)


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
        assert str(profiled["name"]) not in refused.text


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
