"""Hedging: somebody else is asked as well where a tier is slow to begin, the first answer is taken, both are paid."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, stage

from gateway_samples import Speaker
from rubrica.errors import RubricaError
from rubrica.gateway.deployed_model import Deployment
from rubrica.gateway.deployments import DeploymentPool
from rubrica.gateway.upstream import HedgedCall
from rubrica.llm.model import ModelError, Usage
from rubrica.llm.price import price

MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"
ASKED = {"messages": [{"role": "user", "content": "Why?"}]}
BETTER = "Paris has been the capital of France for centuries."
DOWN = ModelError("overloaded", "no capacity", status=529)
SLOW, SOON = 30.0, 0.02


def usd(*models: str) -> Any:
    return pytest.approx(sum(price(name, Usage(20, 8)) or 0 for name in models))


@pytest.mark.parametrize(
    ("first", "second", "won", "hedged"),
    [
        (Speaker("openai:a", delay=SLOW), Speaker("openai:b"), "b", (HedgedCall("openai:a", first=True),)),
        (Speaker("openai:a", delay=0.1), Speaker("openai:b", delay=SLOW), "a", (HedgedCall("openai:b"),)),
        (Speaker("openai:a", delay=0.1), Speaker("openai:b", DOWN), "a", ()),
        (Speaker("openai:a", DOWN, delay=0.1), Speaker("openai:b", delay=0.3), "b", ()),
        (Speaker("openai:a"), Speaker("openai:b"), "a", ()),
    ],
)
def test_the_next_deployment_is_asked_as_well(
    first: Speaker, second: Speaker, won: str, hedged: tuple[HedgedCall, ...]
) -> None:
    async def scenario() -> None:
        deployments = [Deployment("a", first), Deployment("b", second, order=1)]
        found = DeploymentPool(deployments, hedge=SOON)
        async with asyncio.timeout(SLOW / 2):
            answer = await found.complete(ASKED)
        assert (answer.deployment, answer.hedged) == (won, hedged)
        assert [one.in_flight for one in deployments] == [0, 0]
        assert first.cancelled + second.cancelled == len(hedged)
        await found.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("stream", [False, True])
def test_tier_1_is_taken_where_tier_0_has_not_begun(tmp_path: Path, stream: bool) -> None:
    slow, quick = Scripted(MINI, GOOD, delay=SLOW), Scripted(BIG, BETTER)
    with stage(tmp_path, slow, quick, hedge={"tier0": SOON}) as on:
        reply = on.ask({"messages": [{"role": "user", "content": CAPITAL}], "stream": stream})
        assert (reply.headers["x-sleipner-tier"], reply.headers["x-sleipner-hedged"]) == ("tier-1", MINI)
        assert "x-sleipner-degraded" not in reply.headers
        kept = on.record(reply)
        assert (kept.total_usd, kept.tier0_usd) == (usd(MINI, BIG), usd(MINI))
        assert (set(kept.model_usd or {}), kept.failed_steps) == ({MINI, BIG}, "")
        assert 'hedges_total{tier="tier-0",won="second"} 1.0' in on.get("/metrics").body.decode()
    assert (slow.cancelled, len(quick.asked)) == (1, 1)


@pytest.mark.parametrize(("said", "tier", "cancelled"), [(GOOD, "tier-0", 1), (POOR, "tier-1", 0), (DOWN, "tier-1", 0)])
def test_tier_0_is_still_taken_where_it_is_quicker_and_good(
    tmp_path: Path, said: Any, tier: str, cancelled: int
) -> None:
    """And where it is not good, tier-1 has been asked already, and is not asked again."""
    first, second = Scripted(MINI, said, delay=0.15), Scripted(BIG, BETTER, delay=SLOW if said == GOOD else 0.4)
    with stage(tmp_path, first, second, hedge={"tier0": SOON}) as on:
        reply = on.ask()
        kept = on.record(reply)
    assert (reply.headers["x-sleipner-tier"], len(second.asked), second.cancelled) == (tier, 1, cancelled)
    assert kept.total_usd == (usd(BIG) if said is DOWN else usd(MINI, BIG))
    assert reply.headers.get("x-sleipner-hedged") == (BIG if cancelled else None)


def test_without_the_setting_nobody_else_is_asked(tmp_path: Path) -> None:
    first, second = Scripted(MINI, GOOD, delay=0.15), Scripted(BIG, BETTER)
    with stage(tmp_path, first, second) as on:
        assert on.ask().headers["x-sleipner-tier"] == "tier-0"
    assert not second.asked


def test_hedges_with_nobody_to_ask_are_told_at_start(tmp_path: Path) -> None:
    with (
        pytest.raises(RubricaError, match=r"hedge\.tier0: there is nobody else.*\nhedge\.tier1: "),
        stage(tmp_path, Scripted(MINI), hedge={"tier0": 1, "tier1": 1}),
    ):
        pass
