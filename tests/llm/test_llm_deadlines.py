"""Time limits that share one timer end late calls, and only those, as a timer per call would."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.llm.deadlines import Deadlines

T = TypeVar("T")


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose time passes at once, and which counts the timers that are set."""

    def __init__(self) -> None:
        super().__init__(_Jumping(self))
        self.now = 0.0
        self.timers = 0

    def time(self) -> float:
        return self.now

    def call_at(self, *args: Any, **options: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        self.timers += 1
        return super().call_at(*args, **options)


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> Any:
        self._of.now += timeout or 0.0
        return super().select(0)


def run(main: Coroutine[Any, Any, T]) -> tuple[T, JumpingLoop]:
    loop = JumpingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main), loop


async def ended(deadlines: Deadlines, seconds: float, work: float, start: float = 0.0) -> tuple[str, float]:
    """How a call with this time limit ends, and when."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(start)
    try:
        with deadlines.within(seconds):
            await asyncio.sleep(work)
    except TimeoutError:
        return "late", loop.time()
    return "in time", loop.time()


times = st.integers(1, 40).map(lambda tenths: tenths / 8)


@given(st.lists(st.tuples(times, times, times), min_size=1, max_size=12))
def test_calls_end_when_their_work_or_their_time_does(calls: Sequence[tuple[float, float, float]]) -> None:
    async def main() -> list[tuple[str, float]]:
        deadlines = Deadlines()
        return await asyncio.gather(*(ended(deadlines, *call) for call in calls))

    for (seconds, work, start), (how, at) in zip(calls, run(main())[0], strict=True):
        assert at == pytest.approx(start + min(seconds, work))
        assert how == ("late" if seconds < work else "in time") or seconds == work


def test_calls_with_the_same_limit_share_a_timer() -> None:
    async def main() -> None:
        deadlines = Deadlines()
        for _ in range(1000):
            with deadlines.within(60):
                await asyncio.sleep(0)

    assert run(main())[1].timers == 1


def test_a_call_cancelled_by_others_is_not_called_late() -> None:
    async def main() -> None:
        task = asyncio.create_task(ended(Deadlines(), 5, 9))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_a_call_cancelled_in_the_moment_it_is_late_is_cancelled() -> None:
    async def main() -> None:
        task = asyncio.create_task(ended(Deadlines(), 5, 9))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_at(5, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_the_inner_limit_leaves_the_outer_one_in_force() -> None:
    async def main() -> tuple[str, float]:
        deadlines = Deadlines()
        with deadlines.within(3):
            assert await ended(deadlines, 1, 9) == ("late", 1)
            return await ended(deadlines, 9, 1)

    assert run(main())[0] == ("in time", 2)


def test_a_call_that_finished_late_without_waiting_has_finished() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, JumpingLoop)
        with Deadlines().within(1):
            loop.now += 2
        await asyncio.sleep(1)
        return loop.time()

    assert run(main())[0] == 3


def test_no_time_at_all_is_late_at_once() -> None:
    assert run(ended(Deadlines(), -1, 9))[0] == ("late", 0)


def test_a_timeout_of_the_work_itself_passes_unchanged() -> None:
    async def main() -> None:
        with Deadlines().within(1):
            raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        run(main())


def test_limits_hold_on_the_next_loop_too() -> None:
    deadlines = Deadlines()

    async def stopped_early() -> None:
        task = asyncio.create_task(ended(deadlines, 5, 9))
        await asyncio.sleep(1)
        task.cancel()

    run(stopped_early())
    assert run(ended(deadlines, 7, 9))[0] == ("late", 7)
