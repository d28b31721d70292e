"""What may be spent in a day: by a key and by all, by requests at the same time, over restarts and processes."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, hang_up, stage, until

from databases import Opened
from gateway_samples import record
from rubrica.errors import SpendingLimitError
from rubrica.gateway.chat import read_chat
from rubrica.gateway.controls import Allowance, Controls
from rubrica.gateway.estimate import CostEstimator, prompt_tokens
from rubrica.gateway.flow import Route
from rubrica.gateway.limits import DollarLimits, UsageLimits
from rubrica.gateway.spending import Spending
from rubrica.llm.model import Usage
from rubrica.llm.price import price
from rubrica.store import gateway
from rubrica.store.database import Database
from rubrica.store.gateway import TierComparison
from rubrica.store.spending import day_spending

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ANN, BOB = UUID(int=1), UUID(int=2)
ONE = Allowance(usd_per_day=1.0)
MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def keeper(opened: Database, usd_per_day: float | None, clock: Clock | None = None, **teams: UsageLimits) -> Spending:
    """What a gateway with such a budget spends."""
    return Spending(opened, DollarLimits(usd_per_day=usd_per_day), teams, clock or Clock())


def test_a_key_cannot_reserve_more_than_its_allowance_and_others_can(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        spending = keeper(opened, None)
        held = await spending.reserve(ANN, ONE, 0.75)
        with pytest.raises(SpendingLimitError, match=r"this key may spend \$1 a day .*\$0.7500 reserved") as told:
            await spending.reserve(ANN, ONE, 0.5)
        assert told.value.retry_after == 5  # it may turn out to cost less
        await spending.reserve(BOB, ONE, 0.5)
        assert await spending.reserve(ANN, Allowance(), 50.0) is None  # nothing limits it
        spending.settle(held, 0.25)
        held = await spending.reserve(ANN, ONE, 0.75)
        spending.settle(held, 0.75)
        with pytest.raises(SpendingLimitError, match=r"\$1.0000 is spent") as told:
            await spending.reserve(ANN, ONE, 0.5)
        assert told.value.retry_after == 12 * 3600

    database.run(scenario)


def test_what_nobody_knows_the_cost_of_counts_as_all_that_was_reserved(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        spending = keeper(opened, 1.0)
        spending.settle(await spending.reserve(ANN, Allowance(), 0.75), None)
        with pytest.raises(SpendingLimitError, match=r"the gateway may spend \$1 a day"):
            await spending.reserve(BOB, Allowance(), 0.5)

    database.run(scenario)


def test_a_new_day_begins_at_midnight_of_utc(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        clock = Clock(datetime(2026, 5, 1, 23, 59, 59, tzinfo=UTC))
        spending = keeper(opened, 1.0, clock)
        spending.settle(await spending.reserve(ANN, ONE, 1.0), 1.0)
        with pytest.raises(SpendingLimitError) as told:
            await spending.reserve(ANN, ONE, 1.0)
        assert told.value.retry_after == 1.0
        clock.now = datetime(2026, 5, 2, 2, tzinfo=timezone(timedelta(hours=2)))  # the same day begins
        await spending.reserve(ANN, ONE, 1.0)

    database.run(scenario)


def test_two_processes_cannot_pass_a_limit_together_and_a_restart_forgets_nothing(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        both = [keeper(opened, 1.0) for _ in range(2)]
        waiting = [one.reserve(key, ONE, 0.4) for one in both for key in (ANN, BOB)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert sum(isinstance(one, SpendingLimitError) for one in found) == 2
        for one in found:
            if not isinstance(one, BaseException):
                both[0].settle(one, 0.4)
        await both[0].close()
        with pytest.raises(SpendingLimitError, match=r"\$0.8000 is spent"):
            await keeper(opened, 1.0).reserve(ANN, ONE, 0.4)

    database.run(scenario)


def test_a_limit_that_is_set_in_the_middle_of_a_day_counts_what_was_spent_before(database: Opened) -> None:
    spent = [record(NOON, key_id=ANN, total_usd=0.75), record(NOON, total_usd=0.5)]
    old = record(NOON - timedelta(days=1), key_id=ANN, total_usd=50.0)
    database.write(gateway.add_requests, [*spent, old, TierComparison(spent[0].trace, 1.0, 1.0, False, "", 0.25)])

    async def scenario(opened: Database) -> None:
        spending = keeper(opened, 10.0)
        await spending.reserve(ANN, ONE, 0.2)
        found = await opened.read(day_spending, ["gateway", f"gateway:{ANN}"], NOON)
        assert [found[name].spent for name in found] == [1.5, 0.75]
        with pytest.raises(SpendingLimitError):
            await spending.reserve(ANN, ONE, 0.2)

    database.run(scenario)


# --- what a request may cost ------------------------------------------------------------------------------


def asked(**body: Any) -> Any:
    return read_chat(json.dumps({"messages": [{"role": "user", "content": "Why? " * 100}], **body}).encode())


def estimated(controls: Controls | None = None, **body: Any) -> float:
    with_both = Route(Scripted(MINI), Scripted(BIG), grader=None, classifier=None)  # type: ignore[arg-type]
    estimator = CostEstimator(price, (), None, 1_000, 20_000)
    return estimator.request(asked(**body), controls or Controls(grading=False), with_both).total


def test_an_estimate_grows_with_what_is_asked_for() -> None:
    plain = estimated()
    assert plain == price(BIG, Usage(prompt_tokens(asked()), 1_000))  # tier-1 may have to stand in
    assert estimated(max_tokens=100) < plain < estimated(max_tokens=5_000)
    assert estimated(n=10) > 5 * plain
    tools = [{"type": "function", "function": {"name": "f", "description": "long " * 1_000}}]
    assert estimated(tools=tools) > plain


def test_a_picture_and_a_file_are_counted() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    file = {"type": "file", "file": {"file_data": "A" * 10_000}}
    bare = prompt_tokens(asked())
    assert 1_000 < prompt_tokens(asked(messages=[{"role": "user", "content": [picture]}])) < 5_000
    assert prompt_tokens(asked(messages=[{"role": "user", "content": [file]}])) > 5_000 > bare


# --- over HTTP --------------------------------------------------------------------------------------------


def worth(requests: float, tokens: int) -> float:
    """So many requests' worth of dollars, as both tiers could cost."""
    chat = read_chat(json.dumps(question(0, tokens)).encode())
    used = Usage(prompt_tokens(chat), tokens)
    return requests * ((price(MINI, used) or 0) + (price(BIG, used) or 0))


