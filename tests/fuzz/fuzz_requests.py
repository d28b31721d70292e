"""HTTP requests to the server and to the gateway: any path with any body, and what the OpenAPI document allows."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import msgspec
from fuzz_asgi import Answered, call, living
from fuzz_changes import bent, bent_rubric, changes, rubric_names
from fuzz_replies import CHAT
from fuzz_target import Check, Target
from fuzz_texts import as_bytes, broken, data, json_text, json_texts, scalars, words
from fuzz_uploads import CASE
from gateway_stage import Scripted
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from rubrica.gateway.gateway import Gateway
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.settings import GatewaySettings
from rubrica.llm.model import ModelError
from rubrica.llm.settings import Settings
from rubrica.server.app import create_app
from rubrica.server.gateway.app import create_app as create_gateway
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.store.database import Database
from rubrica.store.upgrade import upgrade

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import Case, GenerationMode

Request = tuple[str, str, dict[str, str], bytes]
"""Method, path with query, headers, body. In a path ``{game_id}`` stands for something that is there."""

RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
DEFINITION: dict[str, Any] = {
    "name": "Brief", "version": "1.0.0", "scoring_type": "binary", "rules": [RULE], "is_public": True
}  # fmt: skip
ROUND = {"prompt": "Greet me.", "response": "Hello there."}
BODIES: tuple[dict[str, Any], ...] = (
    DEFINITION, ROUND, CASE, {"name": "Cup", "is_public": True}, {"player": "ann", "round": ROUND},
    {"evaluation_id": "brief", "weight": 0.5, "config_overrides": {"max_score": 9}}, {"name": "ann"},
    {"evaluations": [{"evaluation_id": "brief", "weight": 1}]}, {"bundle": 1, "rubric": DEFINITION},
    {"player": "ann", "rounds": [ROUND]}, {"role": "viewer", "user": "bob", "per_minute": 5}, {"rating": 5},
)  # fmt: skip
OWN_HEADERS = ("content-type", "if-match", "idempotency-key")
"""Of what schemathesis sends; this server needs no key, and unknown ones would only be turned away."""
NO_MODEL = "no model"
"""This server has none, and says so with a 5xx."""


def _service() -> Service:
    return Service.open(ServerSettings(database=":memory:"))


def _document() -> dict[str, Any]:
    """The OpenAPI document of the server, which needs no database."""
    with TemporaryDirectory() as folder:
        app = create_app(Service.open(ServerSettings(database=f"sqlite:///{folder}/rubrica.db")))
        return app.openapi()


def _operations() -> st.SearchStrategy[tuple[str, str]]:
    paths = {path: item for path, item in _document()["paths"].items() if not path.startswith("/api/keys")}
    found = [(method.upper(), path) for path, item in paths.items() for method in item if method != "parameters"]
    return st.sampled_from(found)


_header = st.dictionaries(
    st.sampled_from(
        [
            *("Content-Type", "If-Match", "Idempotency-Key", "Accept", "Accept-Encoding", "Cookie", "Origin", "Range"),
            *("Content-Length", "Transfer-Encoding", "X-Forwarded-For", "X-HTTP-Method-Override", "Authorization"),
        ]
    ),
    st.sampled_from(["application/json", "text/yaml", "*", "gzip", "-1", "1e9", "chunked", 'W/"1"', "Bearer rk_x"])
    | words.map(lambda text: text.replace("\n", "")),
    max_size=2,
)
_json = {"Content-Type": "application/json"}
_bodies = as_bytes(
    st.builds(bent, st.sampled_from(BODIES), changes).map(json_text)
    | st.builds(bent_rubric, rubric_names, changes).map(json_text)
    | json_texts
    | broken(st.sampled_from(BODIES).map(json_text))
)
_query = st.dictionaries(
    st.sampled_from(["page", "limit", "sort", "category", "search", "tags", "format", "fields", "profile"]),
    scalars.map(str),
    max_size=3,
).map(lambda found: "&".join(f"{name}={value}" for name, value in found.items()))
_requests = st.builds(
    lambda operation, query, headers, body, odd: (
        operation[0],
        operation[1].replace("{reference}", odd) + (f"?{query}" if query else ""),
        {**_json, **headers},
        body,
    ),
    st.deferred(_operations),
    _query,
    _header,
    _bodies,
    st.sampled_from(["{reference}", "{reference}", "..%2f", "\x00", "a" * 300, "é", "1' OR 1=1", "brief@9.9.9"]),
)


def _plain(case: Case[Any], there: bool) -> Request:
    """A request of schemathesis as plain data, about something that is there or about whatever it made up."""
    sent = case.as_transport_kwargs(base_url="http://x")
    body = sent.get("data", b"")
    if "json" in sent:
        body = json_text(sent["json"]).encode("utf-8", "surrogatepass")
    query = "&".join(f"{name}={value}" for name, value in (sent.get("params") or {}).items())
    path = case.path if there else unquote(sent["url"].removeprefix("http://x").partition("?")[0])
    path += f"?{query}" if query else ""
    given = {str(name): str(value) for name, value in (sent.get("headers") or {}).items()}
    headers = {name: value for name, value in given.items() if name.lower() in OWN_HEADERS}
    return sent["method"], path, headers, body if isinstance(body, bytes) else str(body).encode()


def _documented() -> st.SearchStrategy[Request]:
    schema = schemathesis.openapi.from_dict(_document())
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    own = [one for one in operations if not one.path.startswith("/api/keys")]
    cases = st.one_of(*(one.as_strategy(generation_mode=GenerationMode.POSITIVE) for one in own))
    return st.builds(_plain, cases, st.sampled_from([True, True, True, False]))


async def _something_of_everything(app: Any) -> dict[str, str]:
    """By the name of a path parameter, what can be found under it."""

    async def made(path: str, body: object) -> Any:
        reply = await call(app, "POST", path, _json, msgspec.json.encode(body))
        assert reply.status in (200, 201), reply.body
        return msgspec.json.decode(reply.body)

    evaluation = (await made("/api/evaluations", DEFINITION))["id"]
    game = (await made("/api/games", {"name": "Cup", "is_public": True}))["id"]
    attached = await made(f"/api/games/{game}/evaluations", {"evaluation_id": evaluation, "weight": 1})
    player = (await made("/api/players", {"name": "ann"}))["id"]
    await made(f"/api/games/{game}/evaluate", {"player": player, "round": ROUND})
    score = (await made(f"/api/evaluations/{evaluation}/execute", ROUND))["id"]
    return {
        "reference": evaluation, "id": evaluation, "game_id": game, "player_id": player, "player": player,
        "attachment_id": attached["evaluations"][0]["id"], "score_id": score, "which": "1", "other": "1.0.0",
        "number": "1",
    }  # fmt: skip


def _check_answer(reply: Answered, problem: str) -> None:
    """No answer is a fault of the server; a refusal says what is wrong, in JSON."""
    told = reply.body.decode("utf-8", "replace")
    assert reply.status < 500 or NO_MODEL in told, f"{reply.status} {told[:500]}"
    if reply.status >= 400:
        assert reply.headers.get("content-type", "").startswith(problem), f"{reply.status} {told[:200]}"
        if reply.body:
            msgspec.json.decode(reply.body)


@contextmanager
def _server() -> Iterator[Check]:
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        app = create_app(Service.open(ServerSettings(database=f"sqlite:///{folder}/rubrica.db", preload=False)))
        with living(app, runner):
            known = runner.run(_something_of_everything(app))

            def check(request: Request) -> None:
                method, path, headers, body = request
                reply = runner.run(call(app, method, _filled(path, known), headers, body))
                _check_answer(reply, "application/problem+json")

            yield check


def _filled(path: str, known: Mapping[str, str]) -> str:
    for name, value in known.items():
        path = path.replace("{" + name + "}", value)
    return path


# --- the gateway ------------------------------------------------------------------------------------------------------

_bent_chat = changes.map(lambda made: json_text(bent(CHAT, made)))
_plain_chat = st.builds(
    lambda content, stream: json_text(
        {"model": "rubrica", "messages": [{"role": "user", "content": content}], "stream": stream}
    ),
    words | data(leaves=4),
    st.booleans() | scalars,
)
_sleipner = st.dictionaries(
    st.sampled_from(
        [f"x-sleipner-{name}" for name in ("debug", "force", "tier1", "question-type", "cache", "rubric", "threshold")]
    ),
    st.sampled_from(["full", "tier-0", "tier-1", "true", "FACTUAL", "no-store", "1", "1e999", "openai:gpt-4o"])
    | words.map(lambda text: text.replace("\n", "")),
    max_size=2,
)
_asked = st.builds(
    lambda place, headers, odd, body: (*place, {**_json, **odd, **headers}, body),
    st.sampled_from(
        [
            *[("POST", "/v1/chat/completions")] * 4,
            *(("POST", "/v1/feedback"), ("GET", "/v1/models"), ("GET", "/v1/models/é%2f.."), ("GET", "/metrics")),
            *(("GET", "/api/gateway/analytics?days=-1"), ("PUT", "/v1/chat/completions"), ("POST", "/nowhere")),
        ]
    ),
    _sleipner,
    _header,
    as_bytes(_bent_chat | _plain_chat | broken(_plain_chat) | json_texts),
)


@contextmanager
def _gateway() -> Iterator[Check]:
    cheap, better = Scripted("openai:gpt-4o-mini"), Scripted("openai:gpt-4o", "Paris, on the Seine.")
    models = {one.name: one for one in (cheap, better)}
    chosen = GatewaySettings(tier0=cheap.name, tier1=better.name)

    def connected(spec: str, *_: object, **__: object) -> Scripted:
        if spec not in models:
            raise ModelError("rejected", f"there is no model {spec[:80]!r}")
        return models[spec]

    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        place = f"sqlite:///{Path(folder) / 'gateway.db'}"
        runner.run(upgrade(place))
        parts = GatewayParts.open(chosen, GatewayModels(Settings(), connected))
        app = create_gateway(Gateway(chosen, Database.open(place), parts))
        with living(app, runner):

            def check(request: Request) -> None:
                _check_answer(runner.run(call(app, *request)), "application/json")
                for model in models.values():
                    model.asked.clear()

            yield check


TARGETS: tuple[Target, ...] = (
    Target("server requests", _requests, _server, share=300),
    Target("documented requests", st.deferred(_documented), _server, share=40),
    Target("gateway requests", _asked, _gateway, share=200),
)
