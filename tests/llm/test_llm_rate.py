"""Requests and tokens a minute: no minute sees more, whoever asks."""

from __future__ import annotations

import asyncio
from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback

from rubrica.llm.connect import connect
from rubrica.llm.model import ChatMessage, Request
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.rate import MinuteAllowance, RateLimit
from rubrica.llm.settings import Settings


@settings(max_examples=50, deadline=None)
@given(st.integers(20, 2_000), st.lists(st.floats(0, 20), min_size=50, max_size=200))
def test_no_sixty_seconds_see_more_than_the_allowance(per_minute: int, pauses: list[float]) -> None:
    allowance = MinuteAllowance(per_minute)
    asked = 0.0
    sent = []
    for pause in pauses:
        asked += pause / 10
        sent += [asked + allowance.wait(1, asked) for _ in range(max(1, per_minute // 50))]
    sent.sort()
    for i, first in enumerate(sent):
        assert bisect_left(sent, first + 59.999) - i <= per_minute


def test_a_call_larger_than_the_allowance_goes_through_and_those_behind_it_wait() -> None:
    allowance = MinuteAllowance(600)
    assert allowance.wait(6_000, now=0.0) == 0
    assert allowance.wait(1, now=0.0) == pytest.approx(60 * 5_951 / 550, rel=0.01)


def test_tokens_and_requests_are_limited_each_for_every_place() -> None:
    rate = RateLimit(requests=60, tokens=1_200, clock=lambda: 0.0)
    assert [round(rate.delay("one", 10), 1) for _ in range(6)] == [0, 0, 0, 0, 0, 1.1]
    assert rate.delay("two", 100) == 0
    assert rate.delay("two", 100) > 5


def test_calls_wait_for_the_rate_that_is_set_and_waiting_is_no_part_of_their_deadline() -> None:
    waited: list[float] = []

    async def calls() -> int:
        async with Loopback("ok") as server:
            settings = Settings(
                openai_base_url=server.openai_url, openai_key=server.key, requests_per_minute=60, deadline=0.9
            )

            async def sleep(seconds: float) -> None:
                waited.append(seconds)

            limits = ProviderLimits(rate=RateLimit(60, None, clock=lambda: 0.0, sleep=sleep))
            model = connect("openai:gpt-4o-mini", settings, gates=limits)
            request = Request((ChatMessage("user", "Hello"),))
            for _ in range(7):
                await model(request)
            await model.close()
            return len(server.seen)

    assert asyncio.run(calls()) == 7
    assert waited == pytest.approx([60 / 55, 120 / 55])
