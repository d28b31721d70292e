"""What those who run a gateway see: upstream failures, breakers, readiness, and what is kept of answers not sent."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, Staged, provided, stage
from loopback import Loopback
from prometheus_client.parser import text_string_to_metric_families

from rubrica.llm.model import ModelError
from rubrica.text.credentials import MARK, mask_credentials


def figures(on: Staged, name: str) -> dict[tuple[str, ...], float]:
    """The samples of one metric, by the values of their labels in the order of their names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(on.get("/metrics").body.decode())
        for sample in family.samples
        if sample.name == f"rubrica_gateway_{name}"
    }


# --- failures ---------------------------------------------------------------------------------------------


def test_every_failed_call_is_logged_and_counted_without_a_word_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tier0 = Loopback(GOOD, faults=["error", "rate_limited"], retry_after=0.01)
    with caplog.at_level(logging.WARNING, "rubrica.gateway"), provided(tmp_path, tier0, models={"attempts": 3}) as on:
        assert on.ask("What is the capital of Ruritania?").status == 200
        failed = figures(on, "upstream_failures_total")
    assert failed == {
        ("openai:gpt-4o-mini", "500", "overloaded"): 1,
        ("openai:gpt-4o-mini", "429", "rate_limited"): 1,
    }
    lines = [entry.getMessage() for entry in caplog.records if "upstream" in entry.getMessage()]
    assert lines == [
        "upstream failure: openai:gpt-4o-mini: overloaded (HTTP 500)",
        "upstream failure: openai:gpt-4o-mini: rate_limited (HTTP 429)",
    ]
    assert "Ruritania" not in caplog.text
    assert tier0.key is not None
    assert tier0.key not in caplog.text


def test_a_stream_that_breaks_off_is_counted(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(breaks_after=2)) as on:
        on.ask({"messages": [{"role": "user", "content": CAPITAL}], "stream": True}, x_sleipner_force="tier-0")
        assert figures(on, "upstream_failures_total") == {("openai:gpt-4o-mini", "none", "unreachable"): 1}


def test_the_code_of_a_provider_is_kept(tmp_path: Path) -> None:
    refused = ModelError("rejected", "too long", status=400, code="context_length_exceeded")
    with stage(tmp_path, Scripted(script=refused)) as on:
        reply = on.ask()
    assert (reply.status, reply.json["error"]["code"]) == (400, "context_length_exceeded")


# --- readiness --------------------------------------------------------------------------------------------


def test_a_gateway_is_ready_until_the_breaker_of_its_last_tier_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubrica.gateway.readiness.FRESH", 0.0)
    with provided(tmp_path, Loopback(GOOD, faults=["error"] * 20)) as on:
        ready = on.get("/readyz")
        assert (ready.status, ready.json["status"], ready.json["reasons"]) == (200, "ready", [])
        assert {on.ask(f"Question {number}?").status for number in range(10)} == {503}
        ready = on.get("/readyz")
        assert (ready.status, ready.json["status"]) == (503, "unavailable")
        assert ready.json["reasons"] == ["no tier can be asked: the breaker of each is open"]
        assert ready.json["breakers"] == {"openai:gpt-4o-mini": "open"}
        assert figures(on, "breakers")["openai:gpt-4o-mini", "open"] == 1
        assert on.get("/healthz").status == 200


def test_one_tier_that_can_answer_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubrica.gateway.readiness.FRESH", 0.0)
    with provided(tmp_path, Loopback(GOOD, faults=["error"] * 20), Loopback(GOOD)) as on:
        assert {on.ask(f"Question {number}?").status for number in range(10)} == {200}
        ready = on.get("/readyz")
        assert (ready.status, ready.json["breakers"]["openai:gpt-4o-mini"]) == (200, "open")


def test_a_database_that_cannot_be_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubrica.gateway.readiness.PATIENCE", 0.2)
    with stage(tmp_path, Scripted()) as on:
        other = sqlite3.connect(tmp_path / "gateway.db")
        try:
            other.execute("BEGIN IMMEDIATE")
            ready = on.get("/readyz")
        finally:
            other.rollback()
            other.close()
    assert ready.status == 503
    assert ready.json["reasons"] == ["the database cannot be written to within 0.2 s"]


# --- what is kept -----------------------------------------------------------------------------------------


def test_answers_that_were_not_sent_are_kept_where_texts_are(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted("tier-0", POOR), Scripted("tier-1", GOOD), records={"prompts": "keep"}) as on:
        kept = on.record(on.ask())
        assert (kept.answer, kept.rejected, kept.withheld) == (GOOD, POOR, None)
        passed = on.record(on.ask(CAPITAL, x_sleipner_force="tier-1"))
        assert (passed.answer, passed.rejected) == (GOOD, None)


def test_answers_that_were_not_sent_are_not_kept_where_texts_are_not(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted("tier-0", POOR), Scripted("tier-1", GOOD)) as on:
        kept = on.record(on.ask())
        assert (kept.answer, kept.rejected) == (None, None)
        assert kept.passed is False


def test_what_judges_were_not_shown_stands_in_the_record(tmp_path: Path) -> None:
    long = "The capital of France is Paris. " * 200
    grader = Loopback('{"score": 7}')
    with provided(tmp_path, Loopback(long), Loopback(GOOD), grader, grading={"characters": 1_000}) as on:
        kept = on.record(on.ask())
    assert kept.grade_note is not None
    assert "6,400 characters" in kept.grade_note


def test_keys_are_masked_in_what_is_kept(tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2" * 8
    with stage(tmp_path, Scripted(script=f"Your key is {key}."), records={"prompts": "keep"}) as on:
        kept = on.record(on.ask(f"Why is {key} refused?"))
    assert kept.prompt == f"Why is {MARK} refused?"
    assert key not in (kept.answer or key)


BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 3


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("AKIA" + "ABCDEFGH12345678" + " is mine", f"{MARK} is mine"),
        ("token ghp_" + "a" * 36, f"token {MARK}"),
        ("xoxb-123456789012-abcdef", MARK),
        ("Authorization: Bearer abc.def-123456", f"Authorization: Bearer {MARK}"),
        ("postgresql://ann:s3cret@db.example/x", f"postgresql://ann:{MARK}@db.example/x"),
        ('{"password": "correct-horse"}', f'{{"password": "{MARK}"}}'),
        (f"a -----BEGIN RSA PRIVATE KEY-----\n{BODY}-----END RSA PRIVATE KEY----- b", f"a {MARK} b"),
        (f"a -----BEGIN PRIVATE KEY-----\n{BODY}", f"a {MARK}"),
        (f"{BODY}-----END PRIVATE KEY----- b", f"{MARK} b"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", MARK),
    ],
)
def test_the_usual_forms_of_secrets_are_masked(text: str, masked: str) -> None:
    assert mask_credentials(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "A risk-averse bearer asked a basic question about task-oriented design.",
        "The password is wrong, said the desk-bound clerk at https://example.org/a:b@c.",
        "The password: forgotten.",
        "sk-8 is short, and so is AKIA.",
    ],
)
def test_plain_words_are_left_alone(text: str) -> None:
    assert mask_credentials(text) == text


def test_masking_takes_linear_time() -> None:
    hostile: Any = ["://" * 20_000, "a" * 60_000 + ":", "-----BEGIN PRIVATE KEY-----" * 2_000, "password=" * 6_000]
    for text in hostile:
        assert len(mask_credentials(text)) <= len(text) * 2
