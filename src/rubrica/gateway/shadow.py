"""Asks tier-1 too, for a share of graded requests, to learn what passing tier-0's answers costs in quality.

It happens after the client has its answer. Of an answer that passed, tier-1 is asked for its own; of one that did
not, tier-1 has answered already, and only the grade is missing. Both are needed: the first tell whether a threshold
is too low, the second whether it is too high.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from rubrica.errors import SpendingLimitError
from rubrica.llm.model import ModelError
from rubrica.store.gateway import RequestRecord, TierComparison

from .bill import Price
from .chat import Chat
from .experiment import digest_share
from .flow import Route, RoutedAnswer

LOG = logging.getLogger("rubrica.gateway")
CLEARLY = 10.0
"""Points of 100 by which an answer is clearly better: more than grades of the same answer differ by."""

AT_ONCE = 4


def is_sampled(trace: UUID, share: float) -> bool:
    """Whether a request belongs to the share that is compared; for one trace always the same.

    >>> is_sampled(UUID(int=1), 0.0), is_sampled(UUID(int=1), 1.0)
    (False, True)
    """
    return share > 0 and digest_share(hashlib.sha256(trace.bytes).digest()) < share


@dataclass(slots=True)
class Payment:
    """What something cost, in US dollars; None: nobody knows."""

    usd: float | None = None


@asynccontextmanager
async def unlimited(_chat: Chat, _route: Route) -> AsyncIterator[Payment]:
    """Paying where nothing limits what may be spent."""
    yield Payment()


class Shadow:
    """Compares answers in the background, a few at once. When all are busy, a request is left out and counted."""

    def __init__(
        self,
        share: float,
        price: Price,
        note: Callable[[TierComparison], None],
        *,
        paying: Callable[[Chat, Route], AbstractAsyncContextManager[Payment]] = unlimited,
        at_once: int = AT_ONCE,
    ) -> None:
        self.left_out = 0
        self._share, self._price, self._note, self._paying = share, price, note, paying
        self._at_once = at_once
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many comparisons are under way."""
        return len(self._tasks)

    def consider(self, chat: Chat, routed: RoutedAnswer, route: Route, record: RequestRecord) -> bool:
        """Begin to compare the answers to a request that has ended, if it is one to compare. It never waits."""
        graded = record.score is not None and routed.grade is not None and route.tier1 is not None
        if not graded or record.cached or record.degraded or not is_sampled(record.trace, self._share):
            return False
        if len(self._tasks) >= self._at_once:
            self.left_out += 1
            return False
        task = asyncio.get_running_loop().create_task(self._run(chat, routed, route, record))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def close(self) -> None:
        """End what is under way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, chat: Chat, routed: RoutedAnswer, route: Route, record: RequestRecord) -> None:
        try:
            async with self._paying(chat, route) as payment:
                found = await self._compare(chat, routed, route, record)
                payment.usd = found.usd
        except SpendingLimitError:
            self.left_out += 1
            return
        except Exception as error:  # noqa: BLE001 - the boundary of a task that nobody waits for
            LOG.warning("a comparison with tier-1 failed: %s", type(error).__name__)
            found = TierComparison(record.trace, failure="not graded")
        self._note(found)

    async def _compare(self, chat: Chat, routed: RoutedAnswer, route: Route, record: RequestRecord) -> TierComparison:
        paid: float | None = 0.0
        if routed.tier == "tier-1" or route.tier1 is None:
            answer = routed.completion or routed.stream
            text = answer.text if answer is not None else ""
        else:
            try:
                completion = await route.tier1.complete(_without_streaming(chat))
            except ModelError:
                return TierComparison(record.trace, failure="tier-1 failed", usd=0.0)
            text, paid = completion.text, self._price(route.tier1.name, completion.usage)
        if not text.strip():
            return TierComparison(record.trace, failure="not gradable", usd=paid)
        return await self._graded(chat, text, paid, route, record)

    async def _graded(
        self, chat: Chat, text: str, paid: float | None, route: Route, record: RequestRecord
    ) -> TierComparison:
        kind = record.question_type or ""
        grade = await route.grader(chat, text, kind)
        cost = 0.0 if grade.cost is None else grade.cost.usd
        usd = None if paid is None or cost is None else paid + cost
        evaluation = grade.evaluation
        if grade.failure or evaluation is None or evaluation.score is None or record.score is None:
            return TierComparison(record.trace, failure="not graded", usd=usd)
        score = evaluation.score * 100 / evaluation.out_of
        difference = score - record.score
        return TierComparison(record.trace, score, difference, difference >= CLEARLY, "", usd)


def _without_streaming(chat: Chat) -> dict[str, object]:
    """The request as one whole answer, not a stream."""
    return {key: value for key, value in chat.body.items() if key not in ("stream", "stream_options")}
