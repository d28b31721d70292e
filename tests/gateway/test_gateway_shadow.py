"""Comparing with tier-1 in the background: on a share of requests, a few at once, and never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from databases import Opened
from gateway_samples import CAPITAL, GOOD, NOW, POOR, Speaker, chat, price, record, route
from rubrica.errors import SpendingLimitError
from rubrica.gateway.bill import bill
from rubrica.gateway.chat import Chat
from rubrica.gateway.controls import Controls
from rubrica.gateway.flow import Route
from rubrica.gateway.record import HttpExchange, TextRetention, record_of
from rubrica.gateway.routed_answer import RoutedAnswer
from rubrica.gateway.shadow import Payment, Shadow, is_sampled
from rubrica.gateway.writer import RecordWriter
from rubrica.llm.model import ModelError
from rubrica.store import gateway
from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.gateway import RequestRecord, TierComparison


async def ask(way: Route, asked: Chat, **fields: Any) -> tuple[RoutedAnswer, RequestRecord]:
    routed = await way(asked, Controls())
    plain: dict[str, Any] = {"trace": new_id(NOW), "at": NOW, "status": 200, "total_ms": 1.0}
    exchange = HttpExchange(**(plain | fields))
    return routed, record_of(exchange, asked, Controls(), routed, bill(routed, way, price), TextRetention.of("drop"))


def compared(
    tier0: Speaker, tier1: Speaker, share: float = 1.0, **body: Any
) -> tuple[RequestRecord, list[TierComparison]]:
    """The comparison that follows one request."""
    notes: list[TierComparison] = []

    async def scene() -> RequestRecord:
        way, asked = route(tier0, tier1), chat(CAPITAL, **body)
        shadow = Shadow(share, price, notes.append)
        routed, made = await ask(way, asked)
        shadow.consider(asked, routed, way, made)
        await until(lambda: not len(shadow))
        return made

    return asyncio.run(scene()), notes


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.005)


def test_a_passed_answer_is_compared_with_tier_1s() -> None:
    tier0, tier1 = Speaker("openai:a", GOOD), Speaker("openai:b", GOOD)
    made, [found] = compared(tier0, tier1, user="ann", stream_options={"include_usage": True})
    assert (found.trace, found.score, found.difference, found.better) == (made.trace, made.score, 0.0, False)
    assert (found.failure, found.usd) == ("", 0.008)  # offline grading costs nothing
    assert [body.get("user") for body in tier1.asked] == ["ann"]
    assert "stream_options" not in tier1.asked[0]


def test_a_worse_answer_of_tier_1_makes_the_difference_negative() -> None:
    made, [found] = compared(Speaker("openai:a", GOOD), Speaker("openai:b", POOR))
    assert found.score is not None
    assert made.score is not None
    assert found.difference is not None
    assert found.difference == pytest.approx(found.score - made.score)
    assert found.difference < -10
    assert found.better is False


def test_an_escalated_answer_is_only_graded_not_asked_for_again() -> None:
    tier1 = Speaker("openai:b", GOOD)
    made, [found] = compared(Speaker("openai:a", POOR), tier1)
    assert made.passed is False
    assert len(tier1.asked) == 1
    assert (found.better, found.usd) == (True, 0.0)
    assert found.difference is not None
    assert found.difference > 10


def test_what_tier_1_costs_is_unknown_where_its_price_is() -> None:
    _, [found] = compared(Speaker("openai:a"), Speaker("unheard:of"))
    assert (found.failure, found.usd) == ("", None)


@pytest.mark.parametrize(
    ("says", "failure"), [(ModelError("unreachable", "no"), "tier-1 failed"), ("  ", "not gradable")]
)
def test_what_cannot_be_compared_is_told(says: Any, failure: str) -> None:
    _, [found] = compared(Speaker("openai:a"), Speaker("openai:b", says))
    assert (found.failure, found.score, found.difference) == (failure, None, None)


def test_only_the_share_is_compared_and_a_trace_decides() -> None:
    traces = [new_id(NOW) for _ in range(4000)]
    taken = {trace for trace in traces if is_sampled(trace, 0.25)}
    assert 0.21 < len(taken) / 4000 < 0.29
    assert taken == {trace for trace in traces if is_sampled(trace, 0.25)}
    assert taken > {trace for trace in traces if is_sampled(trace, 0.05)}
    assert compared(Speaker("openai:a"), Speaker("openai:b"), share=0.0)[1] == []


@pytest.mark.parametrize("fields", [{"cached": "exact"}, {"degraded": "tier-1 failed"}, {"score": None}])
def test_what_was_not_graded_just_now_is_not_compared(fields: dict[str, Any]) -> None:
    async def scene() -> None:
        way, asked = route(Speaker("openai:a"), Speaker("openai:b")), chat(CAPITAL)
        routed, _ = await ask(way, asked)
        shadow = Shadow(1.0, price, lambda _: None)
        assert not shadow.consider(asked, routed, way, record(**fields))
        alone = route(Speaker("openai:a"))
        assert not shadow.consider(asked, routed, alone, record())
        assert shadow.left_out == 0

    asyncio.run(scene())


def test_only_a_few_run_at_once_and_closing_ends_them() -> None:
    notes: list[TierComparison] = []

    async def scene() -> None:
        tier1 = Speaker("openai:b", GOOD, delay=60)
        way, asked = route(Speaker("openai:a"), tier1), chat(CAPITAL)
        shadow = Shadow(1.0, price, notes.append, at_once=2)
        routed, made = await ask(way, asked)
        begun = [shadow.consider(asked, routed, way, made) for _ in range(5)]
        assert (begun, len(shadow), shadow.left_out) == ([True, True, False, False, False], 2, 3)
        await until(lambda: len(tier1.asked) == 2)
        await shadow.close()
        assert (len(shadow), tier1.cancelled) == (0, 2)

    asyncio.run(scene())
    assert notes == []


def test_nothing_is_compared_once_the_money_is_spent() -> None:
    notes: list[TierComparison] = []

    @asynccontextmanager
    async def refused(_chat: Chat, _route: Route) -> AsyncIterator[Payment]:
        raise SpendingLimitError("all is spent")
        yield Payment()

    async def scene() -> None:
        tier1 = Speaker("openai:b")
        way, asked = route(Speaker("openai:a"), tier1), chat(CAPITAL)
        shadow = Shadow(1.0, price, notes.append, paying=refused)
        routed, made = await ask(way, asked)
        assert shadow.consider(asked, routed, way, made)
        await until(lambda: not len(shadow))
        assert (tier1.asked, shadow.left_out, notes) == ([], 1, [])

    asyncio.run(scene())


def test_comparisons_end_up_in_the_row_of_their_request(database: Opened) -> None:
    async def scene(opened: Database) -> UUID:
        writer = RecordWriter(opened)
        way, asked = route(Speaker("openai:a", POOR), Speaker("openai:b", GOOD)), chat(CAPITAL)
        shadow = Shadow(1.0, price, writer.put)  # type: ignore[arg-type] # what it returns is of no use here
        routed, made = await ask(way, asked)
        writer.put(made)
        assert shadow.consider(asked, routed, way, made)
        await until(lambda: not len(shadow))
        await writer.close()
        return made.trace

    trace = database.run(scene)
    [found] = database.read(gateway.compared_requests, NOW, NOW.replace(year=2027))
    assert found.question_type == "FACTUAL"
    assert found.difference > 10
    assert database.read(gateway.request_by_trace, trace) is not None
