"""Retries, deadlines, the adaptive limit and the breaker, on a clock that only moves when it is told to."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import RubricaError
from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.limits import AdaptiveLimit
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request, Trouble
from rubrica.llm.retry import Retrying, RetryingModel, RetryPolicy
from rubrica.llm.scripted import ScriptedModel

ASK = Request((ChatMessage("user", "rate this"),))


class Clock:
    """Time that passes only in sleep, which lets other tasks run and notes what was asked."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def patience(clock: Clock, *, draw: float = 0.5, **more: Any) -> RetryPolicy:
    return RetryPolicy(sleep=clock.sleep, clock=clock, random=lambda: draw, **more)


def resilient(model: Any, clock: Clock, **more: Any) -> RetryingModel:
    return RetryingModel(model, breaker=CircuitBreaker("p", clock=clock), patience=patience(clock, **more))


def outcome(call: Coroutine[Any, Any, Reply]) -> Reply | ModelError:
    async def run() -> Reply | ModelError:
        try:
            return await call
        except ModelError as error:
            return error

    return asyncio.run(run())


def no_task_is_left() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


# --- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", ["rate_limited", "overloaded", "timeout", "unreachable", "garbled"])
def test_passing_troubles_are_tried_again(trouble: Trouble) -> None:
    clock = Clock()
    model = ScriptedModel([ModelError(trouble, "once"), ModelError(trouble, "twice"), "fine"])
    reply = outcome(resilient(model, clock)(ASK))
    assert isinstance(reply, Reply)
    assert reply.text == "fine"
    assert clock.slept == [0.375, 0.75]  # half to all of 0.5, then of 1.0


@pytest.mark.parametrize("trouble", ["rejected", "unauthorised", "over_budget"])
def test_lasting_troubles_are_not_tried_again(trouble: Trouble) -> None:
    clock, model = Clock(), ScriptedModel([ModelError(trouble, "no"), "fine"])
    error = outcome(resilient(model, clock)(ASK))
    assert isinstance(error, ModelError)
    assert error.trouble == trouble
    assert len(model.requests) == 1
    assert clock.slept == []


def test_attempts_are_counted_and_the_last_error_is_told() -> None:
    clock = Clock()
    model = ScriptedModel([ModelError("overloaded", f"number {n}") for n in range(1, 9)])
    error = outcome(resilient(model, clock, attempts=3)(ASK))
    assert str(error) == "number 3"
    assert len(model.requests) == 3


@given(asked=st.floats(0, 30), draw=st.floats(0, 0.999), attempt=st.integers(1, 12))
def test_a_retry_never_comes_earlier_than_the_provider_asked(asked: float, draw: float, attempt: int) -> None:
    assert RetryPolicy(random=lambda: draw).pause(attempt, asked) >= asked


@given(draw=st.floats(0, 0.999), attempt=st.integers(1, 40))
def test_pauses_have_jitter_between_half_and_all_and_a_ceiling(draw: float, attempt: int) -> None:
    calm = RetryPolicy(random=lambda: draw)
    whole = min(20.0, 0.5 * 2 ** (attempt - 1))
    assert whole / 2 <= calm.pause(attempt, None) <= whole


def test_a_wait_beyond_the_deadline_is_refused_at_once_rather_than_cut_short() -> None:
    clock = Clock()
    model = ScriptedModel([ModelError("rate_limited", "slow down", retry_after=90), "fine"])
    error = outcome(resilient(model, clock, call_deadline=60)(ASK))
    assert isinstance(error, ModelError)
    assert error.trouble == "rate_limited"
    assert error.retry_after == 90
    assert clock.slept == []


def test_pauses_and_attempts_together_stay_within_the_deadline() -> None:
    clock = Clock()

    def slow_failure(request: Request) -> ModelError:
        clock.now += 9.0
        return ModelError("overloaded", "busy", retry_after=5)

    error = outcome(resilient(ScriptedModel(slow_failure), clock, call_deadline=40, attempts=20)(ASK))
    assert isinstance(error, ModelError)
    assert clock.now <= 40
    assert len(clock.slept) == 2


class Hanging:
    """A model that never answers, and knows whether it was let go."""

    name = "hanging:"

    def __init__(self) -> None:
        self.running = 0

    async def __call__(self, request: Request) -> Reply:
        self.running += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.running -= 1
        raise AssertionError

    async def close(self) -> None: ...


