"""Games over HTTP: a whole evening of them, two hands at once, and what is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import pytest

from servers import Client, Running, serving

GONE = "018f0000-0000-7000-8000-000000000000"  # an id that nothing has
NORM, SPEED, RIGOR = "norm-macdonald-classic", "speed-demon", "scientific-rigor-pro"
EARLIER = {
    "name": "Earlier rounds",
    "scoring_type": "cumulative",
    "max_score": 100,
    "rules": [{"type": "custom_expression", "name": "earlier", "expression": "round_count"}],
    "is_public": True,
}


def publish(client: Client) -> None:
    for name in (NORM, SPEED, RIGOR):
        data = json.loads((files("rubrica.packs") / "arena" / f"{name}.json").read_text())
        assert client.post("/api/evaluations", {**data, "is_public": True}).status in (201, 409)  # 409: it is there


def new_game(client: Client, *attached: dict[str, Any], public: bool = True) -> str:
    """A public game with evaluations attached; its path."""
    body = {"name": "Moth night", "is_public": public, "fair_play": {"clock": "reported"}}
    made = client.post("/api/games", body)
    assert made.status == 201
    path = made.headers["Location"]
    if attached:
        assert client.post(f"{path}/evaluations", {"evaluations": list(attached)}).status == 201
    return str(path)


def test_an_evening_of_games(server: Running) -> None:
    publish(server.author)
    path = new_game(
        server.author,
        {"evaluation_id": NORM, "weight": 0.6, "dimension": "style"},
        {"evaluation_id": SPEED, "weight": 0.4, "dimension": "speed"},
    )
    said = "In 1974 I met Gerald, a podiatrist."
    (first,) = server.player.post(
        f"{path}/evaluate", {"round": {"prompt": "Go.", "response": said, "metadata": {"response_time": 20}}}
    ).json["rounds"]
    assert [(score["evaluation"], score["raw_score"], score["normalized_score"]) for score in first["scores"]] == [
        (NORM, 25, 0.25),
        (SPEED, 50, 0.5),
    ]
    assert first["composite"]["score"] == pytest.approx(0.6 * 0.25 + 0.4 * 0.5)
    assert first["composite"]["by_dimension"] == {"style": 0.25, "speed": 0.5}
    (second,) = server.player.post(
        f"{path}/evaluate", {"round": {"response": "Gerald left. A joke.", "metadata": {"response_time": 8}}}
    ).json["rounds"]
    assert second["round_number"] == 2
    points = {line["rule"]: line["points"] for line in second["scores"][0]["rule_breakdown"]}
    assert points == {
        "entity_mentions: callback": 25,
        "entity_mentions: consistency": 20,
        "funny, humor, joke, comedy": -50,
    }
    bot = {"response": "1974", "metadata": {"response_time": 40}}
    assert server.author.post(f"{path}/evaluate", {"player": "bot", "rounds": [bot, bot]}).status == 200

    board = server.viewer.get(f"{path}/leaderboard").json
    assert [(entry["rank"], entry["player"], entry["rounds"]) for entry in board["items"]] == [
        (1, "the player", 2),
        (2, "bot", 2),
    ]
    assert board["by"] == "normalized"
    assert board["items"][0]["score"] == pytest.approx(0.6 * 0.125 + 0.4 * 1)  # speed-demon compares: lowest to highest
    told = {score["evaluation"]: (score["raw"], score["normalized"]) for score in board["items"][0]["scores"]}
    assert told == {"norm-macdonald-classic": (12.5, 0.125), "speed-demon": (75, 1)}
    board = server.viewer.get(f"{path}/leaderboard?by=composite").json
    assert board["items"][0]["score"] == pytest.approx(0.6 * 0.125 + 0.4 * 0.75)
    korgym = server.viewer.get(f"{path}/leaderboard?by=korgym&dimension=style").json
    assert [(entry["player"], entry["score"]) for entry in korgym["items"]] == [("the player", 1.0), ("bot", 0.0)]
    across = server.viewer.get("/api/leaderboard").json
    assert (across["items"], across["uncounted"][0]["reason"]) == (
        [],
        "1 other person has played in it, and it takes 3",
    )
    assert server.author.put(f"{path}/vouched", {"vouched": True}).status == 403
    assert server.admin.put(f"{path}/vouched", {"vouched": True}).json["vouched_by"]
    across = server.viewer.get("/api/leaderboard").json
    assert [(entry["player"], entry["score"]) for entry in across["items"]] == [("the player", 1.0), ("bot", 0.0)]

    page = server.viewer.get(f"{path}/rounds?limit=3").json
    rest = server.viewer.get(f"{path}/rounds?limit=3&cursor={page['next']}").json
    assert [len(page["items"]), len(rest["items"]), rest["next"]] == [3, 1, None]
    view = server.viewer.get(f"{path}/rounds/bot/1").json
    assert [score["rule_breakdown"][0]["rule"] for score in view["scores"]] == ["year_mention_1970s", "response_time"]
    assert view["composite"] == next(
        each["composite"] for each in (*page["items"], *rest["items"]) if each["player"] == "bot"
    )
    assert server.viewer.get(f"{path}/rounds/{view['player_id']}/1").json == view


def test_one_evaluation_or_several_are_attached_with_weights_that_sum_to_one(server: Running) -> None:
    publish(server.author)
    path = new_game(server.author)
    attach = f"{path}/evaluations"
    refused = server.author.post(attach, {"evaluation_id": NORM, "weight": 0.6})
    assert (refused.status, "sum to 0.6, not 1" in refused.json["detail"]) == (422, True)
    one = server.author.post(attach, {"evaluation_id": NORM})
    assert (one.status, one.json["sum"], one.json["evaluations"][0]["dimension"]) == (201, 1, NORM)
    two = server.author.post(attach, {"evaluation_id": SPEED, "weight": 1, "weights": "renormalise"})
    assert [item["weight"] for item in two.json["evaluations"]] == [0.5, 0.5]
    third = {"evaluations": [{"evaluation_id": RIGOR, "weight": 1}]}
    three = server.author.post(f"{attach}?weights=renormalise", third)
    assert [item["weight"] for item in three.json["evaluations"]] == [0.25, 0.25, 0.5]
    shown = server.viewer.get(attach).json
    assert shown == three.json
    assert server.viewer.get(path).json["evaluations"] == shown["evaluations"]
    same = server.author.put(attach, shown)
    assert (same.status, same.json) == (200, shown)
    last = shown["evaluations"][2]["id"]
    assert server.author.delete(f"{attach}/{last}").status == 422
    left = server.author.delete(f"{attach}/{last}?weights=renormalise").json
    assert [item["weight"] for item in left["evaluations"]] == [0.5, 0.5]
    assert server.author.put(attach, {"evaluations": []}).json == {"evaluations": [], "sum": 0}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"evaluation_id": NORM, "weight": 1.5}, ["weight"]),
        ({"evaluation_id": NORM, "weight": -0.1}, ["weight"]),
        ({"evaluation_id": NORM, "weight": "much"}, ["weight"]),
        ({"weight": 1}, ["evaluation_id"]),
        ({"evaluation_id": NORM, "wieght": 1}, ["wieght"]),
        ({"evaluations": [{"evaluation_id": NORM}, {"weight": 1}]}, ["evaluations", 1, "evaluation_id"]),
        ({"evaluation_id": NORM, "config_overrides": {"max_score": -1}}, ["config_overrides", "max_score"]),
        ({"evaluation_id": NORM, "config_overrides": []}, ["config_overrides"]),
        (
            {"evaluations": [{"evaluation_id": NORM, "config_overrides": {"rules": [{"type": "magic"}]}}]},
            ["evaluations", 0, "config_overrides", "rules", 0, "type"],
        ),
    ],
)
def test_what_cannot_be_attached_is_told_with_its_path(shared_server: Running, body: Any, path: list[Any]) -> None:
    author = shared_server.author
    publish(author)
    refused = author.post(f"{new_game(author)}/evaluations", body)
    assert refused.status == 422
    assert path in [problem["path"] for problem in refused.json["problems"]]


def test_overrides_apply_in_the_game_only(server: Running) -> None:
    publish(server.author)
    path = new_game(server.author, {"evaluation_id": NORM, "config_overrides": {"max_score": 20}})
    (judged,) = server.player.post(f"{path}/evaluate", {"round": {"response": "1974"}}).json["rounds"]
    assert judged["composite"]["score"] == 0.5
    assert server.player.post(f"/api/evaluations/{NORM}/execute", {"response": "1974"}).json["normalized_score"] == 0.1


def test_rounds_sent_at_the_same_time_get_numbers_of_their_own_and_see_all_before_them(server: Running) -> None:
    assert server.author.post("/api/evaluations", EARLIER).status == 201
    path = new_game(server.author, {"evaluation_id": "earlier-rounds"})
    requests = [("POST", f"{path}/evaluate", {"round": {"response": f"story {i}"}}) for i in range(20)]
    replies = server.player.together(requests)
    assert {reply.status for reply in replies} == {200}
    rounds = [reply.json["rounds"][0] for reply in replies]
    assert sorted(judged["round_number"] for judged in rounds) == list(range(1, 21))
    assert all(judged["scores"][0]["raw_score"] == judged["round_number"] - 1 for judged in rounds)


def test_two_hands_under_two_names_do_not_get_in_each_others_way(server: Running) -> None:
    """By name and by id the same player is meant, which the server finds out in the transaction only."""
    assert server.author.post("/api/evaluations", EARLIER).status == 201
    path = new_game(server.author, {"evaluation_id": "earlier-rounds"})
    (first,) = server.author.post(f"{path}/evaluate", {"player": "bot", "round": {"response": "One."}}).json["rounds"]
    names = ["bot", first["player_id"]] * 3
    requests = [("POST", f"{path}/evaluate", {"player": name, "round": {"response": "More."}}) for name in names]
    rounds = [reply.json["rounds"][0] for reply in server.author.together(requests)]
    assert sorted(judged["round_number"] for judged in rounds) == list(range(2, 8))
    assert all(judged["scores"][0]["raw_score"] == judged["round_number"] - 1 for judged in rounds)


def test_a_repeated_submission_is_one_round(server: Running) -> None:
    publish(server.author)
    path = new_game(server.author, {"evaluation_id": NORM})
    sent = {"round": {"response": "1974"}}
    replies = [server.player.post(f"{path}/evaluate", sent, Idempotency_Key="round-1") for _ in range(3)]
    assert len({reply.body for reply in replies}) == 1
    assert len(server.player.get(f"{path}/rounds").json["items"]) == 1


def test_stored_rounds_are_judged_by_what_is_attached_later(server: Running) -> None:
    publish(server.author)
    path = new_game(server.author)
    stored = server.player.post(f"{path}/evaluate", {"rounds": [{"response": "1974"}, {"response": "A doctor."}]})
    assert [judged["composite"]["score"] for judged in stored.json["rounds"]] == [None, None]
    server.author.post(f"{path}/evaluations", {"evaluation_id": NORM})
    caught_up = server.author.post(f"{path}/evaluate").json
    assert [judged["composite"]["score"] for judged in caught_up["rounds"]] == [0.1, 0.15]
    assert caught_up["complete"] is True
    assert server.author.post(f"{path}/evaluate", {}).json["rounds"] == []


def test_a_round_number_that_is_taken_is_a_conflict(server: Running) -> None:
    path = new_game(server.author)
    sent = {"round": {"response": "One.", "round_number": 1}}
    assert [server.player.post(f"{path}/evaluate", sent).status for _ in range(2)] == [200, 409]


def test_a_game_is_changed_by_who_made_it(server: Running) -> None:
    path = new_game(server.author, public=False)
    assert [client.get(path).status for client in (server.author, server.admin, server.player)] == [200, 200, 404]
    changed = server.author.patch(path, {"name": "Moth day", "is_public": True, "config": {"mood": "wet"}}).json
    assert (changed["name"], changed["is_public"], changed["config"]) == ("Moth day", True, {"mood": "wet"})
    assert server.player.get(path).json["config"] == {"mood": "wet"}
    assert server.player.patch(path, {"name": "Mine"}).status == 403
    assert server.newcomer("author", "eve").patch(path, {"name": "Mine"}).status == 403
    assert server.author.patch(path, {"is_public": None, "surprise": 1}).status == 422
    assert server.player.post("/api/games", {"name": "x"}).status == 403
    assert server.author.delete(path).status == 405


def test_games_are_listed_in_pages(server: Running) -> None:
    made = [new_game(server.author, public=i != 1).removeprefix("/api/games/") for i in range(4)]
    page = server.player.get("/api/games?limit=2").json
    rest = server.player.get(f"/api/games?limit=2&cursor={page['next']}").json
    assert [game["id"] for game in (*page["items"], *rest["items"])] == [made[3], made[2], made[0]]
    assert len(server.author.get("/api/games?mine=true").json["items"]) == 4
    assert server.admin.get("/api/games?mine=true").json["items"] == []


def test_players_are_made_and_seen_by_their_makers(server: Running) -> None:
    made = server.author.post("/api/players", {"name": "gpt-4o", "info": {"family": "gpt"}})
    assert (made.status, made.json["info"], made.json["user_id"]) == (201, {"family": "gpt"}, None)
    assert server.author.get(made.headers["Location"]).json == made.json
    assert server.player.get(made.headers["Location"]).status == 404
    assert server.author.post("/api/players", {"name": "gpt-4o"}).status == 409
    theirs = server.author.post("/api/players", {"name": "Champion", "user": "the player"})
    assert server.player.get("/api/players").json["items"] == [theirs.json]
    assert server.author.post("/api/players", {"name": "x", "user": "nobody"}).status == 422
    assert server.player.post("/api/players", {"name": "x", "user": "the author"}).status == 403
    assert server.author.post("/api/players", {"name": "the author", "user": "the player"}).status == 422
    assert server.author.post("/api/players", {"name": "a\0b"}).status == 422
    assert server.viewer.post("/api/players", {"name": "x"}).status == 403
    assert server.author.get("/api/players?limit=1").json["next"] is not None


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/games/x", None, 422),
        ("GET", f"/api/games/{GONE}", None, 404),
        ("GET", f"/api/games/{GONE}/leaderboard", None, 404),
        ("GET", f"/api/games/{GONE}/rounds", None, 404),
        ("POST", f"/api/games/{GONE}/evaluate", {}, 404),
        ("POST", f"/api/games/{GONE}/evaluate", {"round": {"response": "x"}}, 404),
        ("POST", f"/api/games/{GONE}/evaluations", {"evaluation_id": NORM}, 404),
        ("GET", "{game}/leaderboard?dimension=charm", None, 404),
        ("GET", "{game}/leaderboard?by=luck", None, 422),
        ("GET", "{game}/rounds?cursor=x", None, 422),
        ("GET", "{game}/rounds/nobody/1", None, 404),
        ("GET", f"{{game}}/rounds/{GONE}/1", None, 404),
        ("GET", "{game}/rounds/nobody/99999999999", None, 422),
        ("DELETE", f"{{game}}/evaluations/{GONE}", None, 404),
        ("POST", "{game}/evaluations", {"evaluation_id": "no-such-thing"}, 404),
        ("POST", "{game}/evaluations", {"evaluation_id": f"{NORM}@9.9"}, 404),
        ("PUT", "{game}/evaluations", {"evaluation_id": NORM}, 422),
        ("POST", "{game}/evaluations", [], 422),
        ("POST", "{game}/evaluations", b"{", 400),
        ("POST", "{game}/evaluate", [], 422),
        ("POST", "{game}/evaluate", b"nope", 400),
        ("POST", "{game}/evaluate", {"rounds": [{}] * 101}, 422),
        ("POST", "{game}/evaluate", {"player": "x" * 300, "round": {}}, 422),
        ("POST", "{game}/evaluate", {"player": "", "round": {}}, 422),
        ("POST", "{game}/evaluate", {"round": {"response": "x", "custom_metrics": {"y": 10**25}}}, 422),
        ("POST", "/api/games", {"name": ""}, 422),
        ("POST", "/api/games", {"name": "   "}, 422),
        ("POST", "/api/games", {"name": "a\0b"}, 422),
        ("POST", "/api/games", {"name": "x", "config": {"n": 10**30}}, 422),
        ("POST", "/api/games", {"name": "x" * 256}, 422),
        ("GET", "/api/leaderboard?dimension=charm", None, 404),
        ("GET", "/api/leaderboard?limit=0", None, 422),
    ],
)
def test_what_makes_no_sense_is_refused(shared_server: Running, method: str, path: str, body: Any, status: int) -> None:
    author = shared_server.author
    publish(author)
    where = path.replace("{game}", new_game(author, {"evaluation_id": NORM}))
    refused = author.ask(method, where, body, {"Content-Type": "application/json"} if body is not None else None)
    assert (refused.status, refused.headers["Content-Type"]) == (status, "application/problem+json"), refused.text


def test_a_server_without_keys_has_one_player_who_may_do_everything(database_url: str) -> None:
    with serving(database_url, keyless=True) as running:
        publish(running.anyone)
        path = new_game(running.anyone, {"evaluation_id": NORM})
        (judged,) = running.anyone.post(f"{path}/evaluate", {"round": {"response": "1974"}}).json["rounds"]
        assert (judged["player"], judged["composite"]["score"]) == ("local", 0.1)


def test_the_openapi_document_has_every_path_of_games(server: Running) -> None:
    paths = server.viewer.get("/openapi.json").json["paths"]
    starts = ("/api/games", "/api/players", "/api/leaderboard")
    assert {path: set(paths[path]) for path in paths if path.startswith(starts)} == {
        "/api/games": {"get", "post"},
        "/api/games/{game_id}": {"get", "patch"},
        "/api/games/{game_id}/evaluations": {"get", "post", "put"},
        "/api/games/{game_id}/evaluations/{attachment_id}": {"delete"},
        "/api/games/{game_id}/evaluate": {"post"},
        "/api/games/{game_id}/rounds": {"get"},
        "/api/games/{game_id}/copy": {"post"},
        "/api/games/{game_id}/invitations": {"get", "post"},
        "/api/games/{game_id}/invitations/{invitation_id}": {"delete"},
        "/api/games/{game_id}/teams": {"get", "post"},
        "/api/games/{game_id}/teams/{team}": {"delete"},
        "/api/games/{game_id}/seasons": {"get", "post"},
        "/api/games/{game_id}/seasons/{season}": {"delete"},
        "/api/games/{game_id}/tournaments": {"get", "post"},
        "/api/games/{game_id}/tournaments/{tournament_id}": {"get"},
        "/api/games/{game_id}/players/{player}/team": {"put"},
        "/api/games/{game_id}/players/{player_id}": {"put", "delete"},
        "/api/games/{game_id}/rounds/{player}/{number}": {"get"},
        "/api/games/{game_id}/leaderboard": {"get"},
        "/api/games/{game_id}/leaderboard/events": {"get"},
        "/api/games/{game_id}/start": {"post"},
        "/api/games/{game_id}/retry": {"post"},
        "/api/games/{game_id}/rounds/{player}/{number}/void": {"put", "delete"},
        "/api/games/{game_id}/vouched": {"put"},
        "/api/games/{game_id}/ratings": {"get"},
        "/api/games/{game_id}/export": {"get"},
        "/api/leaderboard": {"get"},
        "/api/players": {"get", "post"},
        "/api/players/{player_id}": {"get"},
    }


def test_two_servers_over_one_database_number_rounds_together(database_url: str) -> None:
    with serving(database_url, keyless=True) as one, serving(database_url, keyless=True) as other:
        assert one.anyone.post("/api/evaluations", EARLIER).status == 201
        path = new_game(one.anyone, {"evaluation_id": "earlier-rounds"})
        requests = [("POST", f"{path}/evaluate", {"round": {"response": f"story {i}"}}) for i in range(8)]
        with ThreadPoolExecutor(2) as hands:
            sent = [hands.submit(server.anyone.together, requests) for server in (one, other)]
            rounds = [reply.json["rounds"][0] for each in sent for reply in each.result()]
        assert sorted(judged["round_number"] for judged in rounds) == list(range(1, 17))
        assert all(judged["scores"][0]["raw_score"] == judged["round_number"] - 1 for judged in rounds)


def test_a_change_on_one_server_is_seen_by_the_next_execution_on_another(database_url: str) -> None:
    with serving(database_url, keyless=True) as one, serving(database_url, keyless=True) as other:
        made = one.anyone.post("/api/evaluations", EARLIER).json
        path = f"/api/evaluations/{made['id']}"
        assert other.anyone.post(f"{path}/execute", {"response": "x"}).json["version"] == "1.0"
        one.anyone.put(path, {**EARLIER, "max_score": 50}, If_Match="*")
        assert other.anyone.post(f"{path}/execute", {"response": "x"}).json["version"] == "1.1"
        one.anyone.delete(path)
        assert other.anyone.post(f"{path}/execute", {"response": "x"}).status == 404
