"""Whatever the OpenAPI document allows, and what it forbids, is sent: nothing of it breaks the server."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok

from databases import Server
from rubrica.server.settings import ServerSettings
from rubrica.workspace.access import Role
from servers import Client, Running, serving

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import APIOperation, Case, GenerationMode

REPEATABLE = settings(
    max_examples=2,  # for each operation and mode
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
PATIENCE = 60.0
ENDLESS = ("/api/games/{game_id}/leaderboard/events",)  # the events of a game end when it is closed
CALLERS: tuple[Role, ...] = ("admin", "player")
DEFINITION = {
    "name": "Brief",
    "version": "1.0.0",
    "scoring_type": "binary",
    "rules": [{"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}],
    "is_public": True,
}
ROUND = {"prompt": "Greet me.", "response": "Hello there."}

Known = Mapping[str, Sequence[str]]


@pytest.fixture
def busy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sequence[Running]]:
    """A server with the bundled rubrics in it over each kind of database that there is here."""
    with ExitStack() as stack:
        urls = [f"sqlite:///{tmp_path / 'rubrica.db'}"]
        with suppress(pytest.skip.Exception):
            template: str = request.getfixturevalue("postgres_template")
            postgres: Server = request.getfixturevalue("postgres")
            name = postgres.borrow(template)
            stack.callback(postgres.give_back, name, template)
            urls.append(postgres.url(name))
        yield [stack.enter_context(serving(url, settings=ServerSettings())) for url in urls]


def something_of_everything(client: Client) -> Known:
    """By the name of a path parameter, what can be found under it."""

    def made(path: str, body: object) -> Any:
        reply = client.post(path, body)
        assert reply.status in (200, 201), reply.text
        return reply.json

    evaluation = made("/api/evaluations", DEFINITION)["id"]
    game = made("/api/games", {"name": "Cup", "is_public": True})["id"]
    attached = made(f"/api/games/{game}/evaluations", {"evaluation_id": evaluation, "weight": 1})
    player = made("/api/players", {"name": "ann"})["id"]
    made(f"/api/games/{game}/evaluate", {"player": player, "round": ROUND})
    judged = [{"id": "a", **ROUND}]
    run = made("/api/runs", {"rubric": evaluation, "cases": judged})["name"]
    score = made(f"/api/evaluations/{evaluation}/execute", ROUND)["id"]
    return {
        "reference": [evaluation, "brief", "brief@1.0.0", "speed-demon"],
        "which": ["1", "1.0.0"],
        "a": ["1"],
        "b": ["1.0.0"],
        "id": [evaluation],
        "game_id": [game],
        "attachment_id": [attached["evaluations"][0]["id"]],
        "player_id": [player],
        "player": [player, "ann"],
        "number": ["1"],
        "score_id": [score],
        "name": [run],
    }


def faults(servers: Sequence[Running], mode: GenerationMode) -> list[str]:
    """Send what is generated for each operation to every server; what came back that should not have."""
    schema = schemathesis.openapi.from_dict(servers[0].anyone.get("/openapi.json").json)
    known = [(server, something_of_everything(server.admin)) for server in servers]
    found: list[str] = []
    with requests.Session() as session:
        for result in schema.get_all_operations():
            assert isinstance(result, Ok)
            found += _faults(known, session, result.ok(), mode)
    return found


def _faults(
    servers: Sequence[tuple[Running, Known]],
    session: requests.Session,
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
) -> list[str]:
    found: list[str] = []

    @REPEATABLE
    @given(operation.as_strategy(generation_mode=mode), st.data())
    def send(case: Case[Any], data: st.DataObject) -> None:
        told = servers[0][1] if operation.path not in ENDLESS else {}
        kinds = {name: len(values) for name, values in told.items() if name in (case.path_parameters or {})}
        chosen = {
            name: data.draw(st.integers(0, count - 1)) for name, count in kinds.items() if data.draw(st.integers(0, 3))
        }
        caller = data.draw(st.sampled_from(CALLERS))
        for server, known in servers:
            for name, place in chosen.items():
                case.path_parameters[name] = known[name][place]
            headers = {"Authorization": f"Bearer {server.client(caller).key}"}
            reply = case.call(base_url=server.url, session=session, headers=headers, timeout=PATIENCE)
            if fault := wrong(reply):
                found.append(f"{operation.label}: {fault}: {case.as_curl_command()[:600]}")

    with suppress(Unsatisfiable):  # nothing about it can be wrong
        send()
    return found[:1]


def wrong(reply: Any) -> str:
    """What a reply has that none should have."""
    if reply.status_code >= 500 and "no model" not in reply.text:  # this server has none, and says so
        return f"{reply.status_code} {reply.text}"
    if reply.status_code >= 400 and reply.headers["content-type"] != ["application/problem+json"]:
        return f"{reply.status_code} is no problem detail: {reply.text[:200]}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "forbidden"])
def test_nothing_that_is_sent_breaks_the_server(busy: Sequence[Running], mode: GenerationMode) -> None:
    assert faults(busy, mode) == []