def test_an_attempt_that_hangs_ends_with_the_deadline() -> None:
    model = Hanging()
    waits = RetryPolicy(call_deadline=0.02)
    error = outcome(RetryingModel(model, patience=waits)(ASK))
    assert isinstance(error, ModelError)
    assert error.trouble == "timeout"
    assert "0.02 s" in str(error)
    assert model.running == 0


def test_cancelling_calls_leaves_nothing_running_and_no_slot_taken() -> None:
    async def run() -> None:
        model = Hanging()
        limit = AdaptiveLimit(2)
        ask = RetryingModel(model, limiter=limit)
        tasks = [asyncio.create_task(ask(ASK)) for _ in range(5)]
        await asyncio.sleep(0)
        assert (model.running, limit.in_flight, limit.waiting) == (2, 2, 3)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        assert (model.running, limit.in_flight, limit.waiting) == (0, 0, 0)
        assert no_task_is_left()

    asyncio.run(run())


@pytest.mark.parametrize(("trouble", "held"), [("rate_limited", 1), ("unreachable", 0)])
def test_only_a_rate_limited_call_keeps_its_slot_while_it_pauses(trouble: Trouble, held: int) -> None:
    limit, seen = AdaptiveLimit(4), []

    async def sleep(_: float) -> None:
        seen.append(limit.in_flight)

    model = ScriptedModel([ModelError(trouble, "wait"), "fine"])
    asyncio.run(RetryingModel(model, limiter=limit, patience=RetryPolicy(sleep=sleep))(ASK))
    assert seen == [held]
    assert limit.in_flight == 0


def test_cancelling_a_call_in_its_pause_frees_what_it_held() -> None:
    async def run(trouble: Trouble) -> None:
        limit = AdaptiveLimit(1)
        model = ScriptedModel([ModelError(trouble, "wait")])
        task = asyncio.create_task(RetryingModel(model, limiter=limit)(ASK))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert limit.in_flight == 0

    asyncio.run(run("rate_limited"))
    asyncio.run(run("unreachable"))


def test_a_thousand_calls_under_random_faults_are_all_accounted_for() -> None:
    chance = random.Random(7)  # noqa: S311
    faults: list[Trouble] = ["rate_limited", "overloaded", "timeout", "unreachable", "garbled", "rejected"]

    def answer(request: Request) -> Any:
        return ModelError(chance.choice(faults), "fault") if chance.random() < 0.2 else "fine"

    async def run() -> None:
        clock = Clock()
        limit = AdaptiveLimit(8)
        ask = RetryingModel(
            ScriptedModel(answer),
            limiter=limit,
            breaker=CircuitBreaker(clock=clock),
            patience=patience(clock, call_deadline=1e9),
        )
        results = await asyncio.gather(*(ask(ASK) for _ in range(1000)), return_exceptions=True)
        good = sum(isinstance(result, Reply) for result in results)
        assert good + sum(isinstance(result, ModelError) for result in results) == 1000
        assert good > 900
        assert (limit.in_flight, limit.waiting) == (0, 0)
        assert no_task_is_left()

    asyncio.run(run())


# --- the limit -------------------------------------------------------------------------------------------------------


async def round_trip(limit: AdaptiveLimit, calls: int, fate: Callable[[Any], None]) -> None:
    """As many calls at once as given, all let in before any of them ends."""

    async def call() -> None:
        async with limit.slot() as slot:
            await asyncio.sleep(0)
            fate(slot)

    await asyncio.gather(*(call() for _ in range(calls)))


def test_the_limit_doubles_at_first_and_stops_at_its_most() -> None:
    limit = AdaptiveLimit(4, most=10)
    asyncio.run(round_trip(limit, 100, lambda slot: slot.healthy()))
    assert limit.limit == 10


def test_after_congestion_the_limit_grows_by_about_one_per_round_trip() -> None:
    async def run() -> None:
        limit = AdaptiveLimit(10, most=64)
        await round_trip(limit, 1, lambda slot: slot.congested())
        assert limit.limit == 7
        await round_trip(limit, 7, lambda slot: slot.healthy())
        assert 7 <= limit.limit <= 8
        await round_trip(limit, 70, lambda slot: slot.healthy())
        assert 10 <= limit.limit <= 16

    asyncio.run(run())


def test_one_round_trip_of_congestion_shrinks_the_limit_once() -> None:
    limit = AdaptiveLimit(20, most=64)
    asyncio.run(round_trip(limit, 20, lambda slot: slot.congested()))
    assert limit.limit == 14


