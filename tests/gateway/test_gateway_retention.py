"""How long records are kept, what people say a question was, and which web pages may ask."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from gateway_stage import CAPITAL, GOOD, Scripted, stage
from sqlalchemy import func, select

from databases import Opened
from gateway_samples import NOW, record
from rubrica.errors import InputError
from rubrica.gateway import retention
from rubrica.gateway.feedback import read_feedback
from rubrica.gateway.retention import PrunedRecords, RetentionPeriods, prunable, prune, read_period
from rubrica.gateway.settings import settings_from_text
from rubrica.store import gateway_retention
from rubrica.store.database import Database
from rubrica.store.gateway import Feedback, RequestRecord, add_feedback, add_requests, opinions_of_sent
from rubrica.store.tables import gateway_corrections, gateway_feedback, gateway_requests, gateway_texts
from rubrica.workspace.access import LOCAL

DAY = timedelta(days=1)
PAGE = "https://app.example"
CHAT = "/v1/chat/completions"


# --- retention --------------------------------------------------------------------------------------------


def aged(days: int) -> RequestRecord:
    return record(at=NOW - days * DAY, prompt="What?", answer="That.")


@pytest.mark.parametrize("small", [500, 2])
def test_old_texts_go_first_and_old_records_later(
    database: Opened, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    for module in (retention, gateway_retention):
        monkeypatch.setattr(module, "TOGETHER", small)
    monkeypatch.setattr(retention, "BREATH", 0.0)
    kept = [aged(days) for days in (1, 20, 30, 40, 100, 120, 140)]

    async def story(store: Database) -> None:
        await store.write(add_requests, kept)
        said = Feedback(kept[2].trace, 4, "rather good", None, "CREATIVE")
        await store.write(add_feedback, said, LOCAL.user_id, NOW)
        await store.write(add_feedback, Feedback(kept[5].trace, 2, "poor"), LOCAL.user_id, NOW)
        periods = RetentionPeriods.of_days(90, 14)
        assert await prunable(store, periods, NOW) == PrunedRecords(3, 6)
        assert await prune(store, periods, NOW) == PrunedRecords(3, 6)
        assert await prune(store, periods, NOW) == PrunedRecords(0, 0)
        left = await store.read(lambda conn: set(conn.execute(select(gateway_requests.c.trace)).scalars()))
        assert left == {one.trace for one in kept[:4]}
        texts = await store.read(lambda conn: list(conn.execute(select(gateway_texts.c.trace)).scalars()))
        assert texts == [kept[0].trace]
        opinions = await store.read(
            lambda conn: conn.execute(select(gateway_feedback.c.rating, gateway_feedback.c.comment)).all()
        )
        assert [tuple(row) for row in opinions] == [(4, "")]
        assert (
            await store.read(lambda conn: conn.execute(select(func.count()).select_from(gateway_corrections)).scalar())
            == 1
        )

    database.run(story)


@pytest.mark.parametrize("text", ["", "d", "90", "-1d", "1.5d", "0d", "9999999d", "3y"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="90d"):
        read_period(text)


def test_a_gateway_deletes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "FIRST", 0.05)
    with stage(tmp_path, Scripted()):
        pass
    with stage(tmp_path, Scripted(), records={"days": 30}) as on:
        on.run(on.gateway.database.write(add_requests, [aged(100)]))

        async def gone() -> None:
            count = select(func.count()).select_from(gateway_requests)
            async with asyncio.timeout(30):
                while await on.gateway.database.read(lambda conn: conn.execute(count).scalar_one()):
                    await asyncio.sleep(0.02)

        on.run(gone())


# --- types that people name -------------------------------------------------------------------------------


def test_a_correction_counts_and_is_remembered_for_the_key_that_asked(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(script=GOOD)) as on:
        first = on.ask(CAPITAL, x_sleipner_cache="off")
        assert first.headers["x-sleipner-question-type"] == "FACTUAL"
        said = {"trace": first.headers["x-sleipner-trace"], "question_type": "CREATIVE"}
        assert on.post("/v1/feedback", said).json["question_type"] == "CREATIVE"
        again = on.ask(CAPITAL, x_sleipner_cache="off")
        assert again.headers["x-sleipner-question-type"] == "CREATIVE"
        confirmed = {"trace": again.headers["x-sleipner-trace"], "question_type": "CREATIVE", "rating": "up"}
        assert on.post("/v1/feedback", confirmed).status == 200
        found = on.get("/api/gateway/analytics").json
        assert (found["classification"]["right"]["count"], found["classification"]["right"]["of"]) == (1, 2)
        assert found["classification"]["mistaken"] == {"FACTUAL for CREATIVE": 1}
        refused = on.post("/v1/feedback", {**said, "question_type": "POETIC"})
        assert refused.status == 400
        assert "FACTUAL" in refused.json["error"]["message"]


def test_feedback_says_something() -> None:
    trace = '"trace": "00000000-0000-7000-8000-000000000001"'
    with pytest.raises(InputError, match="rating"):
        read_feedback(f"{{{trace}}}".encode())
    with pytest.raises(InputError, match="come with a `rating`"):
        read_feedback(f'{{{trace}, "question_type": "CREATIVE", "comment": "no"}}'.encode())


def test_opinions_of_what_the_gate_sent_are_counted_apart(database: Opened) -> None:
    sent = [record(zone="send"), record(zone="send"), record()]

    async def story(store: Database) -> None:
        await store.write(add_requests, sent)
        for one, given in zip(sent, ("up", 1, "down"), strict=True):
            await store.write(add_feedback, Feedback(one.trace, given), LOCAL.user_id, NOW)  # type: ignore[arg-type]
        assert await store.read(opinions_of_sent, NOW - DAY) == (1, 1)

    database.run(story)


# --- web pages --------------------------------------------------------------------------------------------


def test_pages_of_named_origins_may_ask_and_others_may_not(tmp_path: Path) -> None:
    wants = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,x-sleipner-debug",
    }
    with stage(tmp_path, Scripted(), cors=[PAGE]) as on:
        asked = on.run(on.send("OPTIONS", CHAT, None, {"Origin": PAGE, **wants}))
        assert (asked.status, asked.headers["access-control-allow-origin"]) == (200, PAGE)
        assert "authorization" in asked.headers["access-control-allow-headers"]
        reply = on.ask(CAPITAL, Origin=PAGE)
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, PAGE)
        assert "x-sleipner-trace" in reply.headers["access-control-expose-headers"]
        other = on.run(on.send("OPTIONS", CHAT, None, {"Origin": "https://evil.example", **wants}))
        assert "access-control-allow-origin" not in other.headers
        assert on.ask(CAPITAL, Origin="https://evil.example").status == 403


def test_a_page_needs_a_key_like_everybody_else(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(), cors=[PAGE]) as on:
        key = on.key()
        refused = on.ask(CAPITAL, Origin=PAGE)
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, PAGE)
        assert on.ask(CAPITAL, Origin=PAGE, Authorization=f"Bearer {key}").status == 200


def test_without_origins_nothing_is_said_about_them(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted()) as on:
        asked = on.run(on.send("OPTIONS", CHAT, None, {"Origin": PAGE, "Access-Control-Request-Method": "POST"}))
        assert "access-control-allow-origin" not in asked.headers


@pytest.mark.parametrize("origin", ["*", "app.example", "https://app.example/", "https://app.example/x"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(Exception, match="cors"):
        settings_from_text(f'cors: ["{origin}"]\n')
