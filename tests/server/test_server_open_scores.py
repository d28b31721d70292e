"""Scores that a failed judge left open are judged again by the server itself, once that is due."""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from rubrica.server.open_scores import judge_open_scores
from servers import Running, serving

RUBRIC: dict[str, Any] = {
    "name": "wise",
    "version": "1.0.0",
    "is_public": True,
    "scale": {"min": 1, "max": 10},
    "dimensions": {"wise": {"asks": "Is it wise?", "weight": 1}},
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [{"label": "scored"}],
    "on_unscored": "inconclusive",
}
BEGAN = datetime(2026, 5, 4, 12, tzinfo=UTC)


def board(server: Running, path: str) -> dict[str, Any]:
    return {
        row["player"]: (row["score"], row["open"]) for row in server.author.get(f"{path}/leaderboard").json["items"]
    }


def test_after_an_outage_the_open_scores_of_every_player_are_judged_by_themselves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script, times = tmp_path / "judge.jsonl", [BEGAN]
    good = {"reply": {"score": 10, "reason": "wise", "confidence": 0.9}}
    lines = [good, *[{"error": "rejected", "message": "tired"}] * 3, good]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    jury = Jury([f"scripted:{script}"], Settings(), cached=False)
    with serving(str(tmp_path / "rubrica.db"), jury=jury, clock=lambda: times[0]) as server:
        assert server.author.post("/api/evaluations", RUBRIC).status == 201
        path = str(server.author.post("/api/games", {"name": "Wise", "is_public": True}).headers["Location"])
        assert server.author.post(f"{path}/evaluations", {"evaluation_id": "wise"}).status == 201
        for name, texts in {"pia": ("Once.", "Twice."), "quin": ("Once.",), "rae": ("Once.",)}.items():
            player = server.newcomer("player", name)
            for text in texts:
                played = player.post(f"{path}/evaluate", {"round": {"response": text}})
                assert played.status == 200
        missing = played.json["rounds"][0]["composite"]["missing"]
        assert [each["reason"] for each in missing] == ["no score for wise"]  # and not why the verdict is what it is
        assert {name: left for name, (_, left) in board(server, path).items()} == {"pia": 1, "quin": 1, "rae": 1}

        def look_again() -> None:
            async def some_time() -> None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(judge_open_scores(server.service, 0.01), 0.4)

            server.run(some_time())

        look_again()  # nothing is due yet
        assert {left for _, left in board(server, path).values()} == {1}
        times[0] = BEGAN + timedelta(minutes=2)
        look_again()
        assert board(server, path) == {"pia": (1.0, 0), "quin": (1.0, 0), "rae": (1.0, 0)}
        assert "not judged" not in caplog.text
