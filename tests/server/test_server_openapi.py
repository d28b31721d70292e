"""Whatever the OpenAPI document allows, and what it forbids, is sent: nothing of it breaks the server."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from rubrica.server.settings import ServerSettings
from servers import Client, Running, serving

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import APIOperation, Case, GenerationMode

REPEATABLE = settings(
    max_examples=8,  # for each operation, mode and database
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
PATIENCE = 20.0
CALLERS = ("admin", "player")
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
def busy(database_url: str) -> Iterator[Running]:
    """A server with the bundled rubrics in it."""
    with serving(database_url, settings=ServerSettings()) as running:
        yield running


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
    }


def faults(server: Running, mode: GenerationMode) -> list[str]:
    """Send what is generated for each operation; what came back that should not have."""
    schema = schemathesis.openapi.from_dict(server.anyone.get("/openapi.json").json)
    known = something_of_everything(server.admin)
    found: list[str] = []
    with requests.Session() as session:
        for result in schema.get_all_operations():
            found += _faults(server, session, result.ok(), known, mode)
    return found


def _faults(
    server: Running, session: requests.Session, operation: APIOperation, known: Known, mode: GenerationMode
) -> list[str]:
    found: list[str] = []

    @REPEATABLE
    @given(operation.as_strategy(generation_mode=mode), st.data())
    def send(case: Case, data: st.DataObject) -> None:
        for name in set(known) & set(case.path_parameters or {}):
            if data.draw(st.integers(0, 3)):
                case.path_parameters[name] = data.draw(st.sampled_from(known[name]))
        key = server.client(data.draw(st.sampled_from(CALLERS))).key
        headers = {"Authorization": f"Bearer {key}"}
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
def test_nothing_that_is_sent_breaks_the_server(busy: Running, mode: GenerationMode) -> None:
    assert faults(busy, mode) == []
