"""Own prices, models without one, budgets of teams and months, limits by the minute, and who spent what."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from gateway_stage import GOOD, POOR, Scripted, Staged, stage

from databases import Opened
from gateway_samples import record
from rubrica.errors import RateLimitError, RubricaError, SpendingLimitError
from rubrica.gateway.controls import Allowance
from rubrica.gateway.limits import DollarLimits, UsageLimits
from rubrica.gateway.rates import RateLimits
from rubrica.gateway.settings import settings_from_text
from rubrica.gateway.spend_report import spend_report
from rubrica.gateway.spending import Spending
from rubrica.store import gateway
from rubrica.store.database import Database
from rubrica.workspace.access import Caller
from rubrica.workspace.keys import named_key

NOON = datetime(2026, 5, 17, 12, tzinfo=UTC)
ANN, BOB = UUID(int=1), UUID(int=2)
MINE, OTHER = "openai:mine", "openai:nobody-knows"
PRICES = {MINE: {"input": 1_000.0, "output": 10_000.0}}  # an answer of 20 and 8 tokens costs ten cents
TEN_CENTS = 0.1


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def allow(on: Staged, key: str, allowance: Allowance) -> str:
    """A key with an allowance."""

    def set_it(conn: Any) -> None:
        found = named_key(conn, key[:12])
        gateway.set_allowances(conn, found.id, allowance.model_dump(mode="json"))

    on.run(on.gateway.database.write(set_it))
    return f"Bearer {key}"


# --- prices -----------------------------------------------------------------------------------------------


def test_own_prices_are_on_the_bill_and_in_the_records(tmp_path: Path) -> None:
    with stage(
        tmp_path, Scripted(MINE, POOR), Scripted("openai:dear"), prices={**PRICES, "openai:dear": PRICES[MINE]}
    ) as on:
        reply = on.ask()
        assert reply.headers["x-sleipner-cost"] == "0.2"
        kept = on.record(reply)
    assert (kept.tier0_usd, kept.tier1_usd, kept.baseline_usd) == (TEN_CENTS, TEN_CENTS, TEN_CENTS)
    assert kept.model_usd == {MINE: TEN_CENTS, "openai:dear": TEN_CENTS}


def test_a_model_without_a_price_is_refused_at_start_where_anything_limits_spending(tmp_path: Path) -> None:
    limits: list[dict[str, Any]] = [
        {"budget": {"usd_per_day": 1}},
        {"budget": {"usd_per_month": 1}},
        {"allowance": {"usd_per_day": 1}},
        {"teams": {"research": {"usd_per_month": 1}}},
    ]
    for limit in limits:
        with (
            pytest.raises(RubricaError, match=r'prices: \{"openai:nobody-knows": .*or `budget.unpriced: allow`'),
            stage(tmp_path, Scripted(OTHER), **limit),
        ):
            pass
    with stage(tmp_path, Scripted(OTHER), budget={"usd_per_day": 1_000}, prices={OTHER: PRICES[MINE]}) as on:
        assert on.ask().status == 200
    with stage(tmp_path, Scripted(OTHER)) as on:  # nothing is limited
        assert on.ask().headers["x-sleipner-cost"] == "unknown"


def test_a_model_without_a_price_cannot_be_chosen_past_a_budget(tmp_path: Path) -> None:
    free = Allowance(controls=["tiers", "cache"], models=[OTHER])
    cheap, other = Scripted(MINE), Scripted(OTHER)
    with stage(
        tmp_path,
        cheap,
        Scripted("openai:dear"),
        other,
        prices={**PRICES, "openai:dear": PRICES[MINE]},
        budget={"usd_per_day": 1_000},
        allowance=free,
    ) as on:
        reply = on.ask(**{"x-sleipner-tier0": OTHER})
        assert (reply.status, other.asked) == (403, [])
        assert "budget.unpriced: allow" in reply.json["error"]["message"]
        assert on.ask().status == 200


def test_a_key_with_a_budget_is_not_answered_by_a_model_without_a_price(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(OTHER)) as on:
        ann, bob = on.key(user="ann"), on.key(user="bob")
        limited = allow(on, ann, Allowance(usd_per_day=1.0))
        assert on.ask(authorization=limited).status == 403
        assert on.ask(authorization=f"Bearer {bob}").status == 200


# --- budgets ----------------------------------------------------------------------------------------------


def spending(opened: Database, clock: Clock, day: float | None = None, month: float | None = None) -> Spending:
    most = DollarLimits(usd_per_day=day, usd_per_month=month)
    return Spending(opened, most, {"research": UsageLimits(usd_per_day=1.0, usd_per_month=1.5)}, clock)


def test_the_keys_of_a_team_share_its_budget(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        keeping, member = spending(opened, Clock()), Allowance(team="research")
        held = await keeping.reserve(ANN, member, 0.75)
        with pytest.raises(SpendingLimitError, match=r"the team research may spend \$1 a day"):
            await keeping.reserve(BOB, member, 0.5)
        keeping.settle(held, 0.25)
        await keeping.reserve(BOB, member, 0.75)
        assert await keeping.reserve(BOB, Allowance(), 50.0) is None

    database.run(scenario)


def test_a_month_goes_on_over_its_days_and_ends_with_the_last(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        clock = Clock()
        keeping, ann = spending(opened, clock), Allowance(usd_per_month=1.0)
        for _ in range(2):
            keeping.settle(await keeping.reserve(ANN, ann, 0.4), 0.4)
            clock.now += timedelta(days=1)
        with pytest.raises(SpendingLimitError, match=r"this key may spend \$1 a month .*\$0.8000 is spent") as told:
            await keeping.reserve(ANN, ann, 0.4)
        assert told.value.retry_after == 12.5 * 24 * 3600
        clock.now = datetime(2026, 6, 1, tzinfo=UTC)
        await keeping.reserve(ANN, ann, 1.0)

    database.run(scenario)


def test_a_month_counts_what_was_spent_before_there_was_a_limit_and_only_once(database: Opened) -> None:
    earlier = NOON - timedelta(days=3)
    kept = [record(earlier, key_id=ANN, total_usd=0.5), record(NOON, key_id=ANN, total_usd=0.25)]
    other = record(NOON - timedelta(days=30), key_id=ANN, total_usd=50.0)
    database.write(gateway.add_requests, [*kept, other])

    async def scenario(opened: Database) -> None:
        for _ in range(2):  # a restart does not count it again
            keeping = spending(opened, Clock(), month=1.0)
            with pytest.raises(SpendingLimitError, match=r"the gateway may spend \$1 a month .*\$0.7500 is spent"):
                await keeping.reserve(ANN, Allowance(), 0.3)
        await keeping.reserve(ANN, Allowance(), 0.25)

    database.run(scenario)


def test_two_processes_cannot_pass_a_month_together(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        both = [spending(opened, Clock(), month=1.0) for _ in range(2)]
        asked = [one.reserve(key, Allowance(), 0.4) for one in both for key in (ANN, BOB)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(one, SpendingLimitError) for one in found) == 2

    database.run(scenario)


def test_a_key_of_a_team_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(), teams={"research": {}}) as on:
        key = on.key()
        reply = on.ask(authorization=allow(on, key, Allowance(team="reserch")))
        assert (reply.status, "'reserch'" in reply.json["error"]["message"]) == (403, True)
    with pytest.raises(RubricaError, match="there is no team 'other'"):
        settings_from_text("allowance: {team: other}")


# --- limits by the minute ---------------------------------------------------------------------------------


def test_requests_of_several_processes_share_a_minute(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        clock = Clock()
        both = [RateLimits(opened, {"research": UsageLimits(requests_per_minute=3)}, clock) for _ in range(2)]
        member = Allowance(team="research")
        asked = [one.count(key, member, 10, 10) for one in both for key in (ANN, BOB)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        (refused,) = [one for one in found if isinstance(one, BaseException)]
        assert isinstance(refused, RateLimitError)
        assert (refused.kind, refused.limit, refused.retry_after) == ("requests", 3, 60.0)
        clock.now += timedelta(minutes=1)
        await both[0].count(ANN, member, 10, 10)

    database.run(scenario)


def test_tokens_count_with_what_may_be_used_and_then_with_what_was(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        limits, ann = RateLimits(opened, {}, Clock()), Allowance(tokens_per_minute=100)
        counted = await limits.count(ANN, ann, 30, 1_000)  # an answer that sets no limit of its own
        assert counted.tokens == 100
        with pytest.raises(RateLimitError, match="this key may use 100 tokens a minute, and has") as told:
            await limits.count(ANN, ann, 10, 10)
        assert told.value.kind == "tokens"
        limits.settle(counted, 60)
        await limits.count(ANN, ann, 30, 10)
        with pytest.raises(RateLimitError):
            await limits.count(ANN, ann, 30, 0)
        with pytest.raises(RateLimitError, match="ask for less at once") as told:
            await limits.count(BOB, ann, 101, 0)
        assert told.value.retry_after is None

    database.run(scenario)


def test_a_request_too_many_gets_429_in_openais_shape(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(), allowance={"requests_per_minute": 2, "tokens_per_minute": 100_000}) as on:
        on.run(next_minute())
        first = on.ask()
        assert first.headers["x-ratelimit-limit-requests"] == "2"
        assert first.headers["x-ratelimit-remaining-requests"] == "1"
        assert int(first.headers["x-ratelimit-remaining-tokens"]) < 100_000
        on.ask()
        refused = on.ask()
    assert (refused.status, refused.json["error"]["code"]) == (429, "rate_limit_exceeded")
    assert refused.json["error"]["type"] == "requests"
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"


async def next_minute() -> None:
    """Wait where the minute is about to end: three requests have to fall into one."""
    left = 60 - datetime.now(UTC).timestamp() % 60
    if left < 5:
        await asyncio.sleep(left)


# --- who spent what ---------------------------------------------------------------------------------------


def test_spending_is_told_by_day_key_team_and_model(tmp_path: Path) -> None:
    with stage(
        tmp_path,
        Scripted(MINE, [POOR, GOOD]),
        Scripted("openai:dear"),
        prices={**PRICES, "openai:dear": PRICES[MINE]},
        teams={"research": {}},
    ) as on:
        key = on.key(user="ann", label="summer")
        asked = allow(on, key, Allowance(team="research"))
        for _ in range(2):
            assert on.ask(authorization=asked).status == 200
        found = on.get("/api/gateway/spending", authorization=asked).json
        (day,) = found["days"]
        assert (day["name"], day["requests"], day["usd"]) == (f"{datetime.now(UTC):%Y-%m-%d}", 2, pytest.approx(0.3))
        assert [one["name"] for one in found["teams"]] == ["research"]
        assert found["keys"][0]["name"].endswith("of ann (summer)")
        assert {one["model"]: one["usd"] for one in found["models"]} == {MINE: pytest.approx(0.2), "openai:dear": 0.1}
        other = on.get("/api/gateway/spending", authorization=f"Bearer {on.key(user='bob')}").json
        assert other["days"] == []


def test_older_records_count_with_who_answered_and_unknown_prices_are_told(database: Opened) -> None:
    kept = [
        record(NOON, model="openai:a", total_usd=0.5, model_usd=None),
        record(NOON, model="openai:a", total_usd=1.0, model_usd={"openai:a": 0.75, "openai:b": 0.25}, team="red"),
        record(NOON, model="openai:b", total_usd=None, model_usd={"openai:b": None}, team="red"),
    ]
    database.write(gateway.add_requests, kept)
    found = database.read(spend_report, NOON - timedelta(days=1), NOON + timedelta(days=1))
    assert [(one.model, one.usd, one.requests, one.unpriced) for one in found.models] == [
        ("openai:a", 1.25, 2, 0),
        ("openai:b", 0.25, 2, 1),
    ]
    assert {one.name: (one.usd, one.unpriced) for one in found.teams} == {"red": (1.0, 1), "no team": (0.5, 0)}
    stranger = database.read(
        spend_report, NOON - timedelta(days=1), NOON + timedelta(days=1), Caller(BOB, "bob", "viewer")
    )
    assert (stranger.rows, stranger.comparisons_usd) == ((), None)


def test_settings_that_cannot_be_are_named_with_their_place() -> None:
    text = "teams: {research: {usd_per_dya: 1}}\nprices: {'openai:a': {input: -1, output: 1}}\n"
    with pytest.raises(RubricaError) as told:
        settings_from_text(text, "gateway.yaml")
    said = str(told.value)
    assert "did you mean 'usd_per_day'?" in said
    assert "prices.openai:a.input" in said
