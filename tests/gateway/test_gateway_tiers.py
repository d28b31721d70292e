"""More than two tiers: asked in turn from the cheapest, graded, and left at the first answer that passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, stage

from rubrica.errors import RubricaError
from rubrica.gateway.settings import settings_from_text
from rubrica.llm.model import ModelError, Usage
from rubrica.llm.price import price

CHEAP, MIDDLE, BEST = "openai:gpt-4o-mini", "openai:gpt-4.1-mini", "openai:gpt-4o"
DOWN = ModelError("overloaded", "no capacity", status=529)


def three(place: Path, *said: Any, **settings: Any) -> Any:
    """A gateway of three tiers."""
    models = [Scripted(name, text) for name, text in zip((CHEAP, MIDDLE, BEST), said, strict=True)]
    tiers = [model.name for model in models]
    return stage(place, *models, tiers=tiers, tier0=None, tier1=None, **settings)


def usd(*models: str) -> Any:
    return pytest.approx(sum(price(name, Usage(20, 8)) or 0 for name in models))


def test_the_first_answer_that_passes_is_sent(tmp_path: Path) -> None:
    with three(tmp_path, POOR, GOOD, GOOD) as on:
        reply = on.ask()
        kept = on.record(reply)
    assert (reply.text, reply.headers["x-sleipner-tier"], reply.headers["x-sleipner-model"]) == (GOOD, "tier-1", MIDDLE)
    assert (kept.tier, kept.passed, kept.degraded) == ("tier-1", False, "")
    assert (kept.tier0_usd, kept.tier1_usd, kept.total_usd) == (usd(CHEAP), usd(MIDDLE), usd(CHEAP, MIDDLE))
    assert kept.baseline_usd == usd(BEST)
    assert set(kept.model_usd or {}) == {CHEAP, MIDDLE}


def test_the_last_tier_answers_what_no_other_does_and_streams(tmp_path: Path) -> None:
    asked = {"messages": [{"role": "user", "content": CAPITAL}], "stream": True}
    with three(tmp_path, POOR, POOR, GOOD) as on:
        reply = on.ask(asked)
        kept = on.record(reply)
    assert reply.headers["x-sleipner-tier"] == "tier-2"
    assert (kept.tier, kept.model, kept.tier1_usd) == ("tier-2", BEST, usd(MIDDLE, BEST))
    assert kept.output_tokens == 24


def test_a_tier_that_is_down_is_passed_over(tmp_path: Path) -> None:
    with three(tmp_path, DOWN, DOWN, GOOD) as on:
        reply = on.ask(**{"x-sleipner-debug": "full"})
        assert reply.headers["x-sleipner-tier"] == "tier-2"
        failed = [step["name"] for step in reply.debug["flow_steps"] if step["status"] == "failed"]
        assert failed == ["Tier-0 Response", "Tier-1 Response"]
        assert on.record(reply).failed_steps == "tier-0,tier-1"


def test_the_best_answer_is_given_where_the_last_tier_is_down(tmp_path: Path) -> None:
    better = "It may be Paris, I believe, but I am not sure at all about that."
    with three(tmp_path, POOR, better, DOWN) as on:
        reply = on.ask()
        kept = on.record(reply)
    assert reply.text in (POOR, better)
    assert reply.headers["x-sleipner-tier"] == kept.tier == ("tier-1" if reply.text == better else "tier-0")
    assert (kept.degraded, kept.total_usd) == ("tier-1 failed", usd(CHEAP, MIDDLE))


def test_any_tier_can_be_forced_and_no_other(tmp_path: Path) -> None:
    with three(tmp_path, POOR, "middle", "best") as on:
        for number, text in enumerate((POOR, "middle", "best")):
            reply = on.ask(**{"x-sleipner-force": f"tier-{number}"})
            assert (reply.text, reply.headers["x-sleipner-tier"]) == (text, f"tier-{number}")
        assert on.record(reply).total_usd == usd(BEST)
        refused = on.ask(**{"x-sleipner-force": "tier-3"})
        assert (refused.status, "none of tier-0, tier-1, tier-2" in refused.json["error"]["message"]) == (400, True)


def test_calls_of_tools_go_straight_to_the_last_tier(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    middle = Scripted(MIDDLE)
    models = [Scripted(CHEAP, calls), middle, Scripted(BEST, calls)]
    with stage(tmp_path, *models, tiers=[CHEAP, MIDDLE, BEST], tier0=None, tier1=None) as on:
        assert on.ask().headers["x-sleipner-tier"] == "tier-2"
    assert not middle.asked


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tiers: ['local:', 'local:']\ntier1: 'local:'", "tiers stands in place of tier0 and tier1"),
        ("tiers: ['local:']", "tiers has at least two"),
        ("tiers: ['local:', [{model: 'local:', wight: 1}]]", "did you mean weight?"),
    ],
)
def test_tiers_that_cannot_be_are_told(text: str, told: str) -> None:
    with pytest.raises(RubricaError) as raised:
        settings_from_text(text)
    assert told in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