def test_a_stray_overload_leaves_the_limit_alone_and_many_shrink_it() -> None:
    async def run() -> None:
        limit = AdaptiveLimit(20, most=20)
        for _ in range(10):
            await round_trip(limit, 1, lambda slot: slot.overloaded())
            await round_trip(limit, 20, lambda slot: slot.healthy())
        assert limit.limit == 20
        await round_trip(limit, 20, lambda slot: slot.overloaded())
        assert limit.limit == 14

    asyncio.run(run())


@pytest.mark.parametrize(("trouble", "after"), [("rate_limited", 7), ("overloaded", 10), ("garbled", 10)])
def test_a_rate_limited_call_shrinks_the_limit_at_once(trouble: Trouble, after: int) -> None:
    clock, limit = Clock(), AdaptiveLimit(10)
    model = ScriptedModel([ModelError(trouble, "once"), "fine"])
    outcome(RetryingModel(model, limiter=limit, patience=patience(clock))(ASK))
    assert limit.limit == after


def test_the_limit_never_falls_below_its_least() -> None:
    async def run() -> None:
        limit = AdaptiveLimit(8, least=2)
        for _ in range(20):
            await round_trip(limit, 1, lambda slot: slot.congested())
        assert limit.limit == 2

    asyncio.run(run())


def test_a_limit_that_nobody_pushes_against_does_not_grow() -> None:
    async def run() -> None:
        limit = AdaptiveLimit(8)
        for _ in range(100):
            await round_trip(limit, 2, lambda slot: slot.healthy())
        assert limit.limit == 8

    asyncio.run(run())


def test_calls_are_let_in_first_come_first_served() -> None:
    async def run() -> list[int]:
        limit, order = AdaptiveLimit(2), []

        async def call(number: int) -> None:
            async with limit.slot():
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(number) for number in range(50)))
        return order

    assert asyncio.run(run()) == list(range(50))


@given(st.lists(st.sampled_from(["enter", "leave", "cancel", "grow", "shrink"]), max_size=60))
def test_the_limit_holds_and_loses_no_slot_whatever_happens(steps: list[str]) -> None:
    async def run() -> None:
        limit = AdaptiveLimit(2, most=5)
        inside: list[asyncio.Event] = []
        tasks: list[asyncio.Task[None]] = []

        async def call() -> None:
            async with limit.slot():
                done = asyncio.Event()
                inside.append(done)
                try:
                    await done.wait()
                finally:
                    inside.remove(done)

        for step in steps:
            before = limit.in_flight
            if step == "enter":
                tasks.append(asyncio.create_task(call()))
            elif step == "leave" and inside:
                inside[0].set()
            elif step == "cancel" and tasks:
                tasks.pop(len(tasks) // 2).cancel()
            elif step == "grow":
                limit.grow()
            elif step == "shrink":
                limit.contract(limit.epoch)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert limit.in_flight <= max(limit.limit, before)
            assert limit.waiting == 0 or limit.in_flight >= limit.limit
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (limit.in_flight, limit.waiting) == (0, 0)

    asyncio.run(run())


def test_a_slot_handed_to_a_call_that_is_cancelled_at_that_moment_goes_to_the_next() -> None:
    async def run() -> None:
        limit = AdaptiveLimit(1)
        await limit.enter()
        second, third = (asyncio.create_task(limit.enter()) for _ in range(2))
        await asyncio.sleep(0)
        limit.leave()  # hands the slot to the second, which has not run yet
        second.cancel()
        await third
        assert limit.in_flight == 1

    asyncio.run(run())


def test_entering_and_leaving_costs_microseconds() -> None:
    async def run() -> float:
        limit = AdaptiveLimit(8)
        best = 1.0
        for _ in range(5):
            began = time.process_time()
            for _ in range(2000):
                async with limit.slot() as slot:
                    slot.healthy()
            best = min(best, (time.process_time() - began) / 2000)
        return best

    assert asyncio.run(run()) < 50e-6  # about 1.5 µs on an idle machine


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(RubricaError, match="least"):
        AdaptiveLimit(4, least=9, most=5)


# --- the breaker -----------------------------------------------------------------------------------------------------


def fail(breaker: CircuitBreaker, times: int, trouble: Trouble = "overloaded") -> None:
    for _ in range(times):
        breaker.settle(breaker.admit(), trouble, "HTTP 529")


def test_the_breaker_opens_after_failures_in_a_row_and_refuses_at_once() -> None:
    clock = Clock()
    breaker = CircuitBreaker("anthropic", failures=3, pause=15, clock=clock)
    fail(breaker, 2)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"  # type: ignore[comparison-overlap]  # it has changed since
    with pytest.raises(ModelError, match=r"anthropic failed 3 times in a row.*HTTP 529.*15 s") as refused:
        breaker.admit()
    assert refused.value.trouble == "tripped"
    assert refused.value.retry_after == 15
    assert not refused.value.worth_retrying


@pytest.mark.parametrize("sign_of_life", [None, "rate_limited", "rejected", "garbled"])
def test_any_answer_shows_that_the_provider_is_up(sign_of_life: Trouble | None) -> None:
    breaker = CircuitBreaker(failures=3)
    fail(breaker, 2)
    breaker.settle(breaker.admit(), sign_of_life)
    fail(breaker, 2)
    assert breaker.state == "closed"


def test_after_the_pause_one_call_probes_and_the_others_are_still_refused() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=1, pause=15, clock=clock)
    fail(breaker, 1)
    clock.now = 15
    assert breaker.state == "half-open"
    breaker.check()
    probe = breaker.admit()
    with pytest.raises(ModelError):
        breaker.check()
    with pytest.raises(ModelError):
        breaker.admit()
    breaker.settle(probe, None)
    assert breaker.state == "closed"  # type: ignore[comparison-overlap]  # it has changed since
    breaker.admit()


