"""A server with a judge: what it costs, who may have it asked, and what becomes of an answer that does not come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from servers import Running, serving

RUBRIC: dict[str, Any] = {
    "name": "short",
    "version": "1.0.0",
    "scale": {"min": 1, "max": 10},
    "dimensions": {"accuracy": {"asks": "Is it right?", "weight": 1}},
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [{"label": "pass", "when": "score >= 70"}, {"label": "fail"}],
    "on_unscored": "inconclusive",
}
COUNTED: dict[str, Any] = {
    "name": "Counted",
    "scoring_type": "binary",
    "rules": [{"type": "custom_expression", "expression": "1 if word_count < 9 else 0"}],
}


@contextmanager
def judged(folder: Path, *scores: float) -> Iterator[Running]:
    """A server whose judge gives these scores, one after the other, and then fails."""
    script = folder / "judge.jsonl"
    lines: list[Any] = [{"reply": {"score": score, "reason": f"a {score:g}", "confidence": 0.9}} for score in scores]
    script.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"error": "rejected", "message": "tired"}]))
    jury = Jury([f"scripted:{script}"], Settings(), cached=False)
    with serving(str(folder / "rubrica.db"), jury=jury) as running:
        yield running


def share(score: float) -> float:
    return score / 10


def test_a_judge_is_asked_and_its_reason_is_kept(tmp_path: Path) -> None:
    with judged(tmp_path, 9, 4) as server:
        path = server.author.post("/api/evaluations", RUBRIC).headers["Location"]
        tried = server.author.post(f"{path}/test", {"response": "Paris."}).json
        assert (tried["normalized_score"], tried["verdict"], tried["offline"]) == (share(9), "pass", False)
        made = server.author.post(f"{path}/execute", {"response": "Paris."})
        kept = server.author.get(made.headers["Location"]).json
        assert (kept["normalized_score"], kept["verdict"]) == (share(4), "fail")
        assert kept["dimension_scores"]["accuracy"]["reason"] == "a 4"


def test_a_repeated_request_is_paid_once(tmp_path: Path) -> None:
    with judged(tmp_path, 9, 4, 7) as server:
        path = server.author.post("/api/evaluations", RUBRIC).headers["Location"]
        game = server.author.post("/api/games", {"name": "Quiz"}).headers["Location"]
        assert server.author.post(f"{game}/evaluations", {"evaluation_id": "short"}).status == 201
        body: dict[str, Any] = {"response": "Paris."}
        told = [server.author.post(f"{path}/execute", body, Idempotency_Key="one") for _ in range(3)]
        assert [reply.json["normalized_score"] for reply in told] == [share(9)] * 3
        body = {"round": body}
        told = [server.author.post(f"{game}/evaluate", body, Idempotency_Key="two") for _ in range(3)]
        assert [reply.json["rounds"][0]["composite"]["score"] for reply in told] == [share(4)] * 3
        assert server.author.post(f"{path}/execute", {"response": "Rome."}).json["normalized_score"] == share(7)


def test_nobody_has_a_judge_paid_by_what_they_may_not_see_or_do(tmp_path: Path) -> None:
    with judged(tmp_path, 9, 4) as server:
        path = server.author.post("/api/evaluations", RUBRIC).headers["Location"]
        body = {"response": "Paris."}
        assert server.author.post(f"{path}/execute", body).json["normalized_score"] == share(9)
        other = server.newcomer("author", "otto")
        for client, status in ((other, 404), (server.player, 404), (server.viewer, 403), (server.anyone, 401)):
            assert client.post(f"{path}/execute", body).status == status
        for client, status in ((other, 404), (server.player, 404), (server.viewer, 404)):
            assert client.post(f"{path}/test", body).status == status
        game = server.author.post("/api/games", {"name": "Quiz", "is_public": True}).headers["Location"]
        assert server.author.post(f"{game}/evaluations", {"evaluation_id": "short"}).status == 201
        assert server.player.post(f"{game}/evaluate", {"player": "somebody else", "round": body}).status == 403
        assert server.author.post(f"{game}/evaluate", {"round": body}).json["rounds"][0]["scores"][0]["reason"]
        taken = {"round": {**body, "round_number": 1}}
        assert server.author.post(f"{game}/evaluate", taken).status == 409  # before a judge is paid
        assert server.author.post(f"{path}/execute", body).json["normalized_score"] is None  # both scores were spent


def test_an_answer_that_does_not_come_leaves_the_score_open(tmp_path: Path) -> None:
    with judged(tmp_path, 9) as server:
        server.author.post("/api/evaluations", RUBRIC)
        server.author.post("/api/evaluations", COUNTED)
        game = server.author.post("/api/games", {"name": "Quiz"}).headers["Location"]
        attached = [
            {"evaluation_id": "short", "weight": 0.75, "dimension": "accuracy"},
            {"evaluation_id": "counted", "weight": 0.25, "dimension": "brevity"},
        ]
        assert server.author.post(f"{game}/evaluations", {"evaluations": attached}).status == 201
        rounds = [{"response": "Paris."}, {"response": "Rome."}]
        first, second = server.author.post(f"{game}/evaluate", {"player": "m", "rounds": rounds}).json["rounds"]
        assert first["composite"]["score"] == pytest.approx(0.75 * 0.9 + 0.25)
        composite = second["composite"]
        assert (composite["score"], composite["by_dimension"]) == (None, {"accuracy": None, "brevity": 1})
        assert (composite["bounds"], [one["evaluation"] for one in composite["missing"]]) == ([0.325, 1], ["short"])
        assert composite["missing"][0]["reason"].startswith("no score for accuracy")
        assert "tired" in second["scores"][0]["dimension_scores"]["accuracy"]["reason"]
        kept = server.author.get(f"{game}/rounds/m/2").json
        assert kept["composite"] == composite
        (entry,) = server.author.get(f"{game}/leaderboard").json["items"]
        assert [one["reason"] for one in entry["missing"]] == ["provisional: 1 of 2 rounds has no score yet"]


def test_rules_alone_ask_nobody(tmp_path: Path) -> None:
    with judged(tmp_path) as server:  # the judge always fails
        path = server.author.post("/api/evaluations", COUNTED).headers["Location"]
        for text, score in (("Paris.", 1), ("word " * 5_000, 0)):
            assert server.author.post(f"{path}/execute", {"response": text}).json["normalized_score"] == score


def test_responses_are_compared_in_both_orders_by_the_servers_judge(tmp_path: Path) -> None:
    script = tmp_path / "compares.jsonl"
    replies = [
        {
            "pattern": f"(?s)response {label}\nIn 1889",
            "reply": {"reason": "has the year", "choice": label, "confidence": 0.9},
        }
        for label in "AB"
    ]
    script.write_text("".join(json.dumps(line) + "\n" for line in replies))
    jury = Jury([f"scripted:{script}"], Settings(), cached=False, public=True)
    body = {"prompt": "When did it open?", "responses": {"vague": "Long ago.", "exact": "In 1889."}}
    with serving(str(tmp_path / "rubrica.db"), jury=jury) as server:
        found = server.author.post("/api/preferences", body)
        assert (found.status, found.json["choice"], found.json["order"]) == (200, "exact", ["exact", "vague"])
        assert [vote["shown"] for vote in found.json["votes"]] == [["vague", "exact"], ["exact", "vague"]]
        assert str(tmp_path) not in found.text
        server.author.post("/api/evaluations", RUBRIC)
        assert server.author.post("/api/preferences", {**body, "evaluation": "short"}).json["choice"] == "exact"
        assert server.author.post("/api/preferences", {**body, "evaluation": "nobody-has-it"}).status == 404
        unread = server.author.post("/api/preferences", {"responses": ["x", "y"]}).json
        assert unread["choice"] is None
        assert unread["unscored"].startswith("no judge said which is better")
        assert server.author.post("/api/preferences", {"responses": ["only one"]}).status == 422
        assert server.author.post("/api/preferences", {"responses": ["a", "b", "c"], "graded": True}).status == 422
