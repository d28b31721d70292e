"""Budgets reserve before they spend: calls under way together never pass a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rubrica.llm.budget import Budget, Budgeted, spending_from
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request, Usage
from rubrica.llm.token_bounds import most_usage

REQUEST = Request((ChatMessage("user", "Is it right?"),), max_tokens=100)


def cents(_: str, usage: Usage) -> float:
    """A cent for each token of output."""
    return usage.output_tokens / 100


class Answers:
    """A model that answers when it is let, with ten tokens."""

    name = "anthropic:claude-haiku-4-5"

    def __init__(self, before: Callable[[], Awaitable[object]]) -> None:
        self._before = before
        self.under_way = self.most_under_way = self.calls = 0

    async def __call__(self, request: Request) -> Reply:
        self.calls += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self._before()
        finally:
            self.under_way -= 1
        return Reply("yes", "haiku", Usage(10, 10))

    async def close(self) -> None:
        """Nothing is open."""


async def shortly() -> None:
    await asyncio.sleep(0)


def test_calls_under_way_together_never_pass_the_limit() -> None:
    async def work() -> tuple[Budget, Answers, list[object]]:
        budget = Budget(2.5, cents)  # a call can cost 1, and costs 0.1
        answers = Answers(shortly)
        model = Budgeted(answers, budget)
        return budget, answers, await asyncio.gather(*(model(REQUEST) for _ in range(50)), return_exceptions=True)

    budget, answers, results = asyncio.run(work())
    refused = [result for result in results if isinstance(result, ModelError)]
    assert answers.most_under_way == 2
    assert answers.calls == 16  # after the sixteenth another could pass the limit
    assert len(refused) == 34
    assert "$1.6000 of the budget of $2.5 is spent, and this call can cost $1.0000" in str(refused[0])
    assert budget.spent == pytest.approx(1.6)
    assert budget.reserved == pytest.approx(0.0)


def test_a_call_that_is_broken_off_counts_with_the_most_it_could_have_cost() -> None:
    async def work() -> Budget:
        budget = Budget(5.0, cents)
        model = Budgeted(Answers(asyncio.Event().wait), budget)
        call = asyncio.create_task(model(REQUEST))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        return budget

    budget = asyncio.run(work())
    assert (budget.spent, budget.reserved) == (1.0, 0.0)


def test_a_failed_call_costs_nothing_unless_it_timed_out() -> None:
    async def spent(error: ModelError) -> float:
        async def fail() -> None:
            raise error

        budget = Budget(5.0, cents)
        with pytest.raises(ModelError):
            await Budgeted(Answers(fail), budget)(REQUEST)
        return budget.spent

    assert asyncio.run(spent(ModelError("overloaded", "busy"))) == 0.0
    assert asyncio.run(spent(ModelError("timeout", "late"))) == 1.0


def test_a_request_pays_from_its_own_budget_in_every_task_it_begins() -> None:
    async def work() -> tuple[Budget, Budget]:
        model = Budgeted(Answers(shortly))
        mine, other = Budget(9.0, cents), Budget(9.0, cents)

        async def asked(budget: Budget, times: int) -> None:
            with spending_from(budget):
                async with asyncio.TaskGroup() as group:
                    for _ in range(times):
                        group.create_task(model(REQUEST))

        await asyncio.gather(asked(mine, 3), asked(other, 1))
        await model(REQUEST)  # nobody's
        return mine, other

    mine, other = asyncio.run(work())
    assert (mine.spent, other.spent) == (pytest.approx(0.3), pytest.approx(0.1))  # type: ignore[comparison-overlap]


def test_the_most_a_call_can_use_covers_text_pictures_and_the_longest_reply() -> None:
    plain = most_usage(Request((ChatMessage("user", "x" * 100),), max_tokens=7))
    assert plain == Usage(51, 7)
    seen = most_usage(Request((ChatMessage("user", "é" * 100, ("https://x.example/a.png",)),), max_tokens=7))
    assert seen == Usage(2101, 7)
