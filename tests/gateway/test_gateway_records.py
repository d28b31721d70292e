"""What is kept of a request: which figures, which texts, and what happens while the database is away."""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
import tracemalloc
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, select

from databases import Opened, Server
from gateway_samples import CAPITAL, GOOD, NOW, POOR, Speaker, chat, price, record, route
from rubrica.gateway.bill import bill
from rubrica.gateway.controls import Controls
from rubrica.gateway.metrics import Metrics
from rubrica.gateway.record import (
    CUT,
    MOST_TEXT,
    ExchangeTexts,
    HttpExchange,
    TextRetention,
    masked,
    record_of,
    texts_of,
)
from rubrica.gateway.routed_answer import AllDownError, RoutedAnswer
from rubrica.gateway.writer import TOGETHER, RecordWriter
from rubrica.llm.model import ModelError
from rubrica.packs.library import load
from rubrica.store import gateway
from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.gateway import RequestRecord, TierComparison
from rubrica.store.tables import gateway_requests
from rubrica.store.upgrade import upgrade

PRIVATE = "My card is 4111 1111 1111 1111, write to ann@example.org."
PLAIN = Controls()
HASHED = TextRetention.of("hash", b"key")
KEPT = TextRetention.of("keep", b"key")


def exchange(**fields: Any) -> HttpExchange:
    plain: dict[str, Any] = {"trace": new_id(NOW), "at": NOW, "status": 200, "total_ms": 500.0}
    return HttpExchange(**(plain | fields))


def answered(
    *models: Speaker,
    question: str = CAPITAL,
    controls: Controls = PLAIN,
    keeping: TextRetention = HASHED,
    **fields: Any,
) -> tuple[RequestRecord, ExchangeTexts | None]:
    """The record of one request to a gateway over these models."""
    asked, way = chat(question), route(*models)
    routed = RoutedAnswer("tier-0", way.tier0)
    try:
        asyncio.run(way(asked, controls, routed))
    except AllDownError:
        fields = {"status": 503} | fields
    found = record_of(exchange(**fields), asked, controls, routed, bill(routed, way, price), keeping)
    return found, texts_of(asked, routed, keeping)


def test_a_passed_answer_is_kept_with_its_grade_costs_and_times() -> None:
    found, _ = answered(Speaker("openai:a", GOOD), Speaker("openai:b"))
    assert (found.tier, found.model, found.passed, found.degraded, found.failed_steps) == (
        "tier-0", "openai:a", True, "", "",
    )  # fmt: skip
    assert (found.question_type, found.classified_by, found.threshold) == ("FACTUAL", "offline", 85.0)
    assert found.rubric == f"answer-quality@{load('answer-quality').version}"
    assert (found.score or 0) >= 85
    assert found.dimension_scores is not None
    assert set(found.dimension_scores) == {"accuracy", "completeness", "clarity", "depth", "safety"}
    assert found.dimension_scores["accuracy"].judge == ""  # scored offline
    assert (found.tier0_usd, found.tier1_usd, found.total_usd, found.baseline_usd) == (0.008, 0.0, 0.008, 0.008)
    assert (found.tier1_ms, found.output_tokens, found.answer_tokens) == (None, 8, 8)
    assert None not in (found.tier0_ms, found.grading_ms, found.classification_ms)


def test_an_escalated_answer_is_kept_with_the_grade_of_the_first() -> None:
    found, _ = answered(Speaker("openai:a", POOR), Speaker("openai:b", GOOD))
    assert (found.tier, found.model, found.passed) == ("tier-1", "openai:b", False)
    assert (found.total_usd, found.baseline_usd, found.output_tokens, found.answer_tokens) == (0.016, 0.008, 16, 8)
    assert found.savings_usd == pytest.approx(-0.008)


def test_an_unknown_price_is_not_taken_for_nothing() -> None:
    found, _ = answered(Speaker("unheard:of", GOOD), Speaker("openai:b"))
    assert (found.tier0_usd, found.total_usd, found.savings_usd, found.baseline_usd) == (None, None, None, 0.008)


