"""Executing evaluations over HTTP: what is stored, what is told, who sees it, and what is refused."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any
from uuid import uuid4

import pytest

from servers import Client, Running

STORY = {"prompt": "Go on.", "response": "In 1974 my doctor had a moth.", "metadata": {"response_time": 20}}
NORM, SPEED, RIGOR = "norm-macdonald-classic", "speed-demon", "scientific-rigor-pro"


def definition(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((files("rubrica.packs") / "arena" / f"{name}.json").read_text())
    return data


def publish(client: Client, *names: str, **more: Any) -> dict[str, str]:
    """Make the bundled definitions public; their ids."""
    made = {name: client.post("/api/evaluations", {**definition(name), "is_public": True, **more}) for name in names}
    return {name: reply.json["id"] for name, reply in made.items()}


def execute(client: Client, reference: str, body: Any = STORY, **headers: str) -> Any:
    return client.post(f"/api/evaluations/{reference}/execute", body, **headers)


def test_executing_stores_a_score_with_every_point_explained(server: Running) -> None:
    ids = publish(server.author, NORM)
    made = execute(server.player, ids[NORM])
    assert made.status == 201
    told = made.json
    assert (told["raw_score"], told["normalized_score"], told["verdict"]) == (25, 0.25, "scored")
    assert (told["evaluation"], told["version"], told["revision"]) == (NORM, "1.0", 1)
    lines = [(line["rule"], line["points"], line["spans"][0]["text"]) for line in told["rule_breakdown"]]
    assert lines == [("year_mention_1970s", 10, "1974"), ("medical_reference", 15, "doctor")]
    kept = server.player.get(made.headers["Location"])
    assert kept.status == 200
    assert kept.json["rule_breakdown"] == told["rule_breakdown"]
    assert kept.json["dimension_scores"]["points"]["value"] == 25
    assert kept.json["context_snapshot"] == STORY
    assert kept.json["record"]["verdict"] == "scored"
    assert kept.json["id"] == told["id"]


@pytest.mark.parametrize("reference", ["id", SPEED, f"{SPEED}@1.0", "id@1.0"])
def test_an_evaluation_is_executed_by_id_slug_or_version(server: Running, reference: str) -> None:
    ids = publish(server.author, SPEED)
    for _ in range(2):
        made = execute(server.player, reference.replace("id", ids[SPEED]))
        assert (made.status, made.json["normalized_score"], made.json["version"]) == (201, 0.5, "1.0")


def test_a_new_version_is_used_from_the_next_execution_on(server: Running) -> None:
    ids = publish(server.author, SPEED)
    assert execute(server.player, ids[SPEED]).json["version"] == "1.0"
    changed = {**definition(SPEED), "rules": [{"type": "custom_expression", "expression": "7"}], "max_score": 10}
    assert server.author.put(f"/api/evaluations/{SPEED}", changed, If_Match="*").status == 200
    for reference in (ids[SPEED], SPEED):
        made = execute(server.player, reference).json
        assert (made["version"], made["revision"], made["normalized_score"]) == ("1.1", 2, 0.7)
    assert execute(server.player, f"{SPEED}@1.0").json["normalized_score"] == 0.5


def test_what_is_gone_or_private_again_cannot_be_executed_any_more(server: Running) -> None:
    ids = publish(server.author, SPEED, NORM)
    for name in (SPEED, NORM):
        assert execute(server.player, ids[name]).status == 201
    server.author.put(f"/api/evaluations/{SPEED}", {**definition(SPEED), "is_public": False}, If_Match="*")
    assert execute(server.player, ids[SPEED]).status == 404
    assert execute(server.author, ids[SPEED]).status == 201
    assert server.author.delete(f"/api/evaluations/{NORM}").status == 204
    assert [execute(client, ids[NORM]).status for client in (server.player, server.author, server.admin)] == [404] * 3
    (score,) = server.player.get(f"/api/scores?evaluation_id={ids[NORM]}").json["items"]
    assert (score["evaluation"], score["version"]) == (NORM, "1.0")


def test_ones_own_evaluation_comes_before_the_public_one_of_the_same_name(server: Running) -> None:
    publish(server.admin, SPEED)
    assert execute(server.author, SPEED).json["normalized_score"] == 0.5
    mine = {**definition(SPEED), "rules": [{"type": "custom_expression", "expression": "9"}], "max_score": 10}
    server.author.post("/api/evaluations", mine)
    assert execute(server.author, SPEED).json["normalized_score"] == 0.9
    assert execute(server.player, SPEED).json["normalized_score"] == 0.5


def test_viewers_try_out_and_do_not_execute(server: Running) -> None:
    ids = publish(server.author, SPEED)
    assert execute(server.viewer, ids[SPEED]).status == 403
    assert execute(server.anyone, ids[SPEED]).status == 401
    assert execute(server.player, str(uuid4())).status == 404
    assert server.viewer.get("/api/scores").json["items"] == []


def test_a_formula_that_cannot_be_applied_is_an_error_worth_nothing(server: Running) -> None:
    publish(server.author, RIGOR)
    metrics = {"assumptions_stated": 3, "expected_assumptions": 0}
    made = execute(server.player, RIGOR, {"response": "Our method.", "custom_metrics": metrics}).json
    assert (made["raw_score"], len(made["errors"])) == (15, 1)
    faulty = [line for line in made["rule_breakdown"] if "error" in line]
    assert [(line["rule"], line["points"]) for line in faulty] == [("assumption_ratio", 0)]


def test_a_game_adds_its_config_and_the_players_own_history(server: Running) -> None:
    ids = publish(server.author, NORM)
    game = server.author.post("/api/games", {"name": "Moth night", "config": {"mood": "dry"}, "is_public": True}).json
    path = f"/api/games/{game['id']}"
    server.author.post(f"{path}/evaluations", {"evaluation_id": NORM})
    (first,) = server.player.post(f"{path}/evaluate", {"round": {"response": "I met Gerald."}}).json["rounds"]
    server.author.post(f"{path}/evaluate", {"player": "bot", "round": {"response": "I met Bernard."}})
    here = {"game_id": game["id"], "player_id": first["player_id"]}
    made = execute(server.player, ids[NORM], {"response": "Gerald and Bernard.", **here})
    found = {line["rule"]: line["reason"] for line in made.json["rule_breakdown"]}
    assert found["entity_mentions: callback"] == "takes up gerald again"
    assert (made.json["game_id"], made.json["player_id"]) == (here["game_id"], here["player_id"])
    kept = server.author.get(made.headers["Location"]).json
    assert kept["context_snapshot"]["game_config"] == {"mood": "dry"}
    assert [r["round_number"] for r in kept["context_snapshot"]["round_history"]] == [1]
    wrapped = execute(server.player, ids[NORM], {"context": {"response": "Bernard."}, **here}).json
    assert wrapped["rule_breakdown"] == []
    own = {"response": "Gerald.", "round_history": [{"response": "Nobody."}], **here}
    assert execute(server.player, ids[NORM], own).json["rule_breakdown"] == []
    before = execute(server.player, ids[NORM], {"response": "Gerald.", "metadata": {"round_number": 1}, **here}).json
    assert (before["round_number"], before["rule_breakdown"]) == (1, [])


def test_only_who_made_the_game_executes_for_other_players(server: Running) -> None:
    ids = publish(server.author, NORM)
    game = server.author.post("/api/games", {"name": "Moth night", "is_public": True}).json["id"]
    bot = server.author.post("/api/players", {"name": "bot"}).json["id"]
    for body, author, player in (
        ({"game_id": game, "player_id": bot}, 201, 404),
        ({"player_id": bot}, 201, 404),
        ({"game_id": game}, 201, 201),
        ({"player_id": str(uuid4())}, 404, 404),
        ({"game_id": str(uuid4())}, 404, 404),
    ):
        assert execute(server.author, ids[NORM], {**STORY, **body}).status == author
        assert execute(server.player, ids[NORM], {**STORY, **body}).status == player
    private = server.author.post("/api/games", {"name": "Secret"}).json["id"]
    assert execute(server.player, ids[NORM], {**STORY, "game_id": private}).status == 404


def test_a_repeated_request_has_one_score_and_one_reply(server: Running) -> None:
    ids = publish(server.author, SPEED)
    replies = [execute(server.player, ids[SPEED], Idempotency_Key="once") for _ in range(3)]
    assert len({reply.body for reply in replies}) == 1
    assert len(server.player.get("/api/scores").json["items"]) == 1
    assert execute(server.player, ids[SPEED], {"response": "Another."}, Idempotency_Key="once").status == 422


def test_many_at_once_are_all_kept(server: Running) -> None:
    ids = publish(server.author, SPEED)
    path = f"/api/evaluations/{ids[SPEED]}/execute"
    requests = [("POST", path, {"metadata": {"response_time": i}}) for i in range(60)]
    told = [reply.json for reply in server.player.together(requests)]
    kept: list[Any] = []
    cursor = ""
    while True:
        page = server.player.get(f"/api/scores?limit=25{cursor}").json
        kept += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len({score["id"] for score in kept}) == 60
    assert {score["id"]: score["raw_score"] for score in kept} == {score["id"]: score["raw_score"] for score in told}
    assert [score["id"] for score in kept] == sorted((score["id"] for score in kept), reverse=True)


def test_a_long_text_is_judged_too(server: Running) -> None:
    ids = publish(server.author, NORM)
    made = execute(server.player, ids[NORM], {"response": "moth " * 50_000 + "1974"})
    assert (made.status, made.json["raw_score"]) == (201, 10)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b'{"response": NaN}', 400),
        (b'{"response": "\\ud800"}', 400),
        (b"[" * 5_000, 400),
        (b"[]", 422),
        (b"5", 422),
        ({"response": 5}, 422),
        ({"metadata": "x"}, 422),
        ({"metadata": {"response_time": -1}}, 422),
        ({"metadata": {"round_number": 10**12}}, 422),
        ({"custom_metrics": {"response_time": 10**30}}, 422),
        ({"game_id": "x"}, 422),
        ({"player_id": 5}, 422),
        ({"context": 5}, 422),
        ({"context": {}, "response": "both"}, 422),
        ({"round_history": [{"round_number": "x"}]}, 422),
    ],
)
def test_a_body_that_makes_no_sense_is_refused_and_nothing_is_kept(
    shared_server: Running, body: Any, status: int
) -> None:
    if shared_server.player.get(f"/api/evaluations/{SPEED}").status == 404:
        publish(shared_server.author, SPEED)
    refused = execute(shared_server.player, SPEED, body, Content_Type="application/json")
    assert (refused.status, refused.headers["Content-Type"]) == (status, "application/problem+json")
    assert shared_server.player.get("/api/scores").json["items"] == []


def test_another_media_type_is_refused(server: Running) -> None:
    ids = publish(server.author, SPEED)
    assert execute(server.player, ids[SPEED], b"response: x", Content_Type="application/yaml").status == 415


def test_scores_are_seen_by_who_has_to_do_with_them(server: Running) -> None:
    ids = publish(server.author, SPEED)
    made = execute(server.player, ids[SPEED])
    path = made.headers["Location"]
    other = server.newcomer("player", "somebody")
    clients = {"player": server.player, "admin": server.admin, "author": server.author, "other": other}
    assert {name: client.get(path).status for name, client in clients.items()} == {
        "player": 200,
        "admin": 200,
        "author": 404,
        "other": 404,
    }
    assert [len(clients[name].get("/api/scores").json["items"]) for name in clients] == [1, 1, 0, 0]
    assert server.player.get(f"/api/scores/{uuid4()}").status == 404
    assert server.player.get("/api/scores/x").status == 422
    assert server.player.get("/api/scores?cursor=garbage").status == 422


def test_the_openapi_document_describes_executing(server: Running) -> None:
    operation = server.viewer.get("/openapi.json").json["paths"]["/api/evaluations/{reference}/execute"]["post"]
    assert [parameter["name"] for parameter in operation["parameters"]][:1] == ["reference"]
    examples = operation["requestBody"]["content"]["application/json"]["examples"]
    assert examples.keys() == {"context", "game"}
    assert operation["responses"]["201"]["content"]["application/json"]["schema"]["$ref"].endswith("/ScoreMade")
