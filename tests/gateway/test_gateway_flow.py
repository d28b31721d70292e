"""Where requests go: the rules of routing, with models that answer, fail and hang."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted

from gateway_samples import trusting_rubric
from rubrica.errors import InputError
from rubrica.gateway.bill import bill
from rubrica.gateway.chat import Chat, read_chat
from rubrica.gateway.classifier import Classifier
from rubrica.gateway.controls import Controls
from rubrica.gateway.flow import Route
from rubrica.gateway.grading import Grader
from rubrica.gateway.routed_answer import AllDownError, RoutedAnswer
from rubrica.llm.model import ModelError
from rubrica.llm.price import price
from rubrica.model.context import Context
from rubrica.model.evaluation import Score
from rubrica.model.judge import QuestionClass

DOWN = ModelError("unreachable", "10.0.0.7: no connection")
BUSY = ModelError("overloaded", "HTTP 503", status=503, retry_after=7.0)
MALFORMED = ModelError("rejected", "the prompt is too long", status=400)
BROKE = ModelError("rejected", "the account is out of credit", status=429)
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {}}]}
PICTURE = {"type": "image_url", "image_url": {"url": "https://pictures.example/cat.png"}}
BETTER = "Paris has been the capital of France for most of its history."


def tier0(script: Any = GOOD, **more: Any) -> Scripted:
    return Scripted("openai:gpt-4o-mini", script, **more)


def tier1(script: Any = BETTER, **more: Any) -> Scripted:
    return Scripted("openai:gpt-4o", script, **more)


def chat(question: Any = CAPITAL, **more: Any) -> Chat:
    return read_chat(json.dumps({"messages": [{"role": "user", "content": question}], **more}).encode())


def route(first: Scripted, second: Scripted | None, **more: Any) -> Route:
    grader = more.pop("grader", None) or Grader(trusting_rubric(), deadline=5.0)
    return Route(first, second, grader, more.pop("classifier", None) or Classifier(), **more)


def routed(first: Scripted, second: Scripted | None = None, asked: Chat | None = None, **controls: Any) -> RoutedAnswer:
    return asyncio.run(route(first, second)(asked or chat(), Controls(**controls)))


def said(found: RoutedAnswer) -> str:
    assert found.completion is not None
    return found.completion.text


def step(found: RoutedAnswer, name: str) -> tuple[str, str]:
    own = next(one for one in found.steps if one.name == name)
    return own.status, own.said


def test_an_answer_that_passes_is_returned_and_tier_1_is_not_asked() -> None:
    second = tier1()
    found = routed(tier0(), second)
    assert (found.tier, said(found), found.degraded) == ("tier-0", GOOD, "")
    assert found.classified is not None
    assert found.classified.type == "FACTUAL"
    assert second.asked == []
    assert [one.name for one in found.steps] == ["classification", "tier-0", "grading", "decision"]


def test_an_answer_that_fails_escalates_and_is_remembered() -> None:
    found = routed(tier0(POOR), tier1())
    assert (found.tier, said(found)) == ("tier-1", BETTER)
    assert found.passed_over is not None
    assert found.passed_over.text == POOR
    assert found.grade is not None
    assert not found.grade.passed
    assert "does not reach 85" in step(found, "decision")[1]


def test_tier_0_down_goes_to_tier_1_without_a_grade() -> None:
    found = routed(tier0(DOWN), tier1())
    assert (found.tier, said(found), found.grade) == ("tier-1", BETTER, None)
    assert not found.degraded
    assert step(found, "tier-0") == ("failed", str(DOWN))


def test_tier_1_down_after_a_failed_grade_gives_the_best_answer_seen() -> None:
    found = routed(tier0(POOR), tier1(DOWN))
    assert (found.tier, said(found)) == ("tier-0", POOR)
    assert "does not reach 85" in found.degraded
    assert "tier-1 failed (unreachable)" in found.degraded
    assert found.passed_over is None


def test_what_clients_are_told_does_not_name_our_machines() -> None:
    assert "10.0.0.7" not in routed(tier0(POOR), tier1(DOWN)).degraded
    with pytest.raises(AllDownError) as caught:
        routed(tier0(DOWN), tier1(DOWN))
    assert "10.0.0.7" not in str(caught.value)


def test_without_a_tier_1_a_failed_answer_is_degraded() -> None:
    found = routed(tier0(POOR))
    assert (said(found), found.tier) == (POOR, "tier-0")
    assert "there is no tier-1" in found.degraded


def test_all_down_tells_which_and_when_to_come_back() -> None:
    with pytest.raises(AllDownError) as caught:
        routed(tier0(DOWN), tier1(BUSY))
    assert str(caught.value) == "no model could answer: tier-0 failed (unreachable), tier-1 failed (overloaded)"
    assert caught.value.rejected is None
    assert caught.value.retry_after == 1.0


@pytest.mark.parametrize(
    ("first", "second", "rejected"),
    [
        (MALFORMED, MALFORMED, True),
        (MALFORMED, DOWN, False),
        (DOWN, MALFORMED, False),
        (BROKE, BROKE, False),  # that is our account, not the client's mistake
        (MALFORMED, None, True),
    ],
)
def test_a_request_is_the_clients_mistake_only_if_every_model_says_so(
    first: ModelError, second: ModelError | None, rejected: bool
) -> None:
    with pytest.raises(AllDownError) as caught:
        routed(tier0(first), tier1(second) if second is not None else None)
    assert (caught.value.rejected is not None) is rejected


@pytest.mark.parametrize(("force", "text"), [("tier-0", POOR), ("tier-1", BETTER)])
def test_a_forced_tier_answers_ungraded(force: str, text: str) -> None:
    found = routed(tier0(POOR), tier1(), force=force)
    assert (found.tier, said(found), found.grade, found.classified) == (force, text, None, None)
    assert step(found, "grading")[0] == "skipped"


def test_a_forced_tier_that_is_down_is_stood_in_for() -> None:
    found = routed(tier0(), tier1(DOWN), force="tier-1")
    assert (found.tier, said(found), found.degraded) == ("tier-0", GOOD, "tier-1 failed (unreachable)")


def test_forcing_a_tier_that_is_not_there_is_degraded() -> None:
    found = routed(tier0(), force="tier-1")
    assert (found.tier, found.degraded) == ("tier-0", "there is no tier-1")


def test_grading_off_asks_tier_0_alone() -> None:
    found = routed(tier0(POOR), tier1(), grading=False)
    assert (found.tier, said(found), found.grade) == ("tier-0", POOR, None)


@pytest.mark.parametrize("ungraded", ["tier-0", "tier-1"])
@pytest.mark.parametrize(
    "asked", [chat(n=2), chat([PICTURE, {"type": "text", "text": "What is that?"}])], ids=["several", "picture"]
)
def test_what_cannot_be_graded_goes_where_the_settings_say(asked: Chat, ungraded: Any) -> None:
    found = asyncio.run(route(tier0(), tier1(), ungraded=ungraded)(asked, Controls()))
    assert (found.tier, found.grade) == (ungraded, None)
    assert step(found, "grading")[1].startswith("not gradable")


def test_a_grader_that_sees_is_shown_pictures() -> None:
    asked = chat([PICTURE, {"type": "text", "text": CAPITAL}])
    found = asyncio.run(route(tier0(), tier1(), sees_images=True)(asked, Controls()))
    assert found.grade is not None


@pytest.mark.parametrize(("ungraded", "tier"), [("tier-0", "tier-0"), ("tier-1", "tier-1")])
def test_an_answer_that_calls_tools_is_not_graded(ungraded: Any, tier: str) -> None:
    found = asyncio.run(route(tier0(CALLS), tier1(), ungraded=ungraded)(chat(tools=[{}]), Controls()))
    assert (found.tier, found.grade) == (tier, None)


def test_an_empty_answer_escalates_even_where_tier_0_answers_what_cannot_be_graded() -> None:
    found = asyncio.run(route(tier0("  "), tier1(), ungraded="tier-0")(chat(), Controls()))
    assert found.tier == "tier-1"


def test_a_type_and_a_threshold_of_the_request_decide() -> None:
    found = routed(tier0(POOR), tier1(), question_type="CREATIVE", threshold=20)
    assert found.tier == "tier-0"
    assert found.classified == QuestionClass("CREATIVE", 1.0, "given", "named by the request")


@pytest.mark.parametrize("controls", [{"question_type": "POETIC"}, {"question_type": ""}])
def test_a_type_that_is_none_is_refused_before_anybody_is_asked(controls: dict[str, Any]) -> None:
    first = tier0()
    with pytest.raises(InputError, match="x-sleipner-type"):
        routed(first, None, **controls)
    assert first.asked == []


def test_a_grading_deadline_escalates() -> None:
    async def never(axes: Mapping[str, Any], context: Context) -> dict[str, Score]:
        await asyncio.sleep(60)
        return {}

    slow = Grader(trusting_rubric(), never, deadline=0.05)
    found = asyncio.run(route(tier0(), tier1(), grader=slow)(chat(), Controls()))
    assert found.tier == "tier-1"
    assert found.grade is not None
    assert found.grade.score == 50
    assert step(found, "grading") == ("failed", "no grade within 0.05 s")
    assert bill(found, route(tier0(), tier1()), price).grading is None  # nobody knows what was asked by then


def test_the_question_is_classified_while_tier_0_answers() -> None:
    both = asyncio.Barrier(2)  # passes only when both are inside together

    class Slow(Classifier):
        async def __call__(self, asked: Chat) -> QuestionClass:
            await both.wait()
            return await super().__call__(asked)

    class Waiting(Scripted):
        async def _wait(self) -> None:
            await both.wait()

    work = route(Waiting(), tier1(), classifier=Slow())(chat(), Controls())
    assert asyncio.run(asyncio.wait_for(work, 60)).tier == "tier-0"


def test_nobody_waits_for_a_classification_once_tier_0_is_down() -> None:
    class Stuck(Classifier):
        async def __call__(self, asked: Chat) -> QuestionClass:
            await asyncio.sleep(60)
            raise AssertionError

    found = asyncio.run(route(tier0(DOWN), tier1(), classifier=Stuck())(chat(), Controls()))
    assert (found.tier, found.classified) == ("tier-1", None)


def test_tier_0_is_asked_for_a_whole_answer_even_for_a_stream() -> None:
    first = tier0()
    found = routed(first, None, chat(stream=True, stream_options={"include_usage": True}, seed=7))
    assert found.stream is None
    assert first.asked[0].keys() == {"messages", "seed"}


def test_an_escalated_stream_is_live() -> None:
    second = tier1()

    async def events() -> list[bytes]:
        found = await route(tier0(POOR), second)(chat(stream=True), Controls())
        assert found.stream is not None
        assert found.completion is None
        return [event async for event in found.stream]

    assert b"Paris " in b"".join(asyncio.run(events()))
    assert second.asked[0]["stream"] is True


def test_a_stream_that_breaks_before_its_first_event_is_as_good_as_down() -> None:
    found = routed(tier0(POOR), tier1(breaks_after=0), chat(stream=True))
    assert (found.tier, said(found)) == ("tier-0", POOR)
    assert "tier-1 failed (unreachable)" in found.degraded


def test_being_cancelled_cancels_whoever_is_asked() -> None:
    first = tier0(delay=60)

    async def given_up() -> None:
        work = asyncio.create_task(route(first, tier1())(chat(), Controls()))
        await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(given_up())
    assert first.cancelled == 1


def test_a_bill_names_every_part_and_what_tier_1_alone_would_have_cost() -> None:
    way = route(tier0(), tier1())
    passed = bill(asyncio.run(way(chat(), Controls())), way, price)
    parts = (passed.tier0, passed.tier1, passed.grading, passed.classification)
    assert parts == (pytest.approx(7.8e-6), 0.0, 0.0, 0.0)  # type: ignore[comparison-overlap]
    assert passed.baseline == pytest.approx(1.3e-4)
    assert passed.savings == pytest.approx(1.222e-4)
    way = route(tier0(POOR), tier1())
    failed = bill(asyncio.run(way(chat(), Controls())), way, price)
    assert failed.total == pytest.approx(1.378e-4)
    assert failed.savings == pytest.approx(-7.8e-6)


def test_an_unknown_price_makes_the_sum_unknown_and_not_cheap() -> None:
    way = route(Scripted("openai:nobody-knows"), tier1())
    found = bill(asyncio.run(way(chat(), Controls())), way, price)
    assert (found.tier0, found.total, found.savings) == (None, None, None)