@pytest.mark.parametrize(
    ("models", "degraded", "failed"),
    [
        ((POOR, ModelError("overloaded", "key sk-secret is overloaded")), "tier-1 failed", "tier-1"),
        ((POOR,), "no tier-1", ""),
        ((ModelError("unreachable", "no"), GOOD), "", "tier-0"),
    ],
)
def test_what_failed_is_told_in_words_of_ours(models: Sequence[Any], degraded: str, failed: str) -> None:
    found, _ = answered(*(Speaker(f"openai:{number}", said) for number, said in enumerate(models)))
    assert (found.degraded, found.failed_steps) == (degraded, failed)
    assert "secret" not in repr(found)


def test_a_request_that_nobody_answered_has_no_tier_and_cost_nothing() -> None:
    down = ModelError("unreachable", "no")
    found, _ = answered(Speaker("openai:a", down), Speaker("openai:b", down))
    assert (found.status, found.tier, found.model, found.failed_steps) == (503, None, None, "tier-0,tier-1")
    assert (found.total_usd, found.savings_usd) == (0.0, 0.0)
    refused = record_of(exchange(status=400), None, Controls(), None, None, KEPT)
    assert (refused.tier, refused.total_usd, refused.prompt_digest) == (None, 0.0, None)


def test_what_a_request_chose_is_kept() -> None:
    controls = Controls(force="tier-1", grading=False, threshold=62.5, cache=True, debug="full")
    found, _ = answered(Speaker("openai:a"), Speaker("openai:b"), controls=controls)
    assert found.chosen == "force=tier-1, threshold=62.5, grading=off, cache=on"
    assert (found.passed, found.question_type, found.grading_ms) == (None, None, None)


def test_an_answer_from_the_cache_costs_nothing_and_is_not_graded_again() -> None:
    found, _ = answered(Speaker("openai:a"), Speaker("openai:b"), cached="exact")
    assert (found.cached, found.tier, found.question_type, found.passed) == ("exact", "tier-0", "FACTUAL", None)
    assert (found.total_usd, found.baseline_usd, found.grading_ms, found.output_tokens) == (0.0, 0.008, None, 0)


def test_addresses_of_models_are_not_kept() -> None:
    found, _ = answered(Speaker("http://ann:secret@10.0.0.7/v1#llama"), Speaker("openai:b"))
    assert found.model == "llama"


def test_digests_are_equal_for_equal_texts_under_one_key_only() -> None:
    model = Speaker("openai:a")
    first, texts = answered(model, question=PRIVATE)
    again, _ = answered(model, question=PRIVATE)
    other, _ = answered(model, question="Something else?")
    rekeyed, _ = answered(model, question=PRIVATE, keeping=TextRetention.of("hash", b"other"))
    assert first.prompt_digest == again.prompt_digest
    assert first.answer_digest == other.answer_digest
    assert first.prompt_digest not in (other.prompt_digest, rekeyed.prompt_digest, None)
    assert texts is None
    assert first.prompt is None


def test_dropped_texts_leave_nothing_behind() -> None:
    found, texts = answered(Speaker("openai:a"), question=PRIVATE, keeping=TextRetention.of("drop"))
    assert (found.prompt_digest, found.answer_digest, found.conversation, texts) == (None, None, None, None)


def test_kept_texts_are_masked_before_they_are_written(database: Opened) -> None:
    ungraded = Controls(grading=False)  # a grade would keep the answer from being sent
    said = Speaker("openai:a", f"Certainly: {PRIVATE}")
    found, texts = answered(said, question=PRIVATE, controls=ungraded, keeping=KEPT)
    assert texts is not None
    assert "4111" not in repr(texts)

    async def scenario(opened: Database) -> None:
        writer = RecordWriter(opened)
        writer.put(found, texts)
        await writer.close()

    database.run(scenario)
    kept = database.read(gateway.request_by_trace, found.trace)
    assert kept is not None
    assert kept.prompt == "My card is [CARD], write to [EMAIL]."
    assert kept.answer == "Certainly: My card is [CARD], write to [EMAIL]."


