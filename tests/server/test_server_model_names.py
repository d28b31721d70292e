"""Where models run, and what their providers say, is told to nobody but the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from education_samples import provider
from rubrica.cli.serve_workers import server_jury
from rubrica.model.evaluation import Evaluation
from servers import serving

RUBRIC: dict[str, Any] = {
    "name": "short",
    "version": "1.0.0",
    "scale": {"min": 1, "max": 10},
    "dimensions": {"accuracy": {"asks": "Is it right?", "weight": 1}},
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [{"label": "pass", "when": "score >= 70"}, {"label": "fail"}],
    "on_unscored": "inconclusive",
}
TEXT = {"response": "Paris."}
GOOD = json.dumps({"score": 9, "reason": "so it is", "confidence": 0.9})


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICA_CACHE", "off")
    monkeypatch.setenv("RUBRICA_ATTEMPTS", "1")


def test_a_judge_is_known_by_its_name_and_not_by_its_address(tmp_path: Path) -> None:
    with provider(GOOD) as one, provider(GOOD) as other:
        jury = server_jury((f"{one.openai_url}#llama", f"{other.openai_url}#llama"))
        with serving(str(tmp_path / "rubrica.db"), jury=jury) as server:
            path = server.author.post("/api/evaluations", RUBRIC).headers["Location"]
            made = server.author.post(f"{path}/execute", TEXT)
            kept = server.author.get(made.headers["Location"])
            tried = server.author.post(f"{path}/test", TEXT)
    for reply in (made, kept, tried):
        assert reply.status < 300
        assert "127.0.0.1" not in reply.text
    found = Evaluation.from_json(json.dumps(tried.json["evaluation"])).dimensions["accuracy"]
    assert found.judge == "llama, llama-2"
    assert [vote.judge for vote in found.votes] == ["llama", "llama-2"]


def test_a_judge_that_fails_tells_callers_the_kind_of_trouble_and_the_log_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jury = server_jury(("http://127.0.0.1:9/v1#llama",))
    with caplog.at_level(logging.WARNING), serving(str(tmp_path / "rubrica.db"), jury=jury) as server:
        path = server.author.post("/api/evaluations", RUBRIC).headers["Location"]
        reply = server.author.post(f"{path}/test", TEXT)
    assert reply.json["verdict"] == "inconclusive"
    assert "cannot be reached" in reply.text
    assert "127.0.0.1" not in reply.text
    assert "127.0.0.1:9" in caplog.text


def test_a_panel_that_is_too_small_is_told_without_addresses(tmp_path: Path) -> None:
    jury = server_jury(("http://127.0.0.1:9/v1#llama",))
    with serving(str(tmp_path / "rubrica.db"), jury=jury) as server:
        path = server.author.post("/api/evaluations", RUBRIC).headers["Location"]
        definition = {**RUBRIC, "judging": {"panel": 2}}
        reply = server.author.post(f"{path}/test", {"context": TEXT, "definition": definition})
    assert "asks for a panel of 2 judges; named: llama" in reply.json["detail"]
