"""Heavy work has threads of its own: of each user so much at once, of different users in turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from rubrica.errors import BusyError
from rubrica.workspace.work_pool import WorkPool


class Gate:
    """Work that goes on until it is let go, and says when it has begun."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.open.wait(10)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def test_one_user_is_served_one_thing_at_a_time_and_others_meanwhile() -> None:
    async def scenario() -> None:
        pool, first, second = WorkPool(threads=2), Gate(), Gate()
        own = [asyncio.create_task(pool.run("ann", gate)) for gate in (first, second)]
        await until(first.begun.is_set)
        assert await pool.run("bo", sum, [1, 2]) == 3
        assert not second.begun.is_set()
        first.open.set()
        await until(second.begun.is_set)
        second.open.set()
        await asyncio.gather(*own)

    asyncio.run(scenario())


def test_who_asks_for_much_is_not_served_before_others() -> None:
    done: list[str] = []

    async def scenario() -> None:
        pool, first = WorkPool(threads=1), Gate()
        begun = asyncio.create_task(pool.run("ann", first))
        await until(first.begun.is_set)
        others = [asyncio.create_task(pool.run(who, done.append, who)) for who in ("ann", "ann", "ann", "bo", "cy")]
        await asyncio.sleep(0)
        first.open.set()
        await asyncio.gather(begun, *others)

    asyncio.run(scenario())
    assert done == ["ann", "bo", "cy", "ann", "ann"]


@pytest.mark.parametrize(("who", "own"), [("ann", True), ("bo", False)])
def test_who_waits_too_long_is_told_so_and_their_work_is_not_begun(who: str, own: bool) -> None:
    async def scenario() -> BusyError:
        pool, first, late = WorkPool(threads=1, deadline=0.05), Gate(), Gate()
        begun = asyncio.create_task(pool.run("ann", first))
        await until(first.begun.is_set)
        with pytest.raises(BusyError) as caught:
            await pool.run(who, late)
        first.open.set()
        with pytest.raises(BusyError):
            await begun  # whose own time is over, too
        await pool.run(who, int)
        assert not late.begun.is_set()
        return caught.value

    assert asyncio.run(scenario()).own is own


def test_only_so_much_may_wait() -> None:
    async def scenario() -> None:
        pool, first = WorkPool(threads=1, most_waiting=2), Gate()
        own = [asyncio.create_task(pool.run("ann", first)) for _ in range(3)]
        await until(first.begun.is_set)
        with pytest.raises(BusyError, match="2 of your requests are waiting already"):
            await pool.run("ann", int)
        first.open.set()
        await asyncio.gather(*own)

    asyncio.run(scenario())


def test_work_of_whoever_has_gone_is_not_begun() -> None:
    async def scenario() -> None:
        pool, first, gone = WorkPool(threads=1), Gate(), Gate()
        begun = asyncio.create_task(pool.run("ann", first))
        await until(first.begun.is_set)
        waiting = asyncio.create_task(pool.run("ann", gone))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        first.open.set()
        await begun
        assert await pool.run("ann", int) == 0
        assert not gone.begun.is_set()

    asyncio.run(scenario())


def test_what_work_raises_reaches_whoever_asked() -> None:
    pool = WorkPool()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(pool.run("ann", lambda: 1 // 0))
    assert asyncio.run(pool.run("ann", int)) == 0
