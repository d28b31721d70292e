"""A provider that fails a fifth of the time loses no evaluation, leaves no task behind and no connection open."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from loopback import Fault, Loopback, Seen

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.packs.library import load

EVALUATIONS = 400
AT_ONCE = 250
NAMES = ("accuracy", "completeness", "clarity", "depth", "safety")
QUICK: tuple[Fault, ...] = (
    *("rate_limited", "error", "unavailable", "overloaded", "drop", "truncated", "garbled"),
    *("wrong_shape", "error_in_200", "refusal"),
)
_ASKED = re.compile(r"Answer number (\d+)\.[\s\S]* for (\w+) alone")
REASONS = re.compile(
    "rate limit|overloaded|Internal server error|Service Unavailable|HTTP 5\\d\\d|connection broke"
    "|not what the protocol says|refused to judge|no answer within"
)
"""What a dimension without a score may say: the provider's trouble, by name."""


def mark(number: int, name: str) -> int:
    """The score that belongs to one dimension of one evaluation, and to few others."""
    return 1 + (number * 7 + NAMES.index(name) * 3) % 10


def answer(seen: Seen) -> str:
    found = _ASKED.search(seen.prompt)
    assert found is not None, seen.prompt
    value = mark(int(found[1]), found[2])
    return json.dumps({"reason": f"number {found[1]}, {found[2]}", "score": value, "confidence": 0.9})


@dataclass(frozen=True, slots=True)
class Run:
    """What came of many evaluations, and what was left over."""

    evaluations: list[Evaluation]
    server: Loopback
    tasks_left: int
    connections_left: int

    @property
    def statuses(self) -> Counter[str]:
        return Counter(result.status for each in self.evaluations for result in each.dimensions.values())


def judged(server: Loopback, count: int, **settings: Any) -> Run:
    return asyncio.run(_judged(server, count, settings))


async def _judged(server: Loopback, count: int, settings: dict[str, Any]) -> Run:
    async with server:
        spec, known = f"{server.openai_url}#judge", Settings(http_key=server.key, **settings)
        async with Jury([spec], known, cached=False) as jury:
            rubric = load("answer-quality")
            plan = compile_rubric(rubric, jury.judge(rubric))
            places = asyncio.Semaphore(AT_ONCE)

            async def one(number: int) -> Evaluation:
                text = f"Answer number {number}."
                context = Context.of({"prompt": "What?", "response": text, "question_type": "FACTUAL"})
                async with places:
                    return await aevaluate(plan, context, str(number))

            evaluations = await asyncio.gather(*(one(number) for number in range(count)))
        open_connections = await _settled(server)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    return Run(evaluations, server, len(left), open_connections)


async def _settled(server: Loopback) -> int:
    """How many connections stay open, once the server has had time to hear that they were closed."""
    until = time.monotonic() + 30
    while server.connections and time.monotonic() < until:
        await asyncio.sleep(0.01)
    return server.connections


def assert_accounted_for(run: Run, count: int) -> None:
    """Every evaluation is there; every dimension is scored with its own score, or neutral with the trouble's name."""
    assert [evaluation.case for evaluation in run.evaluations] == [str(number) for number in range(count)]
    for number, evaluation in enumerate(run.evaluations):
        assert tuple(evaluation.dimensions) == NAMES
        assert evaluation.verdict in ("pass", "fail")
        assert not evaluation.offline
        for name, result in evaluation.dimensions.items():
            if result.status == "scored":
                assert (result.value, result.reason) == (mark(number, name), f"number {number}, {name}")
                assert result.cost is not None
            else:
                assert (result.status, result.value, result.confidence) == ("neutral", 5.0, 0.0)
                assert REASONS.search(result.reason), result.reason
            assert result.source == "llm"


def assert_nothing_left(run: Run) -> None:
    assert run.tasks_left == 0
    assert run.connections_left == 0