def test_long_texts_are_cut_where_nothing_half_masked_remains() -> None:
    card = "4111 1111 1111 1111 "
    long = masked(record(), ExchangeTexts("x " + card * 2000, card * 2000 + "x"))
    assert long.prompt is not None
    assert long.answer is not None
    assert len(long.prompt) <= MOST_TEXT + len(CUT) >= len(long.answer)
    assert "1111" not in long.prompt + long.answer
    assert (long.prompt[: len(CUT)], long.answer[-len(CUT) :]) == (CUT, CUT)


def test_texts_that_a_database_cannot_hold_are_mended(database: Opened) -> None:
    found = masked(record(), ExchangeTexts("a\0b", "half \ud800 character"))
    database.write(gateway.add_requests, [found])
    kept = database.read(gateway.request_by_trace, found.trace)
    assert kept is not None
    assert (kept.prompt, kept.answer) == ("a\ufffdb", "half ? character")


# --- the writer -------------------------------------------------------------------------------------------


def kept_traces(conn: Connection) -> list[UUID]:
    return list(conn.execute(select(gateway_requests.c.trace).order_by(gateway_requests.c.trace)).scalars())


def test_everything_put_is_written_in_batches(database: Opened) -> None:
    records = [record(NOW + timedelta(seconds=number)) for number in range(2 * TOGETHER + 50)]
    told: list[int] = []

    async def scenario(opened: Database) -> None:
        writer = RecordWriter(opened, written=lambda entries: told.append(len(entries)))
        for one in records:
            assert writer.put(one)
        assert not await writer.drained(0.0)
        assert await writer.drained(30)
        assert len(writer) == 0
        writer.put(TierComparison(records[0].trace, 50.0, -40.0, False))
        await writer.close()

    database.run(scenario)
    assert told == [TOGETHER, TOGETHER, 50, 1]
    assert database.read(kept_traces) == [one.trace for one in records]
    assert len(database.read(gateway.compared_requests, NOW, NOW + timedelta(days=1))) == 1


