"""The gateway's page without a browser: the way of a request, figures over time, and who sees which texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from databases import Opened
from gateway_samples import record, traffic
from rubrica.errors import MissingError
from rubrica.gateway.dashboard import kept_request, recent_requests, spending_of, window_figures
from rubrica.store.gateway import add_requests
from rubrica.store.gateway_figures import RequestWindow
from rubrica.store.gateway_recent import recent
from rubrica.studio.gateway.charts import Series, Times, lines
from rubrica.studio.gateway.spans import SPANS
from rubrica.studio.gateway.steps import steps_of
from rubrica.studio.gateway.wording import by_type, charts, recently, spending
from rubrica.workspace.access import LOCAL, Caller
from rubrica.workspace.keys import KeyRequest, issue

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
VERA = Caller(UUID(int=9), "vera", "viewer")


@pytest.mark.parametrize(
    ("fields", "titles", "last"),
    [
        ({}, ["Classification", "Tier-0", "Grading", "Decision"], "good enough: tier-0's answer is given"),
        (
            {"passed": False, "tier": "tier-1", "tier1_ms": 9.0, "model": "a:b"},
            ["Classification", "Tier-0", "Grading", "Decision", "Tier-1"],
            "a:b answered; this is what the client got",
        ),
        (
            {"passed": False, "failed_steps": "tier-1", "degraded": "tier-1 failed"},
            ["Classification", "Tier-0", "Grading", "Decision", "Tier-1"],
            "gave no answer",
        ),
        ({"cached": "exact"}, ["Cache"], "the same was asked before; openai:gpt-4o-mini had answered"),
        ({"tier": "council"}, ["Council"], "several models answered and reviewed each other"),
        (
            {
                "status": 429,
                "tier": None,
                "model": None,
                "question_type": None,
                "passed": None,
                "tier0_ms": None,
                "classification_ms": None,
                "grading_ms": None,
            },
            ["Refused"],
            "no model was asked",
        ),
    ],
)
def test_the_way_of_a_request_is_told_from_its_record(fields: dict[str, Any], titles: list[str], last: str) -> None:
    found = steps_of(record(NOW, **fields))
    assert [step.title for step in found] == titles
    assert found[-1].said == last


def test_a_step_that_failed_says_so() -> None:
    found = steps_of(record(NOW, tier="tier-1", passed=None, failed_steps="tier-0", degraded="tier-0 failed"))
    assert [(step.title, step.state) for step in found][1:3] == [("Tier-0", "failed"), ("Decision", "failed")]


def test_figures_over_time_have_a_place_for_every_bucket(database: Opened) -> None:
    database.write(
        add_requests,
        [record(NOW - timedelta(hours=2), total_ms=100.0), record(NOW - timedelta(hours=2), total_ms=300.0)],
    )
    found = database.read(window_figures, VERA, SPANS["day"].window(NOW), "hour")
    requests = found.over_time(lambda own: float(own.requests))
    assert (len(found.times), len(requests)) == (24, 24)
    assert [value for value in requests if value is not None] == [2.0]
    assert [value for value in found.waited(lambda own: own.p95) if value is not None] == [300.0]
    assert charts(found).count("<svg") == 6


def test_pages_of_requests_follow_each_other_without_a_gap(database: Opened) -> None:
    same = [record(NOW) for _ in range(5)]
    database.write(add_requests, [*traffic(40, start=NOW - timedelta(hours=3), over=timedelta(hours=2)), *same])
    window = RequestWindow(NOW - timedelta(days=1), NOW + timedelta(seconds=1))
    seen, after = list[UUID](), None
    while page := database.read(recent_requests, LOCAL, window, "all", after, 7):
        seen += [own.trace for own in page]
        after = page[-1].spot
    assert len(seen) == len(set(seen)) == 45
    failed = database.read(recent, window, "failed", limit=100)
    assert failed
    assert all(own.passed is False for own in failed)


def test_texts_are_for_admins(database: Opened) -> None:
    kept, key = (
        record(NOW, prompt="Is it <b>?", answer="It is."),
        database.write(issue, KeyRequest("viewer", "vi"), NOW).key,
    )
    own = record(NOW, prompt="Is it mine?", answer="It is.", key_id=key.id)
    database.write(add_requests, [kept, own])
    vi = Caller(key.user_id, key.user, "viewer", key.id)
    assert database.read(kept_request, LOCAL, str(kept.trace)).prompt == "Is it <b>?"
    assert database.read(kept_request, vi, str(own.trace)).prompt is None
    assert database.read(kept_request, vi, str(own.trace)).answer is None
    assert [
        found.trace for found in database.read(recent_requests, vi, SPANS["hour"].window(LATER), "all", None, 5)
    ] == [own.trace]
    assert database.read(recent_requests, VERA, SPANS["hour"].window(LATER), "all", None, 5) == []
    for caller, hidden in ((vi, kept), (VERA, own), (VERA, kept)):
        with pytest.raises(MissingError, match="or it is not yours to see"):
            database.read(kept_request, caller, str(hidden.trace))
    for trace in ("nonsense", str(UUID(int=5))):
        with pytest.raises(MissingError, match="no request"):
            database.read(kept_request, LOCAL, trace)


def test_words_of_others_are_escaped(database: Opened) -> None:
    database.write(add_requests, [record(NOW, question_type="<i>ODD", model="<script>x")])
    window = SPANS["hour"].window(NOW + timedelta(minutes=5))
    drawn = recently(database.read(recent_requests, LOCAL, window, "all", None, 5)) + by_type(
        database.read(window_figures, VERA, window, "minute").figures
    )
    database.write(add_requests, [record(NOW, model_usd={"<script>y": 1.0}, team="<script>z")])
    drawn += spending(database.read(spending_of, LOCAL, window.since, window.until))
    assert "$1.00" in drawn
    assert "<script" not in drawn
    assert "<i>ODD" not in drawn
    assert "&lt;script&gt;" in drawn


def test_a_line_is_broken_where_nothing_is_known() -> None:
    times = Times([NOW + timedelta(hours=hour) for hour in range(6)], "hour")
    drawn = lines("Cost", times, [Series("cost", [1, 2, None, -3, None, 2])], str)
    assert drawn.count("<path") == 1
    assert drawn.count('<circle class="point') == 4
    levels = [float(found) for found in re.findall(r'<circle[^>]* cy="([\d.]+)"', drawn)]
    assert levels[2] == max(levels)
    assert "nothing yet" in lines("Cost", times, [Series("cost", [None] * 6)], str)
