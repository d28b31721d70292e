"""Asking a second model where the first is slow to begin: whoever answers first is taken, and both are paid.

A call that is ended before its answer came has no token counts, and its provider may charge for it all the same. It is
billed as if it had given the answer that was taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from rubrica.llm.model import ModelError

from .chat import Chat
from .controls import Tier
from .upstream import Completion, HedgedCall, Stream, Upstream

T = TypeVar("T")


async def ask_tier(upstream: Upstream, chat: Chat) -> Completion | Stream:
    """An answer as the client wants it: whole, or as a stream that has begun."""
    return await upstream.open_stream(chat.body) if chat.stream else await upstream.complete(chat.body)


class SpareAnswer:
    """The last tier's answer, asked for while tier-0 has not begun."""

    def __init__(self, tier: Tier, upstream: Upstream, chat: Chat) -> None:
        self.tier, self.upstream = tier, upstream
        self.task = asyncio.create_task(ask_tier(upstream, chat))
        self.won = False  # whether tier-0 was not waited for

    async def end(self) -> HedgedCall | None:
        """End it unused; what is to be billed for it, which is nothing where it failed by itself."""
        await end_tasks([self.task])
        if not self.task.cancelled() and self.task.exception() is not None:
            return None
        answer = None if self.task.cancelled() else self.task.result()
        if answer is not None and not isinstance(answer, Completion):
            await answer.aclose()
        return HedgedCall(self.upstream.name, usage=answer.usage if isinstance(answer, Completion) else None)


async def first_answer(asked: asyncio.Task[Completion], spare: SpareAnswer) -> bool:
    """Wait until tier-0 has answered, or failed, or the spare one was quicker; whether tier-0 is through."""
    await asyncio.wait([asked, spare.task], return_when=asyncio.FIRST_COMPLETED)
    if not asked.done() and spare.task.exception() is not None:
        await asyncio.wait([asked])  # the spare one cannot help
    spare.won = not asked.done()
    return asked.done()


async def first_good(tasks: Sequence[asyncio.Task[T]]) -> asyncio.Task[T]:
    """The first task that ends well; where none does, the last that failed."""
    left, last = set(tasks), tasks[0]
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task in done:
                if task.exception() is None:
                    return task
                last = task
    return last


async def end_tasks(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel what has not ended, and wait until it has."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def overtaken(tier: Tier, seconds: float) -> ModelError:
    """Why tier-0's answer is not waited for."""
    return ModelError("timeout", f"it had not answered after {seconds:g} s, and {tier} was quicker")