def test_too_many_are_dropped_counted_and_told_once_a_minute(
    database: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    metrics = Metrics()

    async def scenario(opened: Database) -> None:
        nonlocal now
        writer = RecordWriter(opened, waiting=3, dropped=metrics.dropped, clock=lambda: now)
        assert [writer.put(record()) for _ in range(6)] == [True] * 3 + [False] * 3
        now += 59
        writer.put(record())
        assert len(caplog.records) == 1
        now += 1
        writer.put(record())
        assert len(caplog.records) == 2
        await writer.close()
        assert not writer.put(record())
        assert writer.drops == 6

    with caplog.at_level(logging.WARNING, "rubrica.gateway"):
        database.run(scenario)
    assert "5 records were dropped since the start" in caplog.text
    assert b"rubrica_gateway_dropped_records_total 6.0" in metrics.text()
    assert len(database.read(kept_traces)) == 3


def test_long_texts_are_bounded_as_a_whole(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        writer = RecordWriter(opened, characters=1000)
        assert writer.put(record(), ExchangeTexts("p" * 500, "a" * 400))
        assert not writer.put(record(), ExchangeTexts("p" * 100, "a"))
        assert writer.put(record(), ExchangeTexts("p" * 50, "a" * 50))
        assert await writer.drained(30)
        assert writer.put(record(), ExchangeTexts("p" * 900, ""))
        await writer.close()

    database.run(scenario)
    assert len(database.read(kept_traces)) == 3


def test_one_entry_that_cannot_be_kept_does_not_hold_up_the_others(
    database: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    good = [record(NOW + timedelta(seconds=number)) for number in range(3)]
    bad = record(model="a secret \ud800", question_type="b")

    async def scenario(opened: Database) -> None:
        writer = RecordWriter(opened)
        for one in (good[0], bad, good[1]):
            writer.put(one)
        assert await writer.drained(30)
        writer.put(good[2])
        await writer.close()
        assert writer.drops == 1

    database.run(scenario)
    assert database.read(kept_traces) == [one.trace for one in good]
    assert "secret" not in caplog.text


def test_records_wait_while_a_file_is_locked_and_are_written_later(
    sqlite_template: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "rubrica.db"
    file.write_bytes(sqlite_template.read_bytes())
    records = [record(NOW + timedelta(seconds=number)) for number in range(20)]

    async def scenario() -> list[UUID]:
        async with Database.open(str(file), patience=0.05) as opened:
            writer = RecordWriter(opened, waiting=10)
            holder = sqlite3.connect(file, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            taken = [writer.put(one) for one in records]
            assert not await writer.drained(0.4)
            assert (taken.count(True), writer.drops, len(writer)) == (10, 10, 10)
            assert writer.put(record()) is False
            holder.execute("ROLLBACK")
            holder.close()
            assert await writer.drained(30)
            assert writer.put(records[-1])
            await writer.close()
            return await opened.read(kept_traces)

    with caplog.at_level(logging.WARNING, "rubrica.gateway"):
        found = asyncio.run(scenario())
    assert found == [one.trace for one in (*records[:10], records[-1])]
    told = [line.getMessage() for line in caplog.records]
    assert any(line.startswith("records cannot be written; 10 wait") for line in told)


def test_records_wait_while_a_server_is_away_and_are_written_later(careful_postgres: Server) -> None:
    asyncio.run(_through_a_restart(careful_postgres))


async def _through_a_restart(server: Server) -> None:
    url = await asyncio.to_thread(lambda: server.url(server.create()))
    await upgrade(url)
    records = [record(NOW + timedelta(seconds=number)) for number in range(6)]
    async with Database.open(url, patience=0.2) as opened:
        writer = RecordWriter(opened)
        writer.put(records[0])
        assert await writer.drained(30)
        await asyncio.to_thread(server.stop, "immediate")
        for one in records[1:]:
            assert writer.put(one)
        assert not await writer.drained(1.0)
        await asyncio.to_thread(server.start)
        assert await writer.drained(60)
        await writer.close()
        assert await opened.read(kept_traces) == [one.trace for one in records]


def test_closing_gives_up_after_its_grace(sqlite_template: Any, tmp_path: Any) -> None:
    file = tmp_path / "rubrica.db"
    file.write_bytes(sqlite_template.read_bytes())

    async def scenario() -> tuple[int, float]:
        async with Database.open(str(file), patience=0.05) as opened:
            writer = RecordWriter(opened)
            holder = sqlite3.connect(file, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            for _ in range(5):
                writer.put(record())
            loop = asyncio.get_running_loop()
            started = loop.time()
            await writer.close(grace=0.3)
            holder.close()
            return writer.drops, loop.time() - started

    drops, spent = asyncio.run(scenario())
    assert drops == 5
    assert 0.3 <= spent < 30


@pytest.mark.slow
def test_memory_is_flat_over_many_records(sqlite_template: Any, tmp_path: Any) -> None:
    file = tmp_path / "rubrica.db"
    file.write_bytes(sqlite_template.read_bytes())
    sizes: list[int] = []

    async def scenario() -> None:
        async with Database.open(str(file)) as opened:
            writer, metrics = RecordWriter(opened), Metrics()
            for round_ in range(6):
                for number in range(1000):
                    one = record(NOW + timedelta(seconds=1000 * round_ + number))
                    metrics.observe(one)
                    writer.put(one)
                assert await writer.drained(60)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
            await writer.close()
            assert writer.drops == 0

    tracemalloc.start()
    try:
        asyncio.run(scenario())
    finally:
        tracemalloc.stop()
    assert sizes[-1] - sizes[1] < 200_000, sizes
