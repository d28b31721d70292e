"""Many things under way at once: all results come, no more than so many at a time, and stopping leaves none behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import closing

import pytest

from rubrica.runs.concurrency import run_concurrently


def test_every_result_comes_and_no_more_than_so_many_are_under_way() -> None:
    under_way, most = 0, 0

    async def work(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001 * (number % 3))
        under_way -= 1
        return number

    with asyncio.Runner() as runner:
        found = list(run_concurrently(runner, range(100), work, most=7))
    assert sorted(found) == list(range(100))
    assert found != sorted(found)  # as they finish
    assert most == 7


def test_stopping_early_cancels_what_is_under_way() -> None:
    cancelled: list[int] = []

    async def work(number: int) -> int:
        try:
            await asyncio.sleep(0 if number == 0 else 60)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    with asyncio.Runner() as runner:
        with closing(run_concurrently(runner, range(3), work, most=3)) as results:
            assert next(results) == 0
        assert sorted(cancelled) == [1, 2]


def test_an_error_in_the_work_or_in_its_source_reaches_the_caller() -> None:
    async def work(number: int) -> float:
        return 1 / number

    def source() -> object:
        yield 1
        raise LookupError("no more")

    with asyncio.Runner() as runner:
        with pytest.raises(ZeroDivisionError):
            list(run_concurrently(runner, [0], work, most=2))
        with pytest.raises(LookupError):
            list(run_concurrently(runner, source(), work, most=2))  # type: ignore[arg-type]


@pytest.mark.parametrize("delay", [0.0, 0.0005, 0.002])
def test_ctrl_c_is_never_lost(delay: float) -> None:
    """However it falls: while something finishes, while the loop waits, or between two results."""

    async def work(number: int) -> int:
        await asyncio.sleep(delay)
        if number == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return number

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = time.monotonic()
        with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
            list(run_concurrently(runner, range(100_000), work, most=8))
        assert time.monotonic() - started < 20
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