def test_a_failed_probe_opens_the_breaker_for_another_pause() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=3, pause=15, clock=clock)
    fail(breaker, 3)
    clock.now = 20
    fail(breaker, 1)
    assert breaker.state == "open"
    clock.now = 34.9
    assert breaker.state == "open"
    clock.now = 35
    assert breaker.state == "half-open"  # type: ignore[comparison-overlap]  # it has changed since


def test_a_cancelled_probe_lets_the_next_call_probe() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=1, pause=15, clock=clock)
    fail(breaker, 1)
    clock.now = 15
    breaker.abandon(breaker.admit())
    breaker.settle(breaker.admit(), None)
    assert breaker.state == "closed"


def test_news_from_before_the_opening_does_not_close_the_breaker() -> None:
    breaker = CircuitBreaker(failures=1)
    slow = breaker.admit()
    fail(breaker, 1)
    breaker.settle(slow, None)
    assert breaker.state == "open"


def test_a_tripped_provider_is_not_asked() -> None:
    clock = Clock()
    model = ScriptedModel([ModelError("unreachable", "no route")])
    breaker = CircuitBreaker("p", failures=4, clock=clock)
    ask = RetryingModel(model, breaker=breaker, patience=patience(clock, attempts=4))
    assert str(outcome(ask(ASK))) == "no route"
    refused = outcome(ask(ASK))
    assert isinstance(refused, ModelError)
    assert refused.trouble == "tripped"
    assert "no route" in str(refused)
    assert len(model.requests) == 4


def test_a_cancelled_probe_through_the_whole_stack_does_not_block_the_provider() -> None:
    async def run() -> None:
        clock = Clock()
        breaker = CircuitBreaker("p", failures=1, pause=1, clock=clock)
        fail(breaker, 1)
        clock.now = 2
        task = asyncio.create_task(RetryingModel(Hanging(), breaker=breaker)(ASK))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        breaker.check()

    asyncio.run(run())


# --- operations of any kind ------------------------------------------------------------------------------------------


def test_any_operation_is_tried_again_and_what_only_begins_keeps_its_slot() -> None:
    clock, asked = Clock(), 0

    async def begin(what: str) -> str:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise ModelError("overloaded", "not yet")
        return f"{what} has begun"

    async def run() -> None:
        persistence = Retrying("p", patience=patience(clock))
        begun, slot = await persistence.hold(begin, "it")
        assert (begun, asked, len(clock.slept)) == ("it has begun", 3, 2)
        assert persistence.limit.in_flight == 1
        assert await persistence.run(begin, "another") == "another has begun"
        assert persistence.limit.in_flight == 1
        slot.step_out()
        slot.step_out()
        assert persistence.limit.in_flight == 0

    asyncio.run(run())


def test_what_could_not_begin_or_was_cancelled_keeps_no_slot() -> None:
    async def refuse(_: None) -> None:
        raise ModelError("rejected", "no")

    async def hang(_: None) -> None:
        await asyncio.sleep(60)

    async def run() -> None:
        persistence = Retrying("p")
        with pytest.raises(ModelError):
            await persistence.hold(refuse, None)
        task = asyncio.create_task(persistence.hold(hang, None))
        await asyncio.sleep(0)
        assert persistence.limit.in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert persistence.limit.in_flight == 0
        assert persistence.breaker.state == "closed"

    asyncio.run(run())