@pytest.mark.slow
def test_hundreds_of_evaluations_survive_a_provider_that_fails_a_fifth_of_the_time() -> None:
    server = Loopback(answer, faults=QUICK, fault_rate=0.2, seed=7, retry_after=0.01)
    run = judged(server, EVALUATIONS, concurrency=64, attempts=4, timeout=20, deadline=40)
    assert_accounted_for(run, EVALUATIONS)
    assert_nothing_left(run)

    calls, statuses = EVALUATIONS * len(NAMES), run.statuses
    assert statuses.total() == calls
    assert 0.15 < server.failed / server.requests < 0.25
    # A good answer is a score; nothing is asked twice that was answered, and nothing answered is thrown away.
    assert server.requests - server.failed == statuses["scored"]
    # One fault in ten is a refusal, which is final; three of the others in a row are rare, four rarer still.
    refusals = sum("refused to judge" in r.reason for e in run.evaluations for r in e.dimensions.values())
    assert 0.01 * calls < refusals < 0.04 * calls
    assert statuses["neutral"] - refusals < 0.01 * calls
    retries = server.requests - calls
    assert 0.9 * (server.failed - refusals) <= retries <= server.failed


@pytest.mark.slow
def test_a_provider_that_hangs_now_and_then_holds_nobody_up_for_longer_than_the_time_limit() -> None:
    count = 30
    server = Loopback(answer, faults=("hang",), fault_rate=0.1, seed=3)
    began = time.monotonic()
    # No more at once than a busy machine answers within the time limit too.
    run = judged(server, count, concurrency=32, attempts=3, timeout=2, deadline=12)
    assert time.monotonic() - began < 60
    assert server.failed > 5
    assert_accounted_for(run, count)
    assert_nothing_left(run)
    # Calls that hung together time out together, ten in a row: the breaker may then refuse to try them again.
    assert run.statuses["scored"] > 0.8 * count * len(NAMES)


def test_a_provider_that_only_hangs_is_given_up_with_its_name_in_every_reason() -> None:
    server = Loopback(answer, faults=("hang",), fault_rate=1.0)
    run = judged(server, 4, concurrency=64, attempts=1, timeout=0.3, deadline=5)
    assert_nothing_left(run)
    reasons = {result.reason for each in run.evaluations for result in each.dimensions.values()}
    assert run.statuses == {"neutral": 20}
    assert all("127.0.0.1" in reason and ("no answer within 0.3 s" in reason) for reason in reasons), reasons


def test_a_provider_that_is_down_is_not_asked_by_every_evaluation() -> None:
    server = Loopback(answer, faults=("error",), fault_rate=1.0)
    run = judged(server, 100, concurrency=8, attempts=1, timeout=5, deadline=5)
    assert_nothing_left(run)
    assert run.statuses == {"neutral": 500}
    assert server.requests < 50  # ten in a row open the breaker; those under way still end
    assert sum("not asked" in r.reason for e in run.evaluations for r in e.dimensions.values()) > 450


def test_a_cancelled_run_leaves_no_call_under_way() -> None:
    async def run() -> tuple[int, int]:
        async with Loopback(answer, faults=("hang",), fault_rate=1.0) as server:
            async with Jury([f"{server.openai_url}#judge"], Settings(http_key=server.key), cached=False) as jury:
                rubric = load("answer-quality")
                plan = compile_rubric(rubric, jury.judge(rubric))
                context = Context.of({"prompt": "What?", "response": "Answer number 1.", "question_type": "FACTUAL"})
                tasks = [asyncio.create_task(aevaluate(plan, context)) for _ in range(5)]
                while server.requests < 25:
                    await asyncio.sleep(0.01)
                for task in tasks:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                assert all(isinstance(each, asyncio.CancelledError) for each in ended)
            connections = await _settled(server)
        return connections, len(asyncio.all_tasks() - {asyncio.current_task()})

    assert asyncio.run(run()) == (0, 0)
