"""The life of a game over HTTP: invited, played, followed live by many with one look, and read as a table."""

from __future__ import annotations

import asyncio
import csv
import io
from typing import Any

import msgspec

from servers import Client, Running

LENGTH = {
    "name": "Length",
    "scoring_type": "cumulative",
    "max_score": 100,
    "rules": [{"type": "custom_expression", "name": "words", "expression": "word_count"}],
    "is_public": True,
}


def new_game(client: Client, **more: Any) -> str:
    assert client.post("/api/evaluations", LENGTH).status in (201, 409)
    made = client.post("/api/games", {"name": "Moth night", **more})
    assert made.status == 201, made.text
    path = str(made.headers["Location"])
    assert client.post(f"{path}/evaluations", {"evaluation_id": "length"}).status == 201
    return path


def test_a_private_game_from_draft_to_close(server: Running) -> None:
    host, player = server.author, server.player
    path = new_game(host, status="draft", most_rounds=2)
    assert player.get(path).status == 404
    assert host.patch(path, {"status": "open"}).json["status"] == "open"
    link = host.post(f"{path}/invitations", {"most_uses": 1}).json
    assert link["link"].endswith(link["token"])
    assert link["token"] not in host.get(f"{path}/invitations").text
    came = player.post("/api/invitations/accept", {"token": link["token"]})
    assert (came.status, came.json["game"]) == (200, "Moth night")
    assert player.post(f"{path}/evaluate", {"rounds": [{"response": "a b"}, {"response": "a b c d"}]}).status == 200
    refused = player.post(f"{path}/evaluate", {"round": {"response": "once more"}})
    assert (refused.status, "2 of 2 rounds" in refused.json["detail"]) == (409, True)
    bot = {"player": "=bot", "round": {"response": "a"}}
    assert host.post(f"{path}/evaluate", bot).status == 200
    assert host.post(f"{path}/teams", {"name": "Moths"}).status == 201
    assert player.put(f"{path}/players/{came.json['player_id']}/team", {"team": "Moths"}).status == 204
    board = player.get(f"{path}/leaderboard?team=Moths").json
    assert [(row["rank"], row["team"], row["score"]) for row in board["items"]] == [(1, "Moths", 0.03)]
    assert [row["player"] for row in board["own"]] == [player.user]
    table = player.get(f"{path}/leaderboard?format=csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert table.headers["Content-Type"].startswith("text/csv")
    assert [(row["rank"], row["player"], row["score"]) for row in rows] == [
        ("1", player.user, "0.03"),
        ("2", "'=bot", "0.01"),
    ]
    assert [value for name, value in rows[0].items() if name.startswith(("raw: ", "normalized: "))] == ["3.0", "3.0"]
    assert host.patch(path, {"status": "closed", "most_rounds": None}).json["most_rounds"] is None
    late = host.post(f"{path}/evaluate", bot)
    assert (late.status, "is closed" in late.json["detail"]) == (409, True)
    unknown = host.post(f"{path}/tournaments", {"name": "Cup", "kind": "round_robin"})
    assert "there are entrants, form, name, rounds_per_match, size, tiebreak" in unknown.json["detail"]
    wrong = host.get(f"{path}/leaderboard?sesaon=Spring")
    assert (wrong.status, wrong.json["problems"][0]["path"]) == (422, ["query", "sesaon"])


def test_many_follow_a_board_and_it_is_looked_at_once(server: Running) -> None:
    host = server.author
    path = new_game(host, is_public=True)
    assert host.post(f"{path}/evaluate", {"player": "bot", "round": {"response": "a"}}).status == 200
    viewers = 12

    async def followed() -> tuple[list[list[tuple[str, Any]]], int]:
        began = server.service.live_boards.looks
        streams = [asyncio.create_task(_events(server.viewer, f"{path}/leaderboard/events")) for _ in range(viewers)]
        await asyncio.sleep(0.3)  # all of them are there
        for status in ("open", "closed"):
            if status == "open":
                await host.send("POST", f"{path}/evaluate", {"player": "moth", "round": {"response": "a b"}})
                await asyncio.sleep(1.2)
            else:
                await host.send("PATCH", path, {"status": "closed"})
        told = await asyncio.wait_for(asyncio.gather(*streams), 30)
        return told, server.service.live_boards.looks - began

    told, looks = server.run(followed())
    for events in told:
        assert [name for name, _ in events] == ["board", "board", "ended"]
        assert [[row["player"] for row in data["items"]] for _, data in events] == [
            ["bot"],
            ["moth", "bot"],
            ["moth", "bot"],
        ]
        assert events[-1][1]["status"] == "closed"
    assert looks < viewers


async def _events(client: Client, path: str) -> list[tuple[str, Any]]:
    reply = await client.send("GET", path)
    found = []
    for block in reply.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], msgspec.json.decode(lines["data"])))
    return found
