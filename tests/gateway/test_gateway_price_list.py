"""What requests cost before the first one is sent, and from which length of answer on the gateway saves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from rubrica.cli.gateway import app
from rubrica.errors import InputError
from rubrica.gateway.price_list import PriceList, price_list
from rubrica.gateway.settings import GatewaySettings
from rubrica.llm.settings import Settings

DEAR, CHEAP = "anthropic:claude-sonnet-4-5", "openai:gpt-4o-mini"


def priced(share: float = 0.6, **settings: Any) -> PriceList:
    return asyncio.run(price_list(GatewaySettings.model_validate({"tier1": DEAR, **settings}), Settings(), share))


def test_a_judge_for_each_dimension_costs_several_times_one_for_all_together() -> None:
    each, together = (priced(tier0=CHEAP, grader=CHEAP, grading={"mode": mode}) for mode in ("each", "together"))
    assert (each.calls, together.calls) == (5, 1)
    for one, other in zip(each.requests, together.requests, strict=True):
        assert one.grading is not None
        assert other.grading is not None
        assert one.grading > 2 * other.grading > 0


def test_an_escalated_request_costs_what_a_passed_one_and_tier_1_cost() -> None:
    for request in priced(tier0=CHEAP, grader=CHEAP).requests:
        assert request.passed is not None
        assert request.tier1 is not None
        assert request.escalated == pytest.approx(request.passed + request.tier1)
        assert request.break_even is not None
        assert request.saving(request.break_even) == pytest.approx(0, abs=1e-12)


def test_long_answers_pay_before_short_ones_do() -> None:
    found = priced(tier0=CHEAP, grader="anthropic:claude-haiku-4-5", grading={"mode": "each"})
    assert found.pays_from is not None
    assert found.pays_from > found.requests[0].tokens


def test_what_never_pays_says_which_setting_would() -> None:
    dear_judge = priced(tier0=CHEAP, grader=DEAR, grading={"mode": "each"}, share=0.3)
    assert dear_judge.pays_from is None
    assert dear_judge.advice.startswith("grading.mode: together pays from")
    assert "cheaper tier-0" in priced(tier0=DEAR).advice


def test_a_price_that_nobody_knows_is_not_taken_for_nothing() -> None:
    found = priced(tier0="http://localhost:1/v1#mystery")
    assert found.requests[0].passed is None
    assert found.requests[0].saving(1.0) is None
    assert found.pays_from is None


def test_without_a_tier_1_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(InputError, match="--tier1"):
        priced(tier1=None)


def test_the_command_tells_it_to_people_and_to_programs() -> None:
    options = ["quote", "--tier0", CHEAP, "--tier1", DEAR, "--grader", DEAR]
    shown = CliRunner().invoke(app, options)
    assert shown.exit_code == 0, shown.output
    assert "tier-1 alone" in shown.output
    plain = json.loads(CliRunner().invoke(app, [*options, "--json"]).output)
    assert plain["calls"] == 1
    assert plain["requests"][0]["saving"] < 0 < plain["requests"][-1]["saving"]
