"""Breakers of several processes: what one finds out about a model, the others learn within a second.

Nothing waits for it. A breaker that opens or closes leaves a note, a task in the background puts notes on a board and
reads those of others. What a process sees itself counts for more than what it is told: it keeps asking a model that
has answered it since the other one gave up, for then the fault is on the other's side.

A board is whatever all processes reach: a table of a database, or an actor of a cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

LOG = logging.getLogger("rubrica.llm")
EVERY = 0.5
"""Seconds between two looks at the board."""

PATIENCE = 5.0
"""Seconds for the board to answer."""


class BreakerNews(msgspec.Struct, frozen=True, gc=False):
    """That something is to be left alone for a while, or is back."""

    place: str  # what it is about: a digest of the model, its address, its key and its use
    model: str  # for people
    rest: float = 0.0  # seconds that it is left alone, counted from the failure; 0: it is back
    age: float = 0.0  # seconds since that happened
    failures: int = 0
    trouble: str = ""  # the kind of the last one
    says: str = ""  # what was said of it; a board that is not of one run alone leaves it out
    stamp: float = 0.0  # when it was told, by the board's own clock: it tells one piece of news from the next


class BreakerBoard(Protocol):
    """Where processes leave word for each other."""

    async def publish(self, news: Sequence[BreakerNews]) -> None:
        """Tell the others; what was told before about the same places is past."""
        ...

    async def poll(self) -> Sequence[BreakerNews]:
        """What the others told last about each place."""
        ...


class BoardMember(Protocol):
    """Something whose failures concern others: a circuit breaker, or a deployment that rests."""

    tell: Callable[[BreakerNews], None] | None  # called, with any place, when it opens or closes

    def adopt(self, news: BreakerNews) -> bool:
        """Take over what another process found out; whether that changed anything."""
        ...


class SharedBreakers:
    """The members of one process, and its way to the board. Use it on one event loop."""

    def __init__(
        self,
        board: BreakerBoard,
        every: float = EVERY,
        learnt: Callable[[BreakerNews], None] = lambda _: None,  # told of what was taken over from others
    ) -> None:
        self._board, self._every, self._learnt = board, every, learnt
        self._members: dict[str, list[BoardMember]] = {}
        self._waiting: dict[str, tuple[BreakerNews, float]] = {}  # to be told, and since when
        self._heard: dict[str, float] = {}  # the stamps of what others told last
        self._more = asyncio.Event()
        self._failing = False

    def join(self, place: str, member: BoardMember) -> None:
        """Tell the others about this one from now on, and it about them."""
        self._members.setdefault(place, []).append(member)
        member.tell = lambda news: self._note(msgspec.structs.replace(news, place=place))

    async def keep_up(self) -> None:
        """Tell and ask, again and again, until cancelled. A board that fails is tried again, and holds nobody up."""
        while True:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self.exchange()
            except Exception as error:  # noqa: BLE001 - the boundary of a task; a board may fail in any way
                if not self._failing:
                    LOG.warning("breakers are not shared with other processes for now (%s)", type(error).__name__)
                self._failing = True
            else:
                self._failing = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._more.wait()
            if self._failing:
                await asyncio.sleep(self._every)

    async def exchange(self) -> None:
        """Tell what waits to be told, and take over what others told."""
        self._more.clear()
        now = asyncio.get_running_loop().time()
        if waiting := dict(self._waiting):
            shared = [msgspec.structs.replace(news, age=news.age + now - since) for news, since in waiting.values()]
            await self._board.publish(shared)
            self._waiting = {place: one for place, one in self._waiting.items() if waiting.get(place) is not one}
        for news in await self._board.poll():
            if news.place in self._waiting or self._heard.get(news.place) == news.stamp:
                continue
            self._heard[news.place] = news.stamp
            changed = [member.adopt(news) for member in self._members.get(news.place, ())]
            if any(changed):
                self._learnt(news)

    def _note(self, news: BreakerNews) -> None:
        self._waiting[news.place] = (news, asyncio.get_running_loop().time())
        self._more.set()
