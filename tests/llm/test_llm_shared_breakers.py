"""Breakers of several processes: what one finds out, the others learn; what each sees itself counts for more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.shared_breakers import BreakerNews, SharedBreakers


class Wall:
    """A board in memory, which ages what is on it."""

    def __init__(self, now: list[float]) -> None:
        self.now, self.up = now, True
        self.told: dict[str, tuple[BreakerNews, float]] = {}

    async def publish(self, news: Sequence[BreakerNews]) -> None:
        self._reach()
        self.told |= {one.place: (one, self.now[0]) for one in news}

    async def poll(self) -> Sequence[BreakerNews]:
        self._reach()
        return [
            msgspec.structs.replace(news, age=news.age + self.now[0] - at, stamp=at) for news, at in self.told.values()
        ]

    def _reach(self) -> None:
        if not self.up:
            raise OSError("away")


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        breaker.settle(breaker.admit(), "overloaded", "HTTP 529")


@pytest.mark.parametrize("answered_since", [False, True])
def test_an_opening_is_known_to_all_but_those_who_are_still_answered(answered_since: bool) -> None:
    now = [100.0]
    wall = Wall(now)
    own, other = (CircuitBreaker("m", failures=2, clock=lambda: now[0]) for _ in range(2))

    async def scenario() -> None:
        here, there = SharedBreakers(wall), SharedBreakers(wall)
        here.join("m", own)
        there.join("m", other)
        fail(own, 2)
        await here.exchange()
        now[0] = 101.0
        if answered_since:
            other.settle(other.admit(), None)
        await there.exchange()
        assert other.state == ("closed" if answered_since else "open")
        now[0] = 114.9
        await there.exchange()  # heard before
        assert other.state == ("closed" if answered_since else "open")
        now[0] = 115.0  # fifteen seconds after the failure, and not after it was told
        assert other.state == ("closed" if answered_since else "half-open")

    asyncio.run(scenario())


def test_whoever_finds_a_model_back_tells_the_others() -> None:
    now = [0.0]
    wall, heard = Wall(now), list[BreakerNews]()
    own, other = (CircuitBreaker("m", failures=1, clock=lambda: now[0]) for _ in range(2))

    async def scenario() -> None:
        here, there = SharedBreakers(wall), SharedBreakers(wall, learnt=heard.append)
        here.join("m", own)
        there.join("m", other)
        fail(own, 1)
        await here.exchange()
        await there.exchange()
        under_way = own.admit if own.state == "closed" else None
        assert under_way is None
        now[0] = 16.0
        own.settle(own.admit(), None)
        await here.exchange()
        now[0] = 16.5
        await there.exchange()
        assert (own.state, other.state) == ("closed", "closed")
        assert [news.rest for news in heard] == [15, 0]
        fail(other, 1)  # a call that began before is not held against anybody else
        assert other.state == "open"

    asyncio.run(scenario())


def test_a_board_that_is_away_is_told_later(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    wall = Wall(now)
    wall.up = False

    async def scenario() -> None:
        shared, breaker = SharedBreakers(wall, every=0.01), CircuitBreaker("m", failures=1)
        shared.join("m", breaker)
        task = asyncio.create_task(shared.keep_up())
        fail(breaker, 1)
        await asyncio.sleep(0.05)
        assert not wall.told
        wall.up = True
        async with asyncio.timeout(20):
            while not wall.told:
                await asyncio.sleep(0.01)
        task.cancel()
        assert wall.told["m"][0].age > 0

    asyncio.run(scenario())
    assert caplog.text.count("not shared") == 1


def test_models_of_other_keys_or_uses_do_not_concern_each_other() -> None:
    async def scenario() -> None:
        now = [0.0]
        wall = Wall(now)
        here, there = SharedBreakers(wall), SharedBreakers(wall)
        one, other = ProviderLimits(use="answers"), ProviderLimits(use="answers")
        judging = ProviderLimits(use="grades")
        one.share(here)
        breaker = one.of("m", "http://a", "key", 8)[1]  # after sharing began
        alike, keyed = other.of("m", "http://a", "key", 8)[1], other.of("m", "http://a", "other key", 8)[1]
        graded = judging.of("m", "http://a", "key", 8)[1]
        for limits in (other, judging):
            limits.share(there)
        fail(breaker, breaker.failures)
        await here.exchange()
        await there.exchange()
        assert [one.state for one in (alike, keyed, graded)] == ["open", "closed", "closed"]
        assert "key" not in str(wall.told)

    asyncio.run(scenario())