def question(number: int, tokens: int, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"{CAPITAL} {number:02}"}], "max_tokens": tokens, **more}


def test_fifty_requests_at_once_never_spend_more_than_the_limit(tmp_path: Path) -> None:
    limit = worth(3.5, 8)
    cheap, better = Scripted(MINI, POOR, delay=0.05), Scripted(BIG, GOOD, delay=0.05)
    with stage(tmp_path, cheap, better, budget={"usd_per_day": limit}) as on:
        replies = on.together([question(number, 8) for number in range(50)])
        answered = [reply for reply in replies if reply.status == 200]
        assert {reply.status for reply in replies} == {200, 429}
        assert len(answered) == len(better.asked) == 3
        paid = sum((price(model.name, Usage(20, 8)) or 0) * len(model.asked) for model in (cheap, better))
        assert 0 < paid <= limit
        refused = next(reply for reply in replies if reply.status == 429)
        assert (refused.headers["retry-after"], refused.json["error"]["code"]) == ("5", "insufficient_quota")
        while on.ask(question(99, 8, temperature=1)).status == 200:  # what was not needed is there for others
            pass
        paid = sum((price(model.name, Usage(20, 8)) or 0) * len(model.asked) for model in (cheap, better))
        assert limit / 2 < paid <= limit


def test_a_client_that_leaves_before_its_answer_does_not_spend_for_nothing(tmp_path: Path) -> None:
    model = Scripted(MINI, delay=30)
    with stage(tmp_path, model, budget={"usd_per_day": worth(1.5, 4_000)}) as on:
        asking = on.send("POST", "/v1/chat/completions", question(1, 4_000), {"x-sleipner-force": "tier-0"})
        on.run(hang_up(asking, lambda: model.asked))
        on.run(until(lambda: on.gateway.metrics.in_flight == 0))
        (found,) = on.run(on.gateway.database.read(day_spending, ["gateway"], datetime.now(UTC))).values()
        assert found.reserved + found.spent > 0
        model.delay = 0
        on.ask(question(2, 10))
        (found,) = on.run(on.gateway.database.read(day_spending, ["gateway"], datetime.now(UTC))).values()
        assert found.spent > (price(MINI, Usage(0, 4_000)) or 0)


def test_what_an_answer_cost_is_settled_soon_after_it(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI), budget={"usd_per_day": 1.0}) as on:
        assert on.ask().status == 200

        async def settled() -> float:
            async with asyncio.timeout(20):
                while True:
                    (found,) = (await on.gateway.database.read(day_spending, ["gateway"], datetime.now(UTC))).values()
                    if not found.reserved:
                        return found.spent
                    await asyncio.sleep(0.02)

        assert on.run(settled()) == pytest.approx(price(MINI, Usage(20, 8)))


def test_an_answer_that_is_given_again_costs_nothing_once_all_is_spent(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI), budget={"usd_per_day": worth(0.3, 100)}) as on:
        first = on.ask(question(1, 100, temperature=0))
        assert first.status == 200
        while on.ask(question(2, 100)).status == 200:
            pass
        assert on.ask(question(1, 100, temperature=0)).headers["x-sleipner-cache"] == "exact"


def test_a_request_that_could_cost_more_than_a_whole_day_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI), budget={"usd_per_day": 0.01}) as on:
        reply = on.ask(question(1, 10, n=1_000_000))
        assert reply.status in (400, 429)
        reply = on.ask(question(1, 500_000))
        assert (reply.status, reply.headers["x-should-retry"]) == (429, "false")
        assert "ask for less at once" in reply.json["error"]["message"]


def test_an_unknown_price_counts_as_nothing_and_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING, "rubrica.gateway"),
        stage(tmp_path, Scripted("openai:nobody-knows"), budget={"usd_per_day": 0.01, "unpriced": "allow"}) as on,
    ):
        assert [on.ask().status for _ in range(3)] == [200] * 3
        assert on.run(on.gateway.written(30))
    assert [line.getMessage() for line in caplog.records if "price" in line.getMessage()] == [
        "some price behind answers of openai:nobody-knows is not known: they count as 0 in what may be spent"
    ]
