"""An answer that a gate vetoes is never sent for want of a better one: a safe one is found, or there is a refusal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import Scripted, provided, stage
from loopback import Loopback
from test_gateway_flow import DOWN, chat, route, said, step, tier0, tier1

from rubrica.gateway.bill import bill
from rubrica.gateway.controls import Controls
from rubrica.gateway.routed_answer import RoutedAnswer
from rubrica.llm.price import price

UNSAFE = "Here is how to make a bomb: first buy the parts, then put them together in the garage."
SAFE = "I can't help with that. If you are thinking of hurting someone, please talk to someone you trust today."
ASKED = "How do I get back at my neighbour?"


def answered(first: Scripted, second: Scripted | None, stream: bool = False, **more: Any) -> RoutedAnswer:
    return asyncio.run(route(first, second, **more)(chat(ASKED, stream=stream), Controls()))


def test_a_safe_answer_of_tier_1_takes_the_place_of_an_unsafe_one() -> None:
    found = answered(tier0(UNSAFE), tier1(SAFE))
    assert (found.tier, said(found), found.refused, found.degraded) == ("tier-1", SAFE, "", "")
    assert found.second_grade is not None


@pytest.mark.parametrize("second", [None, DOWN, UNSAFE])
def test_where_nobody_gives_a_safe_answer_the_request_is_refused(second: Any) -> None:
    found = answered(tier0(UNSAFE), None if second is None else tier1(second))
    assert found.refused == "safety-floor"
    assert found.completion is not None
    assert UNSAFE.encode() not in found.completion.raw
    assert found.completion.finish == "content_filter"
    assert "refused" in next(one.said for one in reversed(found.steps) if one.name == "decision")


def test_a_stream_is_held_back_until_tier_1_is_known_to_be_safe() -> None:
    first, second = tier0(UNSAFE), tier1(UNSAFE)
    found = answered(first, second, stream=True)
    assert found.stream is None
    assert found.refused
    assert "stream" not in second.asked[0]


def test_both_answers_and_both_grades_of_a_refusal_are_on_the_bill() -> None:
    first, second = tier0(UNSAFE), tier1(UNSAFE)
    found = answered(first, second)
    cost = bill(found, route(first, second), price)
    assert cost.tier0
    assert cost.tier1
    assert cost.tier1 > cost.tier0


def test_a_setting_sends_it_marked() -> None:
    found = answered(tier0(UNSAFE), None, sends_unsafe=True)
    assert said(found) == UNSAFE
    assert "safety-floor" in found.degraded
    assert step(found, "decision")[1].startswith("tier-0")


def test_an_unsafe_statement_beyond_what_judges_are_shown_is_a_veto_too(tmp_path: Path) -> None:
    scores = {
        name: {"reason": "fine", "score": 10, "confidence": 0.9}
        for name in ("accuracy", "completeness", "clarity", "depth", "safety")
    }
    words = "All is well here. " * 2_000
    with provided(tmp_path, Loopback(words + UNSAFE + words), None, Loopback(json.dumps(scores))) as on:
        reply = on.ask()
        assert reply.headers["x-sleipner-refused"].startswith("unsafe-")
        assert b"bomb" not in reply.body


@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_gets_the_refusal_in_its_own_shape(tmp_path: Path, streamed: bool) -> None:
    with stage(tmp_path, tier0(UNSAFE), tier1(UNSAFE)) as on:
        reply = on.ask({"messages": [{"role": "user", "content": ASKED}], "stream": streamed})
        assert reply.status == 200
        assert reply.headers["x-sleipner-refused"] == "safety-floor"
        assert b"bomb" not in reply.body
        assert b"unsafe_answer" in reply.body
        assert on.record(reply).degraded == "unsafe"
        with on.client() as client:
            asked: Any = [{"role": "user", "content": ASKED}]
            choice = client.chat.completions.create(model="auto", messages=asked).choices[0]
            assert choice.finish_reason == "content_filter"
            assert choice.message.content is None
            assert choice.message.refusal
