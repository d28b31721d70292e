"""Several deployments of a tier: who is asked, who follows whom, who rests, and what an answer tells of it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import GOOD, POOR, Scripted, stage, staged, until
from loopback import Loopback
from sqlalchemy import select

from gateway_samples import Speaker
from rubrica.errors import RubricaError
from rubrica.gateway.deployed_model import Deployment
from rubrica.gateway.deployment_settings import CooldownSettings, DeploymentSettings, deployed_settings
from rubrica.gateway.deployments import PROBE, DeploymentPool
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.settings import GatewaySettings, settings_from_text
from rubrica.llm.model import ModelError, Usage
from rubrica.llm.price import price
from rubrica.llm.settings import Settings
from rubrica.store.database import Database
from rubrica.store.tables import spending_days
from rubrica.store.upgrade import upgrade

MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"
ASKED = {"messages": [{"role": "user", "content": "Why?"}]}
DOWN = ModelError("overloaded", "no capacity", status=529)


def pool(*models: Speaker, weights: Sequence[float] = (), orders: Sequence[int] = (), **options: Any) -> DeploymentPool:
    deployments = [
        Deployment(f"{number}", model, weights[number] if weights else 1.0, orders[number] if orders else 0)
        for number, model in enumerate(models)
    ]
    cooldown = CooldownSettings(**{"check": False, **options.pop("cooldown", {})})
    return DeploymentPool(deployments, cooldown=cooldown, **options)


async def answered(found: DeploymentPool, times: int) -> Counter[str]:
    return Counter([(await found.complete(ASKED)).deployment for _ in range(times)])


def test_equals_take_turns_by_weight() -> None:
    found = pool(Speaker("openai:a"), Speaker("openai:b"), weights=(3, 1))
    assert asyncio.run(answered(found, 40)) == {"0": 30, "1": 10}


def test_the_one_with_the_fewest_under_way_for_its_weight_is_asked() -> None:
    slow, quick = Speaker("openai:a", delay=0.05), Speaker("openai:b", delay=0.05)

    async def scenario() -> None:
        found = pool(slow, quick)
        found.deployments[0].in_flight = 2
        await asyncio.gather(*(found.complete(ASKED) for _ in range(4)))

    asyncio.run(scenario())
    assert (len(slow.asked), len(quick.asked)) == (1, 3)


def test_higher_orders_are_asked_only_where_lower_ones_fail() -> None:
    first, spare = Speaker("openai:a"), Speaker("openai:b")

    async def scenario() -> None:
        found = pool(spare, first, orders=(1, 0))
        assert (found.name, await answered(found, 3)) == ("openai:a", {"1": 3})
        first.says = DOWN
        assert (await found.complete(ASKED)).asked == "openai:b"

    asyncio.run(scenario())


def test_whoever_failed_often_rests_and_comes_back_by_itself() -> None:
    now = [0.0]
    ill, well = Speaker("openai:a", DOWN), Speaker("openai:b")

    async def scenario() -> None:
        found = pool(ill, well, orders=(0, 1), clock=lambda: now[0], cooldown={"failures": 2, "seconds": 30})
        assert await answered(found, 5) == {"1": 5}
        assert len(ill.asked) == 2
        ill.says, now[0] = GOOD, 31.0
        assert await answered(found, 2) == {"0": 2}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("trouble", "rest"),
    [
        (ModelError("rate_limited", "slow down", retry_after=90), 90.0),
        (ModelError("unauthorised", "wrong key", status=401), 30.0),
        (ModelError("rejected", "no such model", status=404), 30.0),
    ],
)
def test_whoever_cannot_answer_for_a_while_rests_at_once(trouble: ModelError, rest: float) -> None:
    now = [0.0]
    ill, well = Speaker("openai:a", trouble), Speaker("openai:b")

    async def scenario() -> None:
        found = pool(ill, well, orders=(0, 1), clock=lambda: now[0])
        await answered(found, 3)
        assert len(ill.asked) == 1
        now[0] = rest - 1
        await answered(found, 1)
        assert len(ill.asked) == 1
        now[0] = rest + 1
        await answered(found, 1)
        assert len(ill.asked) == 2

    asyncio.run(scenario())


def test_a_request_that_is_itself_at_fault_goes_to_nobody_else() -> None:
    wrong = ModelError("rejected", "messages: too long", status=400)
    first, second = Speaker("openai:a", wrong), Speaker("openai:b")

    async def scenario() -> None:
        found = pool(first, second, orders=(0, 1))
        for _ in range(5):
            with pytest.raises(ModelError, match="too long"):
                await found.complete(ASKED)
        assert not second.asked
        assert found.deployments[0].resting_until == 0

    asyncio.run(scenario())


def test_all_that_fail_are_tried_again_within_the_attempts() -> None:
    models = [Speaker("openai:a", DOWN), Speaker("openai:b", DOWN)]

    async def scenario() -> None:
        with pytest.raises(ModelError, match="no capacity"):
            await pool(*models, attempts=3).complete(ASKED)

    asyncio.run(scenario())
    assert sorted(len(model.asked) for model in models) == [1, 2]


def test_nobody_answers_within_the_patience_of_the_tier() -> None:
    async def scenario() -> None:
        found = pool(Speaker("openai:a", delay=60), seconds=0.05)
        with pytest.raises(ModelError, match=r"no deployment answered within 0.05 s"):
            await found.complete(ASKED)
        assert found.deployments[0].in_flight == 0

    asyncio.run(scenario())


def test_a_small_request_finds_out_when_a_deployment_is_back() -> None:
    ill, well = Speaker("openai:a", DOWN), Speaker("openai:b")

    async def scenario() -> None:
        found = pool(ill, well, orders=(0, 1), cooldown={"failures": 1, "seconds": 0.1, "check": True})
        assert await answered(found, 3) == {"1": 3}
        async with asyncio.timeout(20):
            while PROBE not in ill.asked:
                await asyncio.sleep(0.01)
            ill.says = GOOD
            while found.deployments[0].resting_until:
                await asyncio.sleep(0.01)
        assert await answered(found, 1) == {"0": 1}
        await found.close()

    asyncio.run(scenario())


# --- in a gateway -----------------------------------------------------------------------------------------


def test_the_answer_names_the_deployment_and_its_price_is_that_of_its_model(tmp_path: Path) -> None:
    tier0 = [{"model": MINI, "name": "east"}, {"model": BIG, "name": "west", "order": 1}]
    mini, big = Scripted(MINI, DOWN), Scripted(BIG)
    with stage(tmp_path, mini, big, tier0=tier0, tier1=None) as on:
        reply = on.ask()
        assert (reply.headers["x-sleipner-deployment"], reply.headers["x-sleipner-model"]) == ("west", BIG)
        kept = on.record(reply)
        assert (kept.tier, kept.deployment, kept.model, kept.degraded) == ("tier-0", "west", BIG, "")
        assert list(kept.model_usd or {}) == [BIG]
        assert [one["id"] for one in on.get("/v1/models").json["data"]] == ["auto", "rubrica", "tier-0", MINI, BIG]


def test_a_stream_names_its_deployment_and_counts_as_under_way_until_it_has_ended(tmp_path: Path) -> None:
    mini, big = Scripted(MINI, POOR), Scripted(BIG, GOOD)
    tier1 = [{"model": BIG}, {"model": BIG, "name": "spare", "order": 1}]
    with stage(tmp_path, mini, big, tier1=tier1) as on:
        reply = on.ask({"messages": [{"role": "user", "content": "What is the capital of France?"}], "stream": True})
        assert reply.headers["x-sleipner-deployment"] == BIG
        assert on.record(reply).total_usd is not None
        pooled = on.gateway.parts.main.tier1
        assert isinstance(pooled, DeploymentPool)
        assert [one.in_flight for one in pooled.deployments] == [0, 0]


def test_a_tier_has_failed_when_all_its_deployments_have(tmp_path: Path) -> None:
    down, other = Scripted(MINI, DOWN), Scripted("openai:gpt-4.1-mini", DOWN)
    tier0 = [{"model": MINI}, {"model": other.name}]
    with stage(tmp_path, down, Scripted(BIG), other, tier0=tier0) as on:
        reply = on.ask()
    assert (reply.headers["x-sleipner-tier"], reply.status) == ("tier-1", 200)
    assert min(len(down.asked), len(other.asked)) >= 1


def test_what_health_checks_cost_is_in_the_books_and_told_apart(tmp_path: Path) -> None:
    ill, well = Scripted(MINI, [DOWN, GOOD]), Scripted(BIG)
    tier0 = [{"model": MINI, "name": "east"}, {"model": BIG, "order": 1}]
    cooldown, budget = {"failures": 1, "seconds": 0.1}, {"usd_per_day": 5}
    with stage(tmp_path, ill, well, tier0=tier0, tier1=None, cooldown=cooldown, budget=budget) as on:
        assert on.ask().status == 200
        pooled = on.gateway.parts.main.tier0
        assert isinstance(pooled, DeploymentPool)
        on.run(until(lambda: PROBE in ill.asked and not pooled.deployments[0].resting_until))
        assert on.run(on.gateway.written(20))
        spent, figures = on.get("/api/gateway/spending").json, on.get("/api/gateway/analytics").json
        health = next(line for line in spent["keys"] if line["name"] == "health checks")
        paid = price(MINI, Usage(20, 8)) or 0
        assert (health["requests"], health["usd"]) == (1, pytest.approx(paid))
        assert {line["model"]: line["usd"] for line in spent["models"]}[MINI] == pytest.approx(paid)
        assert figures["all"]["requests"] == 1  # a check is none
        assert f'rubrica_gateway_usd_total{{part="health"}} {paid}' in on.get("/metrics").body.decode()
        on.run(on.gateway.spending.close())
        day = select(spending_days.c.spent_usd)
        counted = on.run(on.gateway.database.read(lambda conn: list(conn.execute(day).scalars())))
        assert sum(counted) == pytest.approx(paid + (price(BIG, Usage(20, 8)) or 0))


def test_each_deployment_has_its_own_key_and_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    east = Loopback(GOOD, faults=["overloaded"], key="sk-east-0123456789")
    west = Loopback(GOOD, key="sk-west-0123456789")
    monkeypatch.setenv("EAST_KEY", "sk-east-0123456789")
    monkeypatch.setenv("WEST_KEY", "sk-west-0123456789")

    async def opened(stack: Any) -> Gateway:
        for server in (east, west):
            await stack.enter_async_context(server)
        tier0 = [
            {"model": MINI, "name": "east", "base_url": east.openai_url, "key_env": "EAST_KEY"},
            {"model": MINI, "name": "west", "base_url": west.openai_url, "key_env": "WEST_KEY", "order": 1},
        ]
        await upgrade(f"sqlite:///{tmp_path}/gateway.db")
        database = Database.open(f"sqlite:///{tmp_path}/gateway.db")
        return Gateway.open(GatewaySettings.model_validate({"tier0": tier0}), Settings(), database)

    with staged(opened) as on:
        reply = on.ask()
        assert (reply.status, reply.headers["x-sleipner-deployment"]) == (200, "west")
    assert [len(server.seen) for server in (east, west)] == [1, 1]
    assert west.seen[0].headers["authorization"] == "Bearer sk-west-0123456789"


# --- settings ---------------------------------------------------------------------------------------------


def test_another_address_does_not_learn_the_key_of_the_provider() -> None:
    known = Settings.model_validate({"openai_key": "sk-0123456789abcdef"})
    moved = deployed_settings(DeploymentSettings(model=MINI, base_url="https://elsewhere.example/v1"), known, {})
    assert (moved.key_of("openai"), moved.base_url_of("openai")) == (None, "https://elsewhere.example/v1")
    assert deployed_settings(DeploymentSettings(model=MINI), known, {}).key_of("openai") == "sk-0123456789abcdef"


def test_every_problem_of_the_deployments_is_told_at_start(tmp_path: Path) -> None:
    tier0 = [
        {"model": MINI, "key_env": "NOT_SET"},
        {"model": "http://localhost:1/v1#m", "base_url": "http://localhost:2/v1"},
        {"model": "local:", "key_env": "PATH"},
    ]
    graders = {"TECHNICLA": MINI}
    with (
        pytest.raises(RubricaError) as told,
        stage(tmp_path, Scripted(MINI), tier0=tier0, grading={"graders": graders}, budget={"usd_per_day": 1}),
    ):
        pass
    said = str(told.value).splitlines()
    for words in (
        "no key in NOT_SET",
        "leave base_url out",
        "take no key",
        "'TECHNICLA' is no question type",
        "`grader`",
    ):
        assert sum(words in line for line in said) == 1, (words, said)
    assert "price is not known" in said[-1]


def test_a_deployment_that_cannot_be_read_is_named_with_its_place() -> None:
    with pytest.raises(RubricaError) as told:
        settings_from_text("tier0:\n  - model: 'local:'\n    wieght: 2\n", "gateway.yaml")
    assert "gateway.yaml:3: tier0.0.wieght" in str(told.value).replace("[0]", ".0")
    assert "did you mean weight?" in str(told.value)
    with pytest.raises(RubricaError, match="tier1"):
        settings_from_text("tier1: []")


# --- graders by question type -----------------------------------------------------------------------------


def test_a_question_type_has_a_grader_of_its_own(tmp_path: Path) -> None:
    for name in ("usual", "own"):
        line = {"error": "rejected", "message": f"the {name} grader refuses"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    usual, own = (f"scripted:{tmp_path}/{name}.jsonl" for name in ("usual", "own"))
    with stage(tmp_path, Scripted(MINI), Scripted(BIG), grader=[usual], grading={"graders": {"TECHNICAL": own}}) as on:
        for kind, name in (("FACTUAL", "usual"), ("TECHNICAL", "own")):
            told = json.dumps(on.ask(**{"x-sleipner-type": kind, "x-sleipner-debug": "full"}).debug)
            assert [f"the {one} grader refuses" in told for one in ("usual", "own")] == [name == "usual", name == "own"]
