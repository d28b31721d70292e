"""Verdict mode: votes, dissent, debate, members that fail, and prices before anybody is asked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rubrica.council.members import Members
from rubrica.council.quote import quote_stages, quote_verdict, total_quote
from rubrica.council.settings import CouncilSettings
from rubrica.council.verdict_mode import MemberVote, VerdictResult, decide, reach_verdict
from rubrica.errors import InputError
from rubrica.llm.model import ModelError, Request, Usage
from rubrica.llm.scripted import ScriptedModel


def vote(said: str, confidence: float = 0.8, reason: str = "because") -> dict[str, Any]:
    return {"verdict": said, "confidence": confidence, "reason": reason}


def held(replies: dict[str, Any], *, majority: float = 0.5, **settings: Any) -> tuple[VerdictResult, dict[str, Any]]:
    models = {name: ScriptedModel(reply if callable(reply) else [reply], name=name) for name, reply in replies.items()}
    chosen = CouncilSettings(models=tuple(models), **settings)
    return asyncio.run(reach_verdict("May it ship?", chosen, Members(models), majority=majority)), models


def test_votes_are_counted_with_confidence_and_dissent() -> None:
    result, _ = held({"ann": vote("yes", 0.9), "bo": vote("yes", 0.7), "cy": vote("no", 0.8, "untested")})
    assert (result.verdict, result.agreement, result.confidence) == ("yes", 0.667, 0.6)
    assert [(one.model, one.reason) for one in result.dissent] == [("cy", "untested")]
    plain = result.to_dict()
    assert (plain["counts"], plain["complete"]) == ({"yes": 2, "no": 1, "unclear": 0}, True)
    json.dumps(plain)


@pytest.mark.parametrize(
    ("replies", "options", "why"),
    [
        ({"ann": vote("yes"), "bo": vote("no")}, {}, "the votes are tied"),
        ({"ann": vote("yes"), "bo": vote("yes"), "cy": vote("no")}, {"majority": 0.75}, "75% are needed"),
        ({"ann": vote("unclear"), "bo": vote("unclear")}, {}, "nobody votes yes or no"),
        ({"ann": vote("yes"), "bo": vote("unclear"), "cy": vote("unclear")}, {}, "1 of 3 models voted yes or no"),
        ({"ann": vote("yes"), "bo": ModelError("overloaded", "down")}, {}, "1 of 2 models voted"),
    ],
)
def test_what_is_not_decided_says_why(replies: Any, options: Any, why: str) -> None:
    result, _ = held(replies, **options)
    assert (result.verdict, result.agreement, result.confidence) == ("undecided", None, None)
    assert why in result.why
    assert result.complete == (not why.endswith("models voted"))


def test_a_refusal_and_a_reply_without_a_vote_are_no_votes() -> None:
    sorry = "I'm sorry, but I can't help with that."
    result, _ = held({"ann": vote("yes"), "bo": vote("yes"), "cy": sorry, "di": "Perhaps so."})
    assert result.verdict == "yes"
    assert [one.model for one in result.refusals] == ["cy"]
    assert {one.model for one in result.dropped} == {"cy", "di"}
    assert held({"ann": vote("no", reason="I cannot see a test."), "bo": vote("no")})[0].verdict == "no"


def test_in_a_debate_members_read_reasons_without_names_and_may_change_their_vote() -> None:
    def swayed(request: Request) -> Any:
        return vote("no") if "reasons of other members" in request.messages[1].content else vote("yes")

    def late(request: Request) -> Any:
        if "reasons of other members" in request.messages[1].content:
            return ModelError("overloaded", "down")
        return vote("no", reason="a column is still read")

    result, models = held({"ann": swayed, "bo": late, "cy": vote("yes")}, debate=1)
    assert {one.model: (one.vote, one.changed_from) for one in result.votes} == {
        "ann": ("no", "yes"), "bo": ("no", None), "cy": ("yes", None),
    }  # fmt: skip
    assert result.verdict == "no"
    shown = models["ann"].requests[1].messages[1].content
    assert "A member votes no: a column is still read" in shown
    assert not any(name in shown for name in ("bo:", "cy"))
    assert result.dropped == ()


def test_weights_count_and_a_question_is_needed() -> None:
    votes = (
        MemberVote("a", "yes", 0.9, "", weight=3.0),
        MemberVote("b", "no", 0.9, ""),
        MemberVote("c", "no", 0.9, ""),
    )
    assert decide(votes)[0] == "yes"
    settings = CouncilSettings(models=("a", "b"))
    with pytest.raises(InputError, match="no question"):
        asyncio.run(reach_verdict(" ", settings, Members({})))


def price(_: str, usage: Usage) -> float:
    return usage.input_tokens * 1e-6 + usage.output_tokens * 1e-5


def test_a_quote_tells_calls_tokens_and_price_by_stage() -> None:
    settings = CouncilSettings(models=("a", "b", "c"), tier="quick", max_tokens=100, final_tokens=200)
    answers, reviews, final = quote_stages(settings, ["a", "b", "c"], 50, price)
    assert [stage.calls for stage in (answers, reviews, final)] == [3, 6, 1]
    assert (answers.output_tokens, final.output_tokens) == (300, 200)
    assert reviews.usd == pytest.approx(reviews.input_tokens * 1e-6 + reviews.output_tokens * 1e-5)
    total = total_quote([answers, reviews, final])
    debated = settings.model_copy(update={"debate": 2})
    assert quote_stages(debated, ["a", "b", "c"], 50, price)[1].calls == 18
    assert total_quote(quote_stages(debated, ["a", "b", "c"], 50, price)).usd > (total.usd or 0.0)  # type: ignore[operator]
    assert quote_stages(settings, ["a", "b", "c"], 50, lambda *_: None)[0].usd is None
    assert [stage.calls for stage in quote_verdict(debated, ["a", "b", "c"], 50, price)] == [3, 6]
