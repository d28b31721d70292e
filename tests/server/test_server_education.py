"""Questions over HTTP: written by the server's model, judged where that is asked for, for authors only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback import Seen

from education_samples import calls, model_name, provider, question, teacher
from rubrica.education.results import DIMENSIONS
from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from rubrica.server.settings import ServerSettings
from servers import Running, serving

PATH = "/v2/generate_questions"
BODY: dict[str, Any] = {"grade": 3, "count": 2, "instructions": "Equal groups of things", "evaluate": True}


@contextmanager
def writing(folder: Path, model: str | None, **options: Any) -> Iterator[Running]:
    """A server whose model is the named one."""
    judges = () if model is None else (model,)
    jury = Jury(judges, Settings(attempts=1), cached=False) if judges else None
    settings = ServerSettings(preload=False, judges=judges)
    with serving(str(folder / "rubrica.db"), settings=settings, jury=jury, **options) as running:
        yield running


def two(_: Seen) -> str:
    return json.dumps({"questions": [question(), question(answer="E")]})


def test_questions_are_written_and_judged(tmp_path: Path) -> None:
    remarks: dict[str, Any] = {"issues": ["grammar error"], "strengths": ["Clear question text"]}
    with provider(teacher(two, **remarks)) as model, writing(tmp_path, model_name(model)) as server:
        reply = server.author.post(PATH, BODY)
        assert reply.status == 200, reply.text
        assert (calls(model, "questions"), calls(model, "judgement")) == (1, 1)
    body = reply.json
    assert (body["total_questions"], body["grade"], len(body["data"])) == (2, 3, 2)
    assert body["request_id"] == reply.headers["X-Request-Id"]
    assert body["data"][0]["question"] == question()["question"]
    found = body["evaluation"]
    assert set(found["scores"]) == set(DIMENSIONS)
    assert [item["recommendation"] for item in found["question_evaluations"]] == ["accept", "reject"]
    assert found["question_evaluations"][0]["image_section"]["section_score"] is None
    assert found["compliance_report"]["count_compliance"]["compliant"] is True
    assert found["error_taxonomy"]["linguistic"] == 1
    assert found["overall_score"] == pytest.approx(0.8575, abs=1e-4)


def test_without_evaluate_no_judge_is_asked(tmp_path: Path) -> None:
    with provider(teacher(two)) as model, writing(tmp_path, model_name(model)) as server:
        reply = server.author.post(PATH, {**BODY, "evaluate": False})
        assert (reply.status, reply.json["evaluation"]) == (200, None)
        assert calls(model, "judgement") == 0


def test_without_a_model_the_way_out_is_told(tmp_path: Path) -> None:
    with writing(tmp_path, None) as server:
        reply = server.author.post(PATH, BODY)
    assert (reply.status, reply.json["type"]) == (503, "urn:rubrica:problem:unavailable")
    assert "rubrica serve --judge MODEL" in reply.json["detail"]


def test_only_authors_have_questions_written(tmp_path: Path) -> None:
    with provider(teacher(two)) as model, writing(tmp_path, model_name(model)) as server:
        statuses = [
            client.post(PATH, BODY).status
            for client in (server.anyone, server.viewer, server.player, server.author, server.admin)
        ]
        assert statuses == [401, 403, 403, 200, 200]
        assert calls(model, "questions") == 2


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"grade": "third"}, "grade"),
        ({"grade": 99}, "grade"),
        ({"count": 0}, "count"),
        ({"count": 21}, "count"),
        ({"count": 51}, "count"),
        ({"difficulty": "brutal"}, "difficulty"),
        ({"evaluat": True}, "evaluat"),
        ({"instructions": "x" * 4001}, "instructions"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused_before_a_model_is_asked(
    tmp_path: Path, change: dict[str, Any], where: str
) -> None:
    with provider(teacher(two)) as model, writing(tmp_path, model_name(model)) as server:
        reply = server.author.post(PATH, {**BODY, **change})
        assert (reply.status, where in reply.json["detail"]) == (422, True)
        assert model.requests == 0


def test_a_model_that_writes_nonsense_or_fails_is_told_as_unavailable(tmp_path: Path) -> None:
    with provider(teacher(lambda _: "Once upon a time")) as model, writing(tmp_path, model_name(model)) as server:
        reply = server.author.post(PATH, BODY)
        assert (reply.status, "Once upon a time" in reply.json["detail"]) == (503, True)
        assert reply.headers["Retry-After"] == "5"
    with provider("x", faults=["refused"] * 9) as model, writing(tmp_path, model_name(model)) as server:
        reply = server.author.post(PATH, BODY)
        assert (reply.status, "the model cannot be asked now" in reply.json["detail"]) == (503, True)


def test_what_a_question_names_as_its_picture_is_never_a_file_of_the_server(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 64)

    def write(_: Seen) -> str:
        return json.dumps({"questions": [question(image=str(secret), alt_text="a secret")]})

    with provider(teacher(write)) as model, writing(tmp_path, model_name(model)) as server:
        assert server.author.post(PATH, {**BODY, "count": 1}).status == 200
        assert not any("image_url" in json.dumps(seen.body) for seen in model.seen)


def test_the_route_is_described(tmp_path: Path) -> None:
    with writing(tmp_path, None) as server:
        operation = server.author.get("/openapi.json").json["paths"][PATH]["post"]
    assert operation["requestBody"]["content"]["application/json"]["example"]["evaluate"] is True
    assert "200" in operation["responses"]
