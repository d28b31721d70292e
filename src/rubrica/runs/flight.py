"""Many things under way at once on one event loop, drawn by a caller that is not asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_flight(
    runner: asyncio.Runner, items: Iterable[Item], start: Callable[[Item], Coroutine[Any, Any, Result]], most: int
) -> Iterator[Result]:
    """Results as they finish, at most `most` under way. Stopped early, none is left running.

    >>> async def double(number: int) -> int:
    ...     return 2 * number
    >>> with asyncio.Runner() as runner:
    ...     sorted(in_flight(runner, range(4), double, most=2))
    [0, 2, 4, 6]
    """
    waiting = iter(items)
    running: set[asyncio.Task[Result]] = set()
    try:
        while True:
            for item in islice(waiting, most - len(running)):
                running.add(runner.get_loop().create_task(start(item)))
            if not running:
                return
            done, running = runner.run(_first(running))
            for task in done:
                yield task.result()
    finally:
        runner.run(_cancelled(running))


async def _first(
    running: set[asyncio.Task[Result]],
) -> tuple[set[asyncio.Task[Result]], set[asyncio.Task[Result]]]:
    return await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    left = list(tasks)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
