"""Reviews by REST: blind until scored, the judge held against people, and a calibrated rubric that is kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from rubrica.runs.review.queue_items import new_items
from rubrica.runs.review.sampling import draw
from rubrica.runs.stored import StoredRun
from rubrica.server.settings import ServerSettings
from rubrica.workspace.access import Caller
from rubrica.workspace.reviews import enqueue
from rubrica.workspace.run_access import RunKey, claim_run, open_review
from servers import Client, Running, serving
from warm_start import rubrica_command

CASES = 24
TONE = """name: tone
version: 1.0.0
title: Tone of a reply
scale: {min: 0, max: 10}
dimensions:
  kind: {asks: "Is it kind?", weight: 1}
score: {weighted: true, out_of: 10}
verdicts: [{label: pass, when: "score >= 6"}, {label: fail}]
"""


@pytest.fixture(scope="module")
def reviewing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server beside a run whose judge gives case n the score n % 9 + 2, which is two more than people will."""
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "tone.yaml").write_text(TONE)
    rows = [{"id": f"case-{n}", "prompt": f"Say {n}.", "response": f"reply number {n}."} for n in range(CASES)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    replies = [
        {"pattern": rf"reply number {n}\.", "reply": {"score": n % 9 + 2, "reason": "So it is.", "confidence": 0.9}}
        for n in range(CASES)
    ]
    (folder / "judge.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    command = ["run", "cases.jsonl", "-r", "tone.yaml", "--judge", "scripted:judge.jsonl", "-o", "runs/week 1"]
    subprocess.run(rubrica_command(*command), cwd=folder, check=True, capture_output=True)
    settings = ServerSettings(preload=False, runs=folder / "runs")
    with serving(f"sqlite:///{folder}/rubrica.db", settings=settings) as server:
        run = StoredRun.open(folder / "runs" / "week 1")
        assert run.manifest is not None
        key, now = RunKey(run.name, run.manifest.id), server.service.clock()
        issued = server.issued["author"].key
        author = Caller(issued.user_id, issued.user, "author")
        server.write(claim_run, author, key, now)
        server.write(open_review, author, key, "shared", [], now)
        assert server.write(enqueue, author, key, new_items(draw(run.evaluations, 1.0), run.rubrics()), now) == CASES
        yield server


def pages(client: Client, path: str) -> list[Any]:
    found, cursor = [], ""
    while True:
        reply = client.get(f"{path}{cursor}")
        assert reply.status == 200, reply.text
        found += reply.json["items"]
        if reply.json["next"] is None:
            return found
        cursor = f"&cursor={reply.json['next']}"


def test_a_sample_is_scored_blind_and_then_calibrates_the_judge(reviewing: Running) -> None:
    player, author = reviewing.player, reviewing.author
    waiting = pages(player, "/api/reviews/items?limit=10")
    assert len({item["id"] for item in waiting}) == CASES
    assert player.get("/api/reviews/progress").json["runs"] == [{"run": "week 1", "open": CASES, "done": 0}]
    for item in waiting:
        path = f"/api/reviews/items/{item['id']}"
        task = player.get(path).json
        assert task["scored"] is None
        assert "So it is." not in json.dumps(task)
        assert [question["scale"] for question in task["questions"]] == [[0, 10]]
        mine = int(item["case"].partition("-")[2]) % 9
        scored = player.post(f"{path}/scores", {"scores": {"kind": mine}, "note": "hm"})
        assert scored.status == 201, scored.text
        [kind] = scored.json["scored"]["differences"]
        assert (kind["mine"], kind["judge"], kind["reason"]) == (mine, mine + 2, "So it is.")
        assert player.post(f"{path}/scores", {"scores": {"kind": 3}}).status == 409
    assert pages(player, "/api/reviews/items?limit=10") == []
    assert len(pages(player, "/api/reviews/items?pile=mine&run=week+1&limit=10")) == CASES

    assert player.get("/api/reviews/agreement").json["items"] == 0  # a reviewer may not read the run itself
    found = author.get("/api/reviews/agreement?run=week+1").json
    assert (found["items"], found["people"]) == (CASES, ["the player"])
    assert [(own["question"], own["difference"]) for own in found["questions"]] == [("kind", 2.0)]
    assert [(own["rubric"], own["count"], own["lacking"]) for own in found["labels"]] == [("tone@1.0.0", CASES, "")]

    proposal = author.get("/api/reviews/calibration?rubric=tone").json
    assert (proposal["keep"], proposal["version"]) == ("new", "1.0.1")
    [kind] = proposal["dimensions"]
    assert (kind["labels"], kind["corrected"]) == (CASES, True)
    assert kind["after"]["mae"] < kind["before"]["mae"]
    assert "calibration:" in proposal["document"]
    assert player.post("/api/reviews/calibration", {"rubric": "tone"}).status == 403
    kept = author.post("/api/reviews/calibration", {"rubric": "tone"})
    assert kept.status == 201, kept.text
    assert kept.json["version"] == "1.0.1"
    assert "calibration" in author.get(kept.headers["Location"]).json
    assert author.post("/api/reviews/calibration", {"rubric": "tone"}).status == 409  # it is another text now


@pytest.mark.parametrize("scores", [{}, {"kind": 11}, {"wit": 3}, {"kind": None}, {"kind": "x"}])
def test_what_is_no_score_on_the_scale_is_refused(reviewing: Running, scores: dict[str, object]) -> None:
    [item, *_] = pages(reviewing.admin, "/api/reviews/items?pile=all&limit=100")
    refused = reviewing.admin.post(f"/api/reviews/items/{item['id']}/scores", {"scores": scores})
    assert refused.status == 422, refused.text


def test_there_is_nothing_to_learn_of_what_nobody_labelled(reviewing: Running) -> None:
    assert reviewing.author.get("/api/reviews/calibration?rubric=no-such").status == 404
    assert reviewing.author.get("/api/reviews/agreement?run=no+such").json["items"] == 0
