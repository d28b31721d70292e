"""Finds out, for a share of requests, what both tiers' answers are worth: what sending tier-0's costs in quality.

It happens after the client has its answer, and whoever was not asked is asked then. Both answers are graded anew: the
grade that an answer passed by is one that may have been lucky, so that a loss measured with it comes out too small.
The requests are drawn by their trace alone, so that they stand for all: those that passed tell whether a threshold is
too low, those that did not whether it is too high, and all of them teach the learned gate.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import msgspec

from rubrica.errors import SpendingLimitError
from rubrica.llm.model import ModelError
from rubrica.store.gateway import RequestRecord, TierComparison, Uncompared

from .above_tiers import AboveQuestion, PaidSoFar, compare_above, cost_of, measured_score, without_streaming
from .bill import Price
from .chat import Chat
from .controls import Tier
from .deployments import asked_model
from .experiment import digest_share
from .flow import Route
from .learned_gate.learn import GateSample
from .learned_gate.signals import answer_signals, question_signals
from .routed_answer import RoutedAnswer
from .upstream import Completion, Stream, Upstream

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
        scored = record.score is not None or route.measurer is not None
        graded = (routed.grade is not None and not routed.grade.failure and scored) or record.zone is not None
        if route.tier1 is None or not graded or record.cached or record.degraded or _calls_tools(routed):
            return False
        if not is_sampled(record.trace, self._share):
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
        paid = PaidSoFar(self._price)
        first, failed = await _answer_of("tier-0", routed, route.tier0, chat, paid)
        if first is None:
            return TierComparison(record.trace, failure=failed, usd=paid.usd)
        second, failed = await _answer_of(route.last, routed, route.tier1, chat, paid)
        if second is None:
            return TierComparison(record.trace, failure=failed, usd=paid.usd)
        asked = (chat, record.question_type or "")
        passed, grading = record.passed, record.grading_usd
        if passed is None:  # the learned gate did without the grade
            grade = await route.grader(chat, first.text, asked[1])
            passed, grading = grade.passed, paid.add(cost_of(grade))
        base = record.score
        if base is None or not route.measures_alike:
            base = await measured_score(route, *asked, first.text, paid)
        score = await measured_score(route, *asked, second.text, paid)
        if base is None or score is None:
            return TierComparison(record.trace, failure="not graded", usd=paid.usd)
        last_usd = self._price(asked_model(second, route.tier1), second.usage) if route.tier1 is not None else None
        question = AboveQuestion(*asked, routed, route, score, last_usd)
        above = await compare_above(question, paid) if route.middle else None
        if above is None and route.middle:
            return TierComparison(record.trace, failure="not graded", usd=paid.usd)
        sample = GateSample(
            question_signals(chat).values,
            answer_signals(chat, first) if isinstance(first, Completion) else (),
            passed,
            (score - base) / 100,
            self._price(asked_model(first, route.tier0), first.usage),
            last_usd,
            grading,
            above.loss if above is not None else 0.0,
            above.usd if above is not None else None,
        )
        told = {**msgspec.to_builtins(sample), "made_for": route.made_for}
        difference = score - base
        return TierComparison(record.trace, score, difference, difference >= CLEARLY, "", paid.usd, base, told)


async def _answer_of(
    tier: Tier, routed: RoutedAnswer, upstream: Upstream | None, chat: Chat, paid: PaidSoFar
) -> tuple[Completion | Stream | None, Uncompared]:
    """A tier's answer, asked for where there is none yet; or why there is none."""
    found: Completion | Stream | None = routed.passed_over if tier == "tier-0" else None
    if routed.tier == tier:
        found = routed.completion or routed.stream
    if found is None and upstream is not None:
        try:
            found = await upstream.complete(without_streaming(chat))
        except ModelError:
            return None, "tier-0 failed" if tier == "tier-0" else "tier-1 failed"
        paid.add(paid.price(asked_model(found, upstream), found.usage))
    return (found, "") if found is not None and found.text.strip() else (None, "not gradable")


def _calls_tools(routed: RoutedAnswer) -> bool:
    """Whether an answer is more than a text, so that two of them cannot be compared as texts."""
    return any(answer is not None and answer.calls_tools for answer in (routed.completion, routed.passed_over))
